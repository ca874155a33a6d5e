//! `lab copy`: the answers, then every row beside its limit, then the system calls, then
//! how it was made and what is missing.

use crate::view::section::SectionId;
use iostrata_core::bytes::{exact, grouped};
use iostrata_core::copy::{CopyMethod, CopyResult, CopyRow, Destination};
use iostrata_core::evidence::{CallCounts, CallStats};
use iostrata_core::lab::target_of;
use iostrata_core::timing::Timing;

use super::view::{self, HOST, distinct, ends, machines, medians, names, spread_head};
use super::{Extent, Frame, Named, notes};
use crate::fields::{Group, lab};
use crate::format::{counted, join, milliseconds, number};
use crate::view::page::{GLUE, Page, Tone};
use crate::view::table::{Cell, Column, Rows, Table};

type View<'a> = view::View<'a, CopyRow>;
type Numbered<'a> = view::Numbered<'a, CopyRow>;

/// Rows of a further file system that are few enough to be drawn with the host's.
const FEW_ROWS: usize = 8;

pub(super) fn draw<'a>(page: &mut Page, frame: &Frame<'a>, result: &'a CopyResult, extent: Extent) {
    let mut view = View::of(&frame.rows, &result.rows, lab::copy(), extent);
    let shown = shown(&view);
    view.show(&shown);
    frame.answers(page);
    rows(page, &mut view);
    yardsticks(page, result);
    calls(page, &view);
    notes(page, &view);
    page.blank();
    let verified = grouped(result.method.own.verified_copies);
    let text = format!("{verified} copies verified against the BLAKE3 hash of their source");
    page.styled(0, &text, Tone::Quiet);
    frame.made(page, &view);
}

/// Rows that are drawn: all of the first target, the host where it is there. Of further
/// targets with many rows only those that tell whether blocks are shared.
fn shown<'a>(view: &View<'a>) -> Vec<Numbered<'a>> {
    let mut names = view.all().iter().map(|row| row.facts.target);
    let first = names.clone().find(|name| *name == HOST).or(names.next());
    let tells_sharing = |method| {
        matches!(
            method,
            CopyMethod::Reflink | CopyMethod::CopyFileRange | CopyMethod::Cp
        )
    };
    view.which(|row| {
        let of_target = view.all().iter();
        let of_target = of_target.filter(|other| other.facts.target == row.facts.target);
        view.extent.all_rows()
            || Some(row.facts.target) == first
            || of_target.count() <= FEW_ROWS
            || tells_sharing(row.row.row.case.method)
    })
}

fn rows(page: &mut Page, view: &mut View<'_>) {
    let group = |row: &Numbered<'_>| {
        let case = &row.row.row.case;
        (
            row.facts.target.to_owned(),
            case.size_bytes,
            case.source,
            case.durable,
        )
    };
    let several = view.targets().len() > 1;
    let shown = view.shown();
    page.part(SectionId::Rows, "every row");
    for wanted in distinct(shown.iter().map(group)) {
        let rows = shown.iter().copied();
        let rows: Vec<Numbered<'_>> = rows.filter(|row| group(row) == wanted).collect();
        let title = title(&rows[0], several);
        page.section(&title);
        let table = times(view, &rows).named(format!("times, {title}"));
        view.draw(page, &title, table);
        let table = view.counts("each copy", &rows);
        view.draw_below(page, &title, table.named(format!("counts, {title}")));
    }
    legend(page, view);
}

/// `100 MiB, warm source, to the page cache`.
fn title(row: &Numbered<'_>, several: bool) -> String {
    let case = &row.row.row.case;
    let place = if several {
        format!("on {}: ", row.facts.target)
    } else {
        String::new()
    };
    let end = match (case.durable, case.destination) {
        (false, Destination::Fresh) => "to the page cache",
        (false, Destination::Existing) => "over an existing file, to the page cache",
        (true, Destination::Fresh) => "durable",
        (true, Destination::Existing) => "over an existing file, durable",
    };
    format!("{place}{}, {end}", row.title())
}

fn legend(page: &mut Page, view: &View<'_>) {
    if view.shown().is_empty() {
        return;
    }
    let text = "of limit: time of the slowest step that such a copy needs (one copy in memory, or \
                reading from or writing to the device), measured alone, relative to the row's \
                time; — where nothing is copied, n/a where the step alone took longer than the \
                row. faults: page faults; user ×: how many times each byte was copied into or out \
                of the program's memory; device MiB and later MiB: written to the device while \
                the program ran, and afterwards";
    view.legend(page, &[text]);
}

fn times<'a>(view: &View<'a>, rows: &[Numbered<'a>]) -> Table {
    let timings = rows.iter().map(|row| row.facts.timing);
    let cpu = |head: &str, time_s: fn(&Timing) -> f64| {
        let times = timings.clone();
        let cells = times.map(|timing| Cell::seen(timing, |timing| milliseconds(time_s(timing))));
        Column::number(head, cells).rank(2)
    };
    let user = cpu("user ms", |timing| timing.user_s);
    let system = cpu("system ms", |timing| timing.system_s);
    let [real, interval] = medians("real ms", timings.clone(), milliseconds);
    let own = [real, interval, user, system];
    view.table("method", rows, own, &[Group::Times])
}

/// The limits of this machine, with which the rows are compared.
fn yardsticks(page: &mut Page, result: &CopyResult) {
    let yardsticks = &result.own.yardsticks;
    if yardsticks.is_empty() {
        return;
    }
    page.heading(SectionId::Limits, "limits, measured between the copies");
    let spread = spread_head(yardsticks.iter().map(|one| Some(&one.timing)));
    Rows::of(yardsticks)
        .label("step", |one| one.measure.as_str())
        .and(machines(
            yardsticks.iter().map(|one| one.machine.as_deref()),
        ))
        .label("on", |one| {
            Cell::applicable(one.target.as_deref().map(target_of), str::to_owned)
        })
        .label("of", |one| {
            Cell::applicable((one.size_bytes > 0).then_some(one.size_bytes), exact)
        })
        .number("real ms", |one| milliseconds(one.timing.median_s))
        .text(&spread, |one| ends(&one.timing, milliseconds))
        .number("MiB/s", |one| {
            Cell::applicable(one.bytes_per_s, |rate| number(rate / f64::from(1 << 20)))
        })
        .table(0)
        .named("the machine's limits")
        .draw(page);
}

/// Calls of a row that are named; the others only with every row.
const MOST_CALLS: usize = 4;

/// The system calls of the copies: how many, how many failed, and the time inside them.
fn calls(page: &mut Page, view: &View<'_>) {
    let rows: Vec<Numbered<'_>> = view
        .shown()
        .into_iter()
        .filter(|row| row.row.row.evidence.syscalls.is_some())
        .collect();
    if rows.is_empty() {
        return;
    }
    if view.extent.compares() {
        page.heading(SectionId::SystemCalls, "slowest system calls of each copy");
        slowest(page, &rows);
    }
    if view.extent.all_rows() {
        page.heading(SectionId::EveryCall, "system calls of each copy");
        for row in rows {
            every_call(page, &row);
        }
    }
    let text = "times are from the observed run and include the overhead of observing; --all-rows \
                shows every call";
    page.blank();
    page.styled(0, text, Tone::Quiet);
}

/// Calls of a row, the one that took longest first.
fn by_time(calls: &CallCounts) -> Vec<(&String, &CallStats)> {
    let mut calls: Vec<_> = calls.iter().collect();
    calls.sort_by(|(_, one), (_, other)| other.time_s.total_cmp(&one.time_s));
    calls
}

fn slowest(page: &mut Page, rows: &[Numbered<'_>]) {
    let mut columns = names("method", rows);
    let head = "calls, and the milliseconds spent in them";
    columns.push(Column::text(head, rows.iter().map(line)));
    Table::new(0, columns)
        .named("slowest system calls, by copy")
        .draw(page);
}

/// `1,601 read 12.3, 1,600 write 40.1, 3 others`.
fn line(row: &Numbered<'_>) -> String {
    let Some(calls) = &row.row.row.evidence.syscalls else {
        return String::new();
    };
    let calls = by_time(calls);
    let named = calls.iter().take(MOST_CALLS).map(|(name, call)| {
        format!(
            "{}{GLUE}{name}{GLUE}{}{}",
            grouped(call.count),
            number(call.time_s * 1e3),
            failed(call)
        )
    });
    let more = calls.len().checked_sub(MOST_CALLS).filter(|more| *more > 0);
    let more = more.map(|more| counted(more, "more name").replace(' ', GLUE));
    join(named.chain(more), ", ")
}

fn failed(call: &CallStats) -> String {
    match call.errors {
        0 => String::new(),
        errors => format!("{GLUE}({}{GLUE}failed)", grouped(errors)),
    }
}

fn every_call(page: &mut Page, row: &Numbered<'_>) {
    let Some(calls) = &row.row.row.evidence.syscalls else {
        return;
    };
    let case = &row.row.row.case;
    let end = if case.durable { ", durable" } else { "" };
    page.blank();
    let name = format!(
        "{} {}, {}{end}, on {}",
        row.facts.number,
        row.name(),
        case.source.as_str(),
        row.where_at()
    );
    page.paragraph(0, &name);
    Rows::of(&by_time(calls))
        .label("call", |(name, _)| name.as_str())
        .number("ms", |(_, call)| number(call.time_s * 1e3))
        .number("calls", |(_, call)| grouped(call.count))
        .number("errors", |(_, call)| grouped(call.errors))
        .number("bytes", |(_, call)| grouped(call.bytes))
        .table(2)
        .named(format!("system calls of {name}"))
        .draw(page);
}

impl Named for CopyRow {
    /// `read_write 64 KiB`, `read_write whole file`, `sendfile`.
    fn name(&self) -> String {
        let case = &self.row.case;
        let method = case.method.as_str();
        match case.buffer_bytes {
            Some(_) if case.has_whole_buffer() => format!("{method} whole file"),
            Some(size) => format!("{method} {}", exact(size)),
            None => method.to_owned(),
        }
    }

    /// `100 MiB, warm source`.
    fn title(&self) -> String {
        let case = &self.row.case;
        let (size, source) = (exact(case.size_bytes), case.source.as_str());
        format!("{size}, {source} source")
    }
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
