//! The calls and files of two traced runs.

use iostrata_core::compare::{Calls, Count, Files, Runs};

use super::{counts, more};
use crate::compared::{Listed, from_start_to_end};
use crate::fields::{Group, compare};
use crate::view::page::Page;
use crate::view::table::{Column, Table};

/// Columns of a path before it gets a line of its own.
const PATH_COLUMNS: usize = 36;

/// Calls and files that are shown for their time alone.
const MOST_TIME: usize = 5;

pub(super) fn draw(page: &mut Page, runs: &Runs, all: bool) {
    page.paragraph(4, &from_start_to_end(runs));
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
    Table::new(2, compare::calls().columns(&[Group::Page], &shown)).draw(page);
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
    let mut columns = vec![Column::paths("file", PATH_COLUMNS, paths)];
    columns.extend(compare::files().columns(&[Group::Page], &shown));
    Table::new(2, columns).draw(page);
}

/// The counts of each file below its path.
fn table(page: &mut Page, rows: &[(&Files, &Count)]) {
    let counts: Vec<&Count> = rows.iter().map(|(_, count)| *count).collect();
    let mut table = Table::new(
        2,
        compare::counts().columns(&[Group::OfFile, Group::Sides], &counts),
    );
    for (position, (file, _)) in rows.iter().enumerate() {
        let before = position.checked_sub(1).map(|before| rows[before].0);
        if !before.is_some_and(|before| std::ptr::eq(before, *file)) {
            table.title(position, file.path.clone());
        }
    }
    table.draw(page);
}
