//! Every row of a target: one table of rates and latencies, one of what reached the
//! device.

use iostrata_core::sync::{PerSync, SyncRow};

use super::view::{Numbered, View, figures, title};
use crate::format::{NOT_APPLICABLE, microseconds, number, or_not_seen, rate};
use crate::view::page::{Page, Tone};
use crate::view::table::{Column, Table};

pub(super) fn draw(page: &mut Page, view: &mut View<'_>) {
    let several = view.rows.targets().len() > 1;
    page.part("rows", "every row");
    for target in view.rows.in_full() {
        if several {
            page.section(&format!("on {target}"));
        }
        for (position, size_bytes) in view.sizes().into_iter().enumerate() {
            let rows = view
                .rows
                .which(|row| row.target() == target && row.case().size_bytes == size_bytes);
            if rows.is_empty() {
                continue;
            }
            if !several || position > 0 {
                page.blank();
            }
            let place = format!("the rows of {target}");
            let name = format!("{} on {target}", title(size_bytes));
            let left_out = time(&rows, &title(size_bytes))
                .named(format!("rates and latencies, {name}"))
                .draw(page);
            view.unshown.add(&place, left_out);
            let device = device(&rows).named(format!("what reached the device, {name}"));
            if device.has_values() {
                page.blank();
            }
            let left_out = device.draw(page);
            view.unshown.add(&place, left_out);
            view.rows.show(&rows);
        }
    }
}

/// What the columns of both tables mean.
pub(super) fn legend(page: &mut Page, view: &View<'_>) {
    if view.rows.shown().is_empty() {
        return;
    }
    page.blank();
    page.styled(
        0,
        "latency: from one sync's end to the next one's, write included, in µs; a percentile \
         stands where ten syncs or more lie beyond it; append: the file grows; overwrite: its \
         blocks were written before; preallocated: they were allocated and never written; \
         × 8: eight writers at the same time, each its own file",
        Tone::Quiet,
    );
    let seen = |row: &Numbered<'_>| row.row.per_sync.flushes.is_some();
    if view.rows.shown().iter().any(seen) {
        page.styled(
            0,
            "per sync: requests that write to the device, by cause, flushes of its cache, and \
             bytes of the writes",
            Tone::Quiet,
        );
    }
}

fn names(head: &str, rows: &[Numbered<'_>]) -> [Column; 2] {
    [
        Column::row_numbers(rows.iter().map(|row| row.number)),
        Column::label(head, rows.iter().map(Numbered::name)),
    ]
}

fn time(rows: &[Numbered<'_>], head: &str) -> Table {
    let interval = |row: &Numbered<'_>| {
        let runs = row.row.row.timing.as_ref().map(|t| t.samples_s.len());
        match runs {
            // One run has no spread.
            Some(0 | 1) => NOT_APPLICABLE.to_owned(),
            _ => or_not_seen(row.row.syncs_per_s_interval, |(low, high)| {
                format!("{}–{}", number(low), number(high))
            }),
        }
    };
    let latency =
        |head: &str, pick: fn(&SyncRow) -> Option<f64>| figures(head, rows, pick, microseconds);
    let mut columns = Vec::from(names(head, rows));
    columns.extend([
        figures("syncs/s", rows, |row| row.syncs_per_s, number),
        Column::text("95 %", rows.iter().map(interval)).rank(1),
        latency("p50 µs", |row| row.latency_s.p50),
        latency("p90", |row| row.latency_s.p90).rank(2),
        latency("p99", |row| row.latency_s.p99),
        latency("p99.9", |row| row.latency_s.p999),
        latency("max", |row| row.latency_s.max),
    ]);
    Table::new(0, columns)
}

fn device(rows: &[Numbered<'_>]) -> Table {
    let mut columns = Vec::from(names("per sync", rows));
    columns.extend(device_columns(rows));
    Table::new(0, columns)
}

/// What one sync asks of the device.
pub(super) fn device_columns(rows: &[Numbered<'_>]) -> Vec<Column> {
    let count = |head: &str, pick: fn(&PerSync) -> Option<f64>| {
        figures(head, rows, move |row| pick(&row.per_sync), rate)
    };
    let any = |pick: fn(&PerSync) -> Option<f64>| {
        let found = rows.iter().filter_map(|row| pick(&row.row.per_sync));
        found.into_iter().any(|each| each > 0.0)
    };
    let mut columns = vec![
        count("data", |each| each.data),
        count("journal", |each| each.journal),
        count("commit", |each| each.commit),
        count("metadata", |each| each.metadata),
    ];
    // The usual case is that every cause is known, and nothing is read.
    if any(|each| each.unknown) {
        columns.push(count("unknown", |each| each.unknown));
    }
    columns.push(count("flushes", |each| each.flushes));
    columns.push(figures("bytes", rows, |row| row.per_sync.bytes, number).rank(3));
    if any(|each| each.reads) {
        columns.push(count("reads", |each| each.reads).rank(4));
    }
    columns
}
