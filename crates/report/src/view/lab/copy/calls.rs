//! The system calls of the copies: how many, how many failed, and the time inside them.

use iostrata_core::bytes::grouped;
use iostrata_core::evidence::{CallCount, CallCounts};

use super::{Numbered, View};
use crate::format::{counted, number};
use crate::view::lab::view::names;
use crate::view::page::{GLUE, Page, Tone};
use crate::view::section::SectionId;
use crate::view::table::{Column, Table};

/// Calls of a row that are named; the others only with every row.
const MOST_CALLS: usize = 4;

pub(super) fn draw(page: &mut Page, view: &View<'_>) {
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
        brief(page, &rows);
    }
    if view.extent.all_rows() {
        page.heading(SectionId::EveryCall, "system calls of each copy");
        for row in rows {
            whole(page, &row);
        }
    }
    let text = "times are from the observed run and include the overhead of observing; --all-rows \
                shows every call";
    page.blank();
    page.styled(0, text, Tone::Quiet);
}

/// Calls of a row, the one that took longest first.
fn by_time(calls: &CallCounts) -> Vec<(&String, &CallCount)> {
    let mut calls: Vec<_> = calls.iter().collect();
    calls.sort_by(|(_, one), (_, other)| other.time_s.total_cmp(&one.time_s));
    calls
}

fn brief(page: &mut Page, rows: &[Numbered<'_>]) {
    let mut columns = names("method", rows);
    columns.push(Column::text(
        "calls, and the milliseconds spent in them",
        rows.iter().map(line),
    ));
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
    let mut words: Vec<String> = named.collect();
    if calls.len() > MOST_CALLS {
        words.push(counted(calls.len() - MOST_CALLS, "more name").replace(' ', GLUE));
    }
    words.join(", ")
}

fn failed(call: &CallCount) -> String {
    match call.errors {
        0 => String::new(),
        errors => format!("{GLUE}({}{GLUE}failed)", grouped(errors)),
    }
}

fn whole(page: &mut Page, row: &Numbered<'_>) {
    let Some(calls) = &row.row.row.evidence.syscalls else {
        return;
    };
    let case = &row.row.row.case;
    let end = if case.durable { ", durable" } else { "" };
    page.blank();
    let name = format!(
        "{} {}, {}{end}, on {}",
        row.number,
        row.name(),
        case.source.as_str(),
        row.where_at()
    );
    page.paragraph(0, &name);
    let calls = by_time(calls);
    let column = |head: &str, text: &dyn Fn(&CallCount) -> String| {
        Column::number(head, calls.iter().map(|(_, call)| text(call)))
    };
    let columns = vec![
        Column::label("call", calls.iter().map(|(name, _)| (*name).clone())),
        column("ms", &|call| number(call.time_s * 1e3)),
        column("calls", &|call| grouped(call.count)),
        column("errors", &|call| grouped(call.errors)),
        column("bytes", &|call| grouped(call.bytes)),
    ];
    let name = format!("system calls of {name}");
    Table::new(2, columns).named(name).draw(page);
}
