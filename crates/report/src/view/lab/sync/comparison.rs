//! The same sync on every file system, one below the other.

use iostrata_core::sync::{Call, Write};

use super::rows::device_columns;
use super::view::{Numbered, View, figures, title};
use crate::format::{microseconds, number};
use crate::view::lab::facts::distinct;
use crate::view::page::Page;
use crate::view::table::{Column, Table};

/// The syncs that are compared.
const COMPARED: [(Call, Write); 3] = [
    (Call::Fsync, Write::Append),
    (Call::Fsync, Write::Preallocated),
    (Call::Fdatasync, Write::Overwrite),
];

/// Nothing when there is one file system, or when all its rows are drawn anyway.
pub(super) fn draw(page: &mut Page, view: &mut View<'_>) {
    if !view.extent.compares() || view.rows.targets().len() < 2 {
        return;
    }
    let tables: Vec<_> = view
        .sizes()
        .into_iter()
        .map(|size_bytes| (size_bytes, compared(view, size_bytes)))
        .filter(|(_, rows)| !rows.is_empty())
        .collect();
    if tables.is_empty() {
        return;
    }
    page.heading("file-systems", "each file system, per sync");
    for (position, (size_bytes, rows)) in tables.into_iter().enumerate() {
        if position > 0 {
            page.blank();
        }
        let title = title(size_bytes);
        let left_out = table(&rows, &title)
            .named(format!("each file system, {title}"))
            .draw(page);
        view.unshown.add("the comparison of file systems", left_out);
        view.rows.show(&rows);
    }
}

/// Rows of one size, by name and then by file system: the compared syncs, and what an
/// answer cites of a file system whose rows are not all drawn.
fn compared<'a>(view: &View<'a>, size_bytes: u64) -> Vec<Numbered<'a>> {
    let in_full = view.rows.targets().into_iter().next();
    let cited = |row: &Numbered<'_>| {
        let answers = &view.result.answers;
        Some(row.target()) != in_full
            && answers
                .iter()
                .any(|answer| answer.rows.contains(&row.number))
    };
    let usual = |row: &Numbered<'_>| {
        let case = row.case();
        case.writers == 1 && COMPARED.contains(&(case.call, case.write))
    };
    let of_size = view.rows.which(|row| row.case().size_bytes == size_bytes);
    let wanted = of_size.iter().filter(|row| usual(row) || cited(row));
    let names = distinct(wanted.map(Numbered::name));
    let mut rows = Vec::new();
    for name in names {
        for target in view.rows.targets() {
            let same = of_size
                .iter()
                .filter(|row| row.name() == name && row.target() == target);
            rows.extend(same.copied());
        }
    }
    rows
}

fn table(rows: &[Numbered<'_>], head: &str) -> Table {
    let mut columns = vec![
        Column::row_numbers(rows.iter().map(|row| row.number)),
        Column::label(head, rows.iter().map(Numbered::name)).once(),
        Column::label("on", rows.iter().map(|row| row.target().to_owned())),
        figures("syncs/s", rows, |row| row.syncs_per_s, number),
        figures("p50 µs", rows, |row| row.latency_s.p50, microseconds).rank(2),
        figures("p99", rows, |row| row.latency_s.p99, microseconds).rank(5),
    ];
    columns.extend(device_columns(rows));
    Table::new(0, columns)
}
