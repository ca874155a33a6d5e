//! The calls and files of two traced runs.

use iostrata_core::bytes::grouped;
use iostrata_core::compare::{Calls, Count, Files, Runs};

use super::{counts, more};
use crate::compared::{Listed, count};
use crate::format::time;
use crate::view::page::Page;
use crate::view::table::{Column, Table};

/// Columns of a path before it gets a line of its own.
const PATH_COLUMNS: usize = 36;

/// Calls and files that are shown for their time alone.
const MOST_TIME: usize = 5;

pub(super) fn draw(page: &mut Page, runs: &Runs, all: bool) {
    let (base, new) = (time(runs.wall_s.base), time(runs.wall_s.new));
    page.paragraph(
        4,
        &format!("from start to end {base} → {new}, one run each"),
    );
    let differing = runs.counts.iter().map(|count| (String::new(), count));
    let listed = Listed::of(differing, all);
    if !listed.shown.is_empty() {
        counts(
            page,
            "counts that differ, whole run",
            "",
            &listed.shown,
            listed.more,
        );
    }
    calls(page, runs, all);
    files(page, runs, all);
}

fn calls(page: &mut Page, runs: &Runs, all: bool) {
    let most = if all { usize::MAX } else { MOST_TIME };
    let shown: Vec<&Calls> = runs.calls.iter().take(most).collect();
    if shown.is_empty() {
        return;
    }
    page.heading("calls", "calls whose time differs most");
    let number = |of: fn(&Calls) -> u64| shown.iter().map(move |call| grouped(of(call)));
    let seconds = |of: fn(&Calls) -> f64| shown.iter().map(move |call| time(of(call)));
    let columns = vec![
        Column::label("call", shown.iter().map(|call| call.name.clone())),
        Column::number("calls, base", number(|call| call.sides.base.count)),
        Column::number("new", number(|call| call.sides.new.count)),
        Column::number("bytes, base", number(|call| call.sides.base.bytes)).rank(1),
        Column::number("new", number(|call| call.sides.new.bytes)).rank(1),
        Column::number("time, base", seconds(|call| call.sides.base.time_s)),
        Column::number("new", seconds(|call| call.sides.new.time_s)),
    ];
    Table::new(2, columns).draw(page);
}

fn files(page: &mut Page, runs: &Runs, all: bool) {
    let differing = runs.files.iter().filter(|file| !file.counts.is_empty());
    let rows = differing.flat_map(|file| file.counts.iter().map(move |count| (file, count)));
    let listed = Listed::of(rows, all);
    if !listed.shown.is_empty() {
        page.heading("file-counts", "files with counts that differ");
        table(page, &listed.shown);
        more(page, listed.more);
    }
    let most = if all { usize::MAX } else { MOST_TIME };
    let shown: Vec<&Files> = runs.files.iter().take(most).collect();
    if shown.is_empty() {
        return;
    }
    page.heading("files", "files whose time differs most");
    let paths = shown.iter().map(|file| file.path.clone());
    let columns = vec![
        Column::paths("file", PATH_COLUMNS, paths),
        Column::number(
            "time, base",
            shown.iter().map(|file| time(file.time_s.base)),
        ),
        Column::number("new", shown.iter().map(|file| time(file.time_s.new))),
    ];
    Table::new(2, columns).draw(page);
}

/// The counts of each file below its path.
fn table(page: &mut Page, rows: &[(&Files, &Count)]) {
    let value = |of: fn(&Count) -> f64| rows.iter().map(move |(_, one)| count(of(one)));
    let columns = vec![
        Column::label(
            "  count",
            rows.iter().map(|(_, one)| format!("  {}", one.what)),
        ),
        Column::number("base", value(|one| one.sides.base)),
        Column::number("new", value(|one| one.sides.new)),
    ];
    let mut table = Table::new(2, columns);
    for (position, (file, _)) in rows.iter().enumerate() {
        let before = position.checked_sub(1).map(|before| rows[before].0);
        if !before.is_some_and(|before| std::ptr::eq(before, *file)) {
            table.title(position, file.path.clone());
        }
    }
    table.draw(page);
}
