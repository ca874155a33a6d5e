//! How the state of a finding came about: its operations, with what is on disk of each, and the files.

use iostrata_core::bytes::grouped;
use iostrata_core::crash::{CrashResult, FileRow, Finding, Left};

use super::{show, show_finding};
use crate::view::cell::Cell;
use crate::view::page::Page;
use crate::view::table::{Column, Kind, Table};

/// A finding by itself, for a file beside its state.
pub(crate) fn tell(page: &mut Page, finding: &Finding) {
    show_finding(page, finding);
    page.heading("operations", "operations");
    let mut last = None;
    for moment in &finding.timeline {
        let operation = &moment.operation;
        if last.is_some_and(|last| operation.op > last + 1) {
            page.paragraph(2, "...");
        }
        last = Some(operation.op);
        let (number, text) = (operation.op, operation.text());
        page.bullet(2, &format!("#{number} {text}: {}", moment.left.as_str()));
    }
    page.heading("files", "files");
    for file in &finding.files {
        let [before, at, after] = lengths(file);
        let (path, state) = (&file.path, file.state.as_str());
        let text = format!("{path}: {state}; {before} before, {at} at the crash, {after} after");
        page.bullet(2, &text);
    }
}

/// The whole result, with the operations and the files of each finding.
pub(crate) fn show_all(page: &mut Page, result: &CrashResult) {
    show(page, result);
    let told = result.findings.iter().enumerate();
    let mut told = told
        .filter(|(_, finding)| !finding.timeline.is_empty())
        .peekable();
    if told.peek().is_none() {
        return;
    }
    page.heading("counter-examples", "counter-examples");
    for (number, finding) in told {
        page.section(&format!("{}: {}", number + 1, finding.message));
        page.paragraph(2, &finding.story);
        page.table(operations(finding));
        if !finding.files.is_empty() {
            page.table(files(finding));
        }
    }
}

/// In the order of time; the crash comes after the last one.
fn operations(finding: &Finding) -> Table {
    let moments = || finding.timeline.iter();
    let at_crash = |left: Left| match left {
        Left::Done => Cell::from(String::new()),
        left => Cell::from(left.as_str().to_owned()),
    };
    let columns = vec![
        Column::new(
            "operation",
            Kind::Number,
            moments().map(|moment| moment.operation.op.to_string()),
        ),
        Column::new(
            "call",
            Kind::Label,
            moments().map(|moment| moment.operation.text()),
        ),
        Column::new(
            "at the crash",
            Kind::Text,
            moments().map(|moment| at_crash(moment.left)),
        ),
    ];
    Table::new(2, columns)
}

fn files(finding: &Finding) -> Table {
    let rows = || finding.files.iter();
    let length = |which: usize| rows().map(move |file| lengths(file)[which].clone());
    let columns = vec![
        Column::new("file", Kind::Label, rows().map(|file| file.path.clone())),
        Column::new("before", Kind::Number, length(0)),
        Column::new("at the crash", Kind::Number, length(1)),
        Column::new("after", Kind::Number, length(2)),
        Column::new(
            "state",
            Kind::Text,
            rows().map(|file| file.state.as_str().to_owned()),
        ),
    ];
    Table::new(2, columns)
}

/// Before, at the crash, and after.
fn lengths(file: &FileRow) -> [String; 3] {
    [file.before_bytes, file.at_bytes, file.after_bytes].map(|bytes| {
        bytes.map_or_else(
            || "not there".to_owned(),
            |bytes| format!("{} B", grouped(bytes)),
        )
    })
}
