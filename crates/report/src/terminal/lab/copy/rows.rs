//! Every row: its time, what it asked of the kernel and the device, and its limit.

use iostrata_core::bytes::grouped;
use iostrata_core::copy::{CopyRow, Figures, Method};
use iostrata_core::timing::Timing;

use super::view::{Numbered, View, cells};
use crate::format::{NOT_APPLICABLE, Seconds, mebibytes, number, or_not_seen, rate};
use crate::terminal::page::{DIM, Page};
use crate::terminal::table::{Column, Table};

/// Head of the column of intervals.
const INTERVAL: &str = "95 %";

/// Runs up to which the interval is their range (`iostrata_core::stats::median_interval`).
const FEW_RUNS: usize = 5;

pub(super) fn draw(page: &mut Page, view: &mut View<'_>) {
    for group in view.groups() {
        page.heading(&group.title);
        let left_out = table(&group.rows).draw(page);
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
    let text = "calls: system calls of the copy; faults: page faults; user ×: how many times \
                each byte went into the program's memory or out of it; device MiB and unpaid MiB: \
                written while the program ran, and after; of limit: the time of the slowest step \
                that such a copy needs, done alone, over the row's";
    page.styled(0, text, DIM);
    let few = |timing: &Timing| timing.samples_s.len() <= FEW_RUNS;
    let timed = |row: &Numbered<'_>| row.row.row.timing.as_ref().is_some_and(few);
    let drawn = !view.unshown.no_room.iter().any(|head| head == INTERVAL);
    if drawn && shown.iter().any(timed) {
        let text = "95 %: bootstrap interval of the median; with five runs or fewer it is the \
                    range of the runs, and holds the median less often than that";
        page.styled(0, text, DIM);
    }
}

fn table(rows: &[Numbered<'_>]) -> Table {
    let medians = rows.iter().filter_map(|row| row.row.row.timing.as_ref());
    let seconds = Seconds::showing(medians.map(|timing| timing.median_s));
    let timing = |row: &CopyRow| row.row.timing.clone();
    let count = |head: &str, pick: fn(&Figures) -> Option<u64>| {
        Column::number(head, cells(rows, |row| pick(&row.figures), grouped))
    };
    let size = |head: &str, pick: fn(&Figures) -> Option<u64>| {
        Column::number(head, cells(rows, |row| pick(&row.figures), mebibytes))
    };
    let columns = vec![
        Column::row_numbers(rows.iter().map(|row| row.number)),
        Column::label("method", rows.iter().map(Numbered::name)),
        Column::number(
            "real s",
            cells(rows, timing, |timing| seconds.text(timing.median_s)),
        ),
        Column::text(
            INTERVAL,
            cells(rows, timing, |timing| match timing.samples_s.len() {
                // One run has no spread.
                0 | 1 => NOT_APPLICABLE.to_owned(),
                _ => seconds.range(timing.low_s, timing.high_s),
            }),
        )
        .rank(2),
        Column::number(
            "MiB/s",
            cells(
                rows,
                |row| row.figures.bytes_per_s,
                |bytes_per_s| number(bytes_per_s / f64::from(1 << 20)),
            ),
        )
        .rank(1),
        count("calls", |figures| figures.calls),
        count("errors", |figures| figures.errors).rank(4),
        count("faults", |figures| figures.faults),
        Column::number("user ×", rows.iter().map(times_through_user)),
        size("device MiB", |figures| figures.device_bytes).rank(3),
        size("unpaid MiB", |figures| figures.unpaid_bytes).rank(3),
        Column::text("of limit", rows.iter().map(limit)),
    ];
    Table::new(0, columns)
}

fn times_through_user(row: &Numbered<'_>) -> String {
    let size = row.case().size_bytes as f64;
    or_not_seen(row.row.figures.user_bytes, |bytes| {
        rate(bytes as f64 / size)
    })
}

/// `62 % memory copy`.
fn limit(row: &Numbered<'_>) -> String {
    if row.case().method == Method::Reflink {
        return NOT_APPLICABLE.to_owned();
    }
    or_not_seen(row.row.figures.limit, |limit| {
        format!("{:.0} % {}", limit.share * 100.0, limit.measure.as_str())
    })
}
