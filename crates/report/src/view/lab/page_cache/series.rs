//! The same file read again: the first read, the second, and so on.

use iostrata_core::page_cache::SeriesRead;

use super::{Numbered, View};
use crate::format::{mebibytes, microseconds};
use crate::view::cell::Cell;
use crate::view::lab::view::spread_head;
use crate::view::page::Page;
use crate::view::section::SectionId;
use crate::view::table::{Column, Table};

pub(super) fn draw(page: &mut Page, view: &mut View<'_>) {
    let rows = view.shown();
    let reads: Vec<(&Numbered<'_>, &SeriesRead)> = rows
        .iter()
        .flat_map(|row| row.row.series.iter().map(move |read| (row, read)))
        .collect();
    if reads.is_empty() {
        return;
    }
    page.heading(
        SectionId::Again,
        "the same file read repeatedly, with nothing done between the reads",
    );
    let asked = |row: &Numbered<'_>| format!("{} {}", row.row.row.case.state.as_str(), row.title());
    let each = || reads.iter().map(|(_, read)| read);
    let medians = each().map(|read| microseconds(read.timing.median_s));
    let head = spread_head(each().map(|read| Some(&read.timing)));
    let spreads = each().map(|read| {
        let (low_s, high_s) = (read.timing.low_s, read.timing.high_s);
        format!("{}–{}", microseconds(low_s), microseconds(high_s))
    });
    let fetched = each().map(|read| Cell::seen(read.storage_read_bytes, mebibytes));
    let before = each().map(|read| mebibytes(read.resident_before_bytes));
    let after = each().map(|read| mebibytes(read.resident_after_bytes));
    let columns = vec![
        Column::label("row", reads.iter().map(|(row, _)| row.number.to_string())).once(),
        Column::label("state, size", reads.iter().map(|(row, _)| asked(row))).once(),
        Column::label("read", each().map(|read| read.number.to_string())),
        Column::number("real µs", medians),
        Column::text(&head, spreads).rank(1),
        Column::number("from storage MiB", fetched),
        Column::number("resident before MiB", before),
        Column::number("after MiB", after),
    ];
    let table = Table::new(0, columns).named("the individual reads");
    view.draw(page, "the individual reads", table);
}
