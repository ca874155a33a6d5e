//! The same write on every file system, one below the other.

use iostrata_core::buffering::Mode;
use iostrata_core::bytes::exact;

use super::rows::device_columns;
use super::view::{Numbered, View, cells, modes};
use crate::format::microseconds;
use crate::view::page::Page;
use crate::view::table::{Column, Table};

/// The syncs that are compared: after each record, after each without the times
/// of the file, and inside the write.
const SYNCS: [Mode; 3] = [Mode::Fsync, Mode::Fdatasync, Mode::ODsync];

/// Nothing when there is one file system, or when all its rows are drawn anyway.
pub(super) fn draw(page: &mut Page, view: &mut View<'_>) {
    if !view.extent.compares() || view.rows.targets().len() < 2 {
        return;
    }
    let tables: Vec<_> = view
        .records()
        .into_iter()
        .map(|records| (records, compared(view, records)))
        .filter(|(_, rows)| !rows.is_empty())
        .collect();
    if tables.is_empty() {
        return;
    }
    page.heading("file-systems", "each file system, per write");
    for (position, ((size_bytes, _), rows)) in tables.into_iter().enumerate() {
        if position > 0 {
            page.blank();
        }
        let size = exact(size_bytes);
        let left_out = table(&rows, &format!("of {size}"))
            .named(format!("each file system, per write of {size}"))
            .draw(page);
        view.left_out("the comparison of file systems", left_out);
        view.rows.show(&rows);
    }
}

/// Rows of one record size, by mode and then by file system: the syncs, and what
/// an answer cites of a file system whose rows are not all drawn.
fn compared<'a>(view: &View<'a>, records: (u64, u64)) -> Vec<Numbered<'a>> {
    let in_full = view.rows.targets().into_iter().next();
    let cited = view.rows.which(|row| {
        let answers = &view.result.answers;
        row.records() == records
            && Some(row.target()) != in_full
            && answers
                .iter()
                .any(|answer| answer.rows.contains(&row.number))
    });
    let is_compared =
        |mode: Mode| SYNCS.contains(&mode) || cited.iter().any(|row| row.case().mode == mode);
    let mut rows = Vec::new();
    for mode in view.modes().into_iter().filter(|mode| is_compared(*mode)) {
        for target in view.rows.targets() {
            rows.extend(view.rows.which(|row| {
                row.case().mode == mode && row.records() == records && row.target() == target
            }));
        }
    }
    rows
}

fn table(rows: &[Numbered<'_>], head: &str) -> Table {
    let mut columns = vec![
        Column::row_numbers(rows.iter().map(|row| row.number)),
        Column::label(head, modes(rows)).once(),
        Column::label("on", rows.iter().map(|row| row.target().to_owned())),
    ];
    columns.extend(device_columns(rows));
    columns.push(Column::number(
        "real µs",
        cells(rows, |row| row.per_write.real_s, microseconds),
    ));
    Table::new(0, columns)
}
