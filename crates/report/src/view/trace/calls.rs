//! System calls: those that took most time, or all of them, then those of each file.

use iostrata_core::bytes::grouped;
use iostrata_core::trace::{CallGroup, CallRow};

use super::{View, sites};
use crate::format::{NOT_APPLICABLE, NOT_SEEN, or_not_seen, size, time};
use crate::view::page::Page;
use crate::view::table::{Column, LeftOut, Table};

/// The first `most`.
pub(super) fn top(page: &mut Page, view: &View<'_>, most: usize) {
    let calls = &view.result.syscalls;
    page.blank();
    if calls.is_empty() {
        let seen = view.result.evidence.syscalls.is_some();
        let text = if seen { "none" } else { NOT_SEEN };
        page.paragraph(0, &format!("calls: {text}"));
        return;
    }
    let shown: Vec<&CallRow> = calls.iter().take(most).collect();
    table("calls", 0, &shown).named("calls").draw(page);
    let hidden = calls.len() - shown.len();
    if hidden > 0 {
        let text = format!("and {} more; --calls shows all", grouped(hidden as u64));
        page.paragraph(0, &text);
    }
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
    let cells = |text: &dyn Fn(&CallRow) -> String| -> Vec<String> {
        calls.iter().map(|call| text(call)).collect()
    };
    let times =
        |value: &dyn Fn(&CallRow) -> Option<f64>| cells(&|call| or_not_seen(value(call), time));
    Table::new(
        indent,
        vec![
            Column::label(head, cells(&|call| call.name.clone())),
            Column::number("count", cells(&|call| grouped(call.count))),
            Column::number("errors", cells(&|call| grouped(call.errors))).rank(1),
            Column::number("bytes", cells(&moved)),
            Column::number("time", cells(&|call| time(call.time_s))),
            Column::number("blocked", times(&|call| call.blocked_s)),
            Column::number("p50", times(&|call| call.p50_s)),
            Column::number("p99", times(&|call| call.p99_s)),
        ],
    )
}

/// Bytes of calls that move some.
fn moved(call: &CallRow) -> String {
    let moves = CallGroup::of(&call.name).is_some_and(|group| group.reads() || group.writes());
    if moves || call.bytes > 0 {
        size(call.bytes)
    } else {
        NOT_APPLICABLE.to_owned()
    }
}
