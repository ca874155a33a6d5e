//! How the state of a finding came about: its operations, with what is on disk of each, and the files.

use iostrata_core::bytes::grouped;
use iostrata_core::crash::{CrashResult, Finding, Left, Moment, Role, Thread};

use super::show_finding;
use crate::view::page::{Page, Tone};
use crate::view::section::SectionId;
use crate::view::table::{Cell, Rows, Table};

/// Findings whose operations are drawn.
const DRAWN: usize = 8;

/// A finding by itself, for a file beside its state.
pub(crate) fn tell(page: &mut Page, finding: &Finding) {
    page.styled(0, &finding.message, Tone::Strong);
    show_finding(page, finding, finding.states);
    page.heading(SectionId::Operations, "operations");
    let mut last = None;
    for moment in &finding.timeline {
        let operation = &moment.operation;
        if last.is_some_and(|last| operation.op > last + 1) {
            page.paragraph(2, "...");
        }
        last = Some(operation.op);
        let (number, text, left) = (operation.op, operation.text(), left(moment));
        page.bullet(2, &format!("#{number} {text}: {left}"));
    }
    page.heading(SectionId::Files, "files");
    for file in &finding.files {
        let lengths = [file.before_bytes, file.at_bytes, file.after_bytes];
        let [before, at, after] = lengths.map(length);
        let (path, state) = (&file.path, file.state.as_str());
        let text = format!("{path}: {state}; {before} before, {at} at the crash, {after} after");
        page.bullet(2, &text);
    }
}

/// A finding on a page: told, then its operations and its files.
pub(super) fn show_whole(page: &mut Page, finding: &Finding, place: usize) {
    page.section(&format!("{}. {}", place + 1, finding.message));
    show_finding(page, finding, finding.states);
    if place < DRAWN && !finding.timeline.is_empty() {
        page.drawing(drawing(place));
    } else if !finding.timeline.is_empty() {
        page.table(operations(finding).named("operations until the crash"));
    }
    if !finding.files.is_empty() {
        page.table(files(finding));
    }
}

/// The findings whose operations are drawn, with the names of the drawings.
pub(crate) fn drawn(result: &CrashResult) -> impl Iterator<Item = (String, &Finding)> {
    let findings = result.findings.iter().take(DRAWN).enumerate();
    findings.map(|(place, finding)| (drawing(place), finding))
}

fn drawing(place: usize) -> String {
    format!("finding-{}", place + 1)
}

/// What was on disk of an operation, in words: `durable by #27`, `lost`, `sync`.
pub(crate) fn left(moment: &Moment) -> String {
    let word = match (moment.left, moment.role) {
        (Left::Durable, _) => {
            return match moment.durable_by {
                Some(sync) => format!("durable by #{sync}"),
                None => Left::Durable.as_str().to_owned(),
            };
        }
        (Left::Failed, _) => {
            let why = moment.operation.failure().unwrap_or_default();
            return format!("{}: {why}", moment.left.as_str());
        }
        (Left::Done, Some(Role::Sync)) => "sync",
        (Left::Done, Some(Role::Report)) => "reported",
        (left, _) => left.as_str(),
    };
    match (moment.left, moment.returned) {
        (Left::Done, Some(false)) => format!("{word}, not yet returned"),
        _ => word.to_owned(),
    }
}

/// In the order of time; the crash comes after the last one.
pub(crate) fn operations(finding: &Finding) -> Table {
    let of_thread = |moment: &Moment, id: fn(Thread) -> u32| {
        Cell::seen(moment.thread, |thread| id(thread).to_string())
    };
    Rows::of(&finding.timeline)
        .number("operation", |moment| moment.operation.op.to_string())
        .label("call", |moment| moment.operation.text())
        .text("at the crash", left)
        .number("process", |moment| of_thread(moment, |of| of.process))
        .number("thread", |moment| of_thread(moment, |of| of.thread))
        .table(2)
}

fn files(finding: &Finding) -> Table {
    Rows::of(&finding.files)
        .label("file", |file| file.path.as_str())
        .number("before", |file| length(file.before_bytes))
        .number("at the crash", |file| length(file.at_bytes))
        .number("after", |file| length(file.after_bytes))
        .text("state", |file| file.state.as_str())
        .table(2)
        .named("files before, at and after the crash")
}

fn length(bytes: Option<u64>) -> String {
    match bytes {
        Some(bytes) => format!("{} B", grouped(bytes)),
        None => "not there".to_owned(),
    }
}
