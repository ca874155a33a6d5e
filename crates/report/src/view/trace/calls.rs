//! System calls: those that took most time, or all of them, then those of each file.

use iostrata_core::bytes::grouped;
use iostrata_core::trace::CallRow;

use super::{View, sites};
use crate::fields::Group;
use crate::fields::trace::call;
use crate::view::cell::Cell;
use crate::view::page::Page;
use crate::view::table::{Column, LeftOut, Table};

/// The first `most`.
pub(super) fn top(page: &mut Page, view: &View<'_>, most: usize) {
    let calls = &view.result.syscalls;
    page.blank();
    if calls.is_empty() {
        let seen = view.result.evidence.syscalls.is_some();
        let text = Cell::seen(seen.then_some("none"), str::to_owned);
        page.paragraph(0, &format!("calls: {text}"));
        return;
    }
    let shown: Vec<&CallRow> = calls.iter().take(most).collect();
    table("calls", 0, &shown).named("calls").draw(page);
    let hidden = calls.len() - shown.len();
    page.and_more(0, hidden, "", "--calls shows all");
}

/// Every call over all files, then every call on each file.
pub(super) fn all(page: &mut Page, view: &View<'_>) -> Vec<LeftOut> {
    let calls: Vec<&CallRow> = view.result.syscalls.iter().collect();
    page.heading(
        "calls",
        &format!("all calls: {}", grouped(calls.len() as u64)),
    );
    let mut left_out = vec![
        table("call", 0, &calls)
            .named("every call, over all files")
            .draw(page),
    ];
    let files = &view.result.files;
    let calls: Vec<&CallRow> = files
        .iter()
        .flat_map(|file| &file.calls)
        .map(|call| &call.row)
        .collect();
    if calls.is_empty() {
        return left_out;
    }
    page.heading("file-calls", "calls of each file");
    let mut table = table("call", 2, &calls).named("every call on each file");
    let mut row = 0;
    for file in files.iter().filter(|file| !file.calls.is_empty()) {
        table.title(row, view.path(&file.path).to_owned());
        row += file.calls.len();
    }
    left_out.push(table.draw(page));
    sites::draw(page, view);
    left_out
}

fn table(head: &str, indent: usize, calls: &[&CallRow]) -> Table {
    let mut columns = vec![Column::label(
        head,
        calls.iter().map(|call| call.name.as_str()),
    )];
    columns.extend(call().columns(&[Group::Calls], calls));
    Table::new(indent, columns)
}
