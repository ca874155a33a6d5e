//! Every row of a target: one table of time and system calls, one of what
//! reached the device.

use std::collections::BTreeMap;

use iostrata_core::buffering::{BufferingRow, PerWrite};
use iostrata_core::bytes::grouped;
use iostrata_core::evidence::CallCount;

use super::view::{Numbered, View, cells, title};
use crate::format::{NOT_APPLICABLE, Seconds, number, rate};
use crate::view::page::{GLUE, Page, Tone};
use crate::view::table::{Column, Table};

pub(super) fn draw(page: &mut Page, view: &mut View<'_>) {
    let several = view.rows.targets().len() > 1;
    page.part("rows", "every row");
    for target in view.rows.in_full() {
        if several {
            page.section(&format!("on {target}"));
        }
        for (position, records) in view.records().into_iter().enumerate() {
            let rows = view
                .rows
                .which(|row| row.target() == target && row.records() == records);
            if rows.is_empty() {
                continue;
            }
            if !several || position > 0 {
                page.blank();
            }
            let name = format!("{} on {target}", title(records));
            let left_out = time(&rows, &title(records))
                .named(format!("times and system calls, {name}"))
                .draw(page);
            view.left_out(&format!("the rows of {target}"), left_out);
            let device = device(&rows).named(format!("what reached the device, {name}"));
            if device.has_values() {
                page.blank();
            }
            view.counted |= device.has_values();
            let left_out = device.draw(page);
            view.left_out(&format!("the rows of {target}"), left_out);
            view.rows.show(&rows);
        }
    }
}

/// What the columns of both tables mean.
pub(super) fn legend(page: &mut Page, view: &View<'_>) {
    let shown = view.rows.shown();
    if shown.is_empty() {
        return;
    }
    page.blank();
    if view.counted {
        let text = "per write: pages made dirty in the page cache; then requests that write to \
                    the device, by cause, and flushes of its cache; device B, the bytes those \
                    requests carried, and bytes ×, how many times the record that is; unpaid B, \
                    bytes written to the device only after the program had ended";
        page.styled(0, text, Tone::Quiet);
    }
    let few = |row: &Numbered<'_>| {
        let timing = row.row.row.timing.as_ref();
        timing.is_some_and(|timing| timing.samples_s.len() <= FEW_RUNS)
    };
    let drawn = !view.unshown.no_room.iter().any(|head| head == INTERVAL);
    if drawn && shown.iter().any(few) {
        let text = "95 %: bootstrap interval of the median; with five runs or fewer it is the \
                    range of the runs, and holds the median less often than that";
        page.styled(0, text, Tone::Quiet);
    }
}

/// Head of the column of intervals.
const INTERVAL: &str = "95 %";

/// Runs up to which the interval is their range (`iostrata_core::stats::median_interval`).
const FEW_RUNS: usize = 5;

fn modes(head: &str, rows: &[Numbered<'_>]) -> [Column; 2] {
    [
        Column::row_numbers(rows.iter().map(|row| row.number)),
        Column::label(
            head,
            rows.iter().map(|row| row.case().mode.as_str().to_owned()),
        ),
    ]
}

fn time(rows: &[Numbered<'_>], head: &str) -> Table {
    let timings = || rows.iter().filter_map(|row| row.row.row.timing.as_ref());
    let seconds = Seconds::showing(timings().map(|timing| timing.median_s));
    let timing = |row: &BufferingRow| row.row.timing.clone();
    let time =
        |pick: fn(&BufferingRow) -> Option<f64>| cells(rows, pick, |time_s| seconds.text(time_s));
    let mut columns = Vec::from(modes(head, rows));
    columns.extend([
        Column::number(
            "real s",
            time(|row| Some(row.row.timing.as_ref()?.median_s)),
        ),
        Column::text(
            INTERVAL,
            cells(rows, timing, |timing| match timing.samples_s.len() {
                // One run has no spread.
                0 | 1 => NOT_APPLICABLE.to_owned(),
                _ => seconds.range(timing.low_s, timing.high_s),
            }),
        )
        .rank(1),
        Column::number("user s", time(|row| Some(row.row.timing.as_ref()?.user_s))),
        Column::number(
            "system s",
            time(|row| Some(row.row.timing.as_ref()?.system_s)),
        ),
        Column::number(
            "writes/s",
            cells(rows, |row| row.per_write.writes_per_s, number),
        )
        .rank(2),
        Column::number(
            "B/call",
            cells(rows, |row| row.per_write.bytes_per_syscall, rate),
        )
        .rank(3),
        Column::text(
            "system calls",
            cells(rows, |row| row.row.evidence.syscalls.as_ref(), calls),
        ),
    ]);
    Table::new(0, columns)
}

/// `2,000 write, fsync`: calls that move bytes first; equal counts are said once.
fn calls(seen: &BTreeMap<String, CallCount>) -> String {
    let moving = seen.iter().filter(|(_, call)| call.bytes > 0);
    let others = seen.iter().filter(|(_, call)| call.bytes == 0);
    let mut last_count = None;
    let mut texts = Vec::new();
    for (name, call) in moving.chain(others) {
        let count = match last_count {
            Some(last) if last == call.count => String::new(),
            _ => format!("{}{GLUE}", grouped(call.count)),
        };
        let failed = match call.errors {
            0 => String::new(),
            errors => format!(" ({} failed)", grouped(errors)),
        };
        texts.push(format!("{count}{name}{failed}"));
        last_count = Some(call.count);
    }
    if texts.is_empty() {
        "none".to_owned()
    } else {
        texts.join(", ")
    }
}

fn device(rows: &[Numbered<'_>]) -> Table {
    let mut columns = Vec::from(modes("per write", rows));
    columns.push(
        Column::number(
            "pages",
            cells(rows, |row| row.per_write.dirtied_pages, rate),
        )
        .rank(2),
    );
    columns.extend(device_columns(rows));
    columns.push(
        Column::number(
            "unpaid B",
            cells(rows, |row| row.per_write.unpaid_bytes, number),
        )
        .rank(1),
    );
    Table::new(0, columns)
}

/// What one record asks of the device.
pub(super) fn device_columns(rows: &[Numbered<'_>]) -> Vec<Column> {
    let count = |head: &str, pick: fn(&PerWrite) -> Option<f64>| {
        Column::number(head, cells(rows, |row| pick(&row.per_write), rate))
    };
    let mut columns = vec![
        count("data", |each| each.data),
        count("journal", |each| each.journal),
        count("commit", |each| each.commit),
        count("metadata", |each| each.metadata),
    ];
    // The usual case is that every cause is known.
    if rows.iter().any(|row| {
        row.row
            .per_write
            .unknown
            .is_some_and(|unknown| unknown > 0.0)
    }) {
        columns.push(count("unknown", |each| each.unknown));
    }
    columns.push(count("flushes", |each| each.flushes));
    columns.push(
        Column::number(
            "device B",
            cells(rows, |row| row.per_write.device_bytes, number),
        )
        .rank(3),
    );
    columns.push(Column::number(
        "bytes ×",
        cells(
            rows,
            |row| row.per_write.amplification,
            |times| {
                if times > 0.0 {
                    number(times)
                } else {
                    NOT_APPLICABLE.to_owned()
                }
            },
        ),
    ));
    columns
}
