//! Every row: its time beside its limit, then what it asked of the kernel and the device.

use iostrata_core::bytes::grouped;
use iostrata_core::copy::{CopyRow, Figures, Measure, Method};
use iostrata_core::timing::Timing;

use super::view::{Numbered, View, cells};
use crate::format::{NOT_APPLICABLE, mebibytes, number, or_not_seen, rate};
use crate::view::page::{Page, Tone};
use crate::view::table::{Column, Table};

/// Head of the column of intervals.
const INTERVAL: &str = "95 %";

/// Runs up to which the interval is their range (`iostrata_core::stats::median_interval`).
const FEW_RUNS: usize = 5;

pub(super) fn draw(page: &mut Page, view: &mut View<'_>) {
    page.part("rows", "every row");
    for group in view.groups() {
        page.section(&group.title);
        let left_out = time(&group.rows)
            .named(format!("times, {}", group.title))
            .draw(page);
        view.unshown.add(&group.title, left_out);
        let counts = counts(&group.rows).named(format!("counts, {}", group.title));
        if counts.has_values() {
            page.blank();
        }
        let left_out = counts.draw(page);
        view.unshown.add(&group.title, left_out);
    }
    legend(page, view);
}

fn legend(page: &mut Page, view: &View<'_>) {
    let shown = view.shown();
    if shown.is_empty() {
        return;
    }
    page.blank();
    let text = "of limit: the time of the slowest step that such a copy needs, done alone, over \
                the row's time: one copy in memory, or the device's reading or writing; — where \
                nothing is copied. faults: page faults; user ×: how many times each byte went \
                into the program's memory or out of it; device MiB and unpaid MiB: written to \
                the device while the program ran, and after";
    page.styled(0, text, Tone::Quiet);
    let few = |timing: &Timing| timing.samples_s.len() <= FEW_RUNS;
    let timed = |row: &Numbered<'_>| row.row.row.timing.as_ref().is_some_and(few);
    let drawn = !view.unshown.no_room.iter().any(|head| head == INTERVAL);
    if drawn && shown.iter().any(timed) {
        let text = "95 %: bootstrap interval of the median; with five runs or fewer it is the \
                    range of the runs, and holds the median less often than that";
        page.styled(0, text, Tone::Quiet);
    }
}

fn names(rows: &[Numbered<'_>], head: &str) -> Vec<Column> {
    vec![
        Column::row_numbers(rows.iter().map(|row| row.number)),
        Column::label(head, rows.iter().map(Numbered::name)),
    ]
}

pub(super) fn milliseconds(seconds: f64) -> String {
    number(seconds * 1e3)
}

fn time(rows: &[Numbered<'_>]) -> Table {
    let timing = |row: &CopyRow| row.row.timing.clone();
    let time = |head: &str, pick: fn(Timing) -> f64| {
        Column::number(
            head,
            cells(rows, timing, |timing| milliseconds(pick(timing))),
        )
    };
    let rate = |row: &CopyRow| row.figures.bytes_per_s;
    let mut columns = names(rows, "method");
    columns.extend([
        time("real ms", |timing| timing.median_s),
        Column::text(
            INTERVAL,
            cells(rows, timing, |timing| match timing.samples_s.len() {
                // One run has no spread.
                0 | 1 => NOT_APPLICABLE.to_owned(),
                _ => format!(
                    "{}–{}",
                    milliseconds(timing.low_s),
                    milliseconds(timing.high_s)
                ),
            }),
        )
        .rank(1),
        time("user ms", |timing| timing.user_s).rank(2),
        time("system ms", |timing| timing.system_s).rank(2),
        Column::number(
            "MiB/s",
            cells(rows, rate, |bytes_per_s| {
                number(bytes_per_s / f64::from(1 << 20))
            }),
        ),
        Column::text("of limit", rows.iter().map(limit)),
    ]);
    Table::new(0, columns)
}

/// `62 % memory`.
fn limit(row: &Numbered<'_>) -> String {
    let figures = &row.row.figures;
    if row.case().method == Method::Reflink || figures.is_shared == Some(true) {
        return NOT_APPLICABLE.to_owned();
    }
    or_not_seen(figures.limit, |limit| {
        let step = match limit.measure {
            Measure::MemoryCopy => "memory",
            Measure::DeviceRead => "reading",
            Measure::DeviceWrite => "writing",
            other => other.as_str(),
        };
        format!("{} % {step}", number(limit.share * 100.0))
    })
}

fn counts(rows: &[Numbered<'_>]) -> Table {
    let count = |head: &str, pick: fn(&Figures) -> Option<u64>| {
        Column::number(head, cells(rows, |row| pick(&row.figures), grouped))
    };
    let size = |head: &str, pick: fn(&Figures) -> Option<u64>| {
        Column::number(head, cells(rows, |row| pick(&row.figures), mebibytes))
    };
    let mut columns = names(rows, "each copy");
    columns.extend([
        count("calls", |figures| figures.calls),
        count("errors", |figures| figures.errors).rank(2),
        Column::number(
            "in calls ms",
            cells(rows, |row| row.figures.in_calls_s, milliseconds),
        )
        .rank(1),
        count("faults", |figures| figures.faults),
        Column::number("user ×", rows.iter().map(times_through_user)),
        size("device MiB", |figures| figures.device_bytes),
        size("unpaid MiB", |figures| figures.unpaid_bytes),
    ]);
    Table::new(0, columns)
}

fn times_through_user(row: &Numbered<'_>) -> String {
    let size = row.case().size_bytes as f64;
    or_not_seen(row.row.figures.user_bytes, |bytes| {
        rate(bytes as f64 / size)
    })
}
