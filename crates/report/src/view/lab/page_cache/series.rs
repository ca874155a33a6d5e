//! The same file read again: the first read, the second, and so on.

use iostrata_core::page_cache::SeriesRead;

use super::view::{Numbered, View};
use crate::format::{mebibytes, microseconds, or_not_seen};
use crate::view::page::Page;
use crate::view::table::{Column, Table};

pub(super) fn draw(page: &mut Page, view: &mut View<'_>) {
    let rows: Vec<Numbered<'_>> = view
        .shown()
        .into_iter()
        .filter(|row| !row.row.series.is_empty())
        .collect();
    let reads: Vec<(&Numbered<'_>, &SeriesRead)> = rows
        .iter()
        .flat_map(|row| row.row.series.iter().map(move |read| (row, read)))
        .collect();
    if reads.is_empty() {
        return;
    }
    page.heading(
        "again",
        "the same file read again and again, and nothing done between the reads",
    );
    let text = |pick: &dyn Fn(&SeriesRead) -> String| -> Vec<String> {
        reads.iter().map(|(_, read)| pick(read)).collect()
    };
    let columns = vec![
        Column::label("row", reads.iter().map(|(row, _)| row.number.to_string())).once(),
        Column::label(
            "state, size",
            reads.iter().map(|(row, _)| {
                let asked = row.row.row.case.state.as_str();
                format!("{asked} {}", row.size())
            }),
        )
        .once(),
        Column::label("read", text(&|read| read.number.to_string())),
        Column::number("real µs", text(&|read| microseconds(read.timing.median_s))),
        Column::text(
            "95 %",
            text(&|read| {
                let timing = &read.timing;
                format!(
                    "{}–{}",
                    microseconds(timing.low_s),
                    microseconds(timing.high_s)
                )
            }),
        )
        .rank(1),
        Column::number(
            "from storage MiB",
            text(&|read| or_not_seen(read.storage_read_bytes, mebibytes)),
        ),
        Column::number(
            "resident before MiB",
            text(&|read| mebibytes(read.resident_before_bytes)),
        ),
        Column::number(
            "after MiB",
            text(&|read| mebibytes(read.resident_after_bytes)),
        ),
    ];
    let table = Table::new(0, columns).named("the reads one by one");
    let left_out = table.draw(page);
    view.unshown.add("the reads one by one", left_out);
}
