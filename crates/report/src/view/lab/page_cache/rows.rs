//! Every row of a target: a table of times and of what the cache and the device did for each
//! size, and one of where the time went.

use iostrata_core::bytes::{exact, grouped};
use iostrata_core::page_cache::{PageCacheRow, Parse, Percentiles, Reader};

use super::view::{Numbered, View, cells};
use crate::format::{NOT_APPLICABLE, mebibytes, microseconds, number, rate};
use crate::view::lab::facts::distinct;
use crate::view::page::{GLUE, Page, Tone};
use crate::view::table::{Column, Table};

pub(super) fn draw(page: &mut Page, view: &mut View<'_>) {
    let several = view.targets().len() > 1;
    page.part("rows", "every row");
    for target in view.targets() {
        let rows: Vec<Numbered<'_>> = view
            .shown()
            .into_iter()
            .filter(|row| row.target() == target && row.row.row.case.parse == Parse::None)
            .collect();
        if rows.is_empty() {
            continue;
        }
        if several {
            page.section(&format!("on {target}"));
        }
        for size_bytes in distinct(rows.iter().map(|row| row.row.row.case.size_bytes)) {
            let same = |row: &&Numbered<'_>| row.row.row.case.size_bytes == size_bytes;
            let rows: Vec<Numbered<'_>> = rows.iter().filter(same).copied().collect();
            page.blank();
            let left_out = time(&rows, &exact(size_bytes))
                .named(format!("times, {} on {target}", exact(size_bytes)))
                .draw(page);
            view.unshown.add(&format!("the rows of {target}"), left_out);
            let name = format!("where the time went, {} on {target}", exact(size_bytes));
            let spent = spent(&rows).named(name);
            if spent.has_values() {
                page.blank();
            }
            let left_out = spent.draw(page);
            view.unshown
                .add(&format!("the times of {target}"), left_out);
        }
        latencies(page, view, &rows);
        legend(page);
    }
}

fn legend(page: &mut Page) {
    page.blank();
    let text = "cached %: pages of the file in the cache before and after (cachestat); device: requests \
                that read, and their bytes; waited, ahead: pages that a read waited for, and \
                pages that read-ahead brought; copy and faults are estimates: as many bytes \
                copied in memory, and the row's minor faults at what one costs on a new buffer \
                of this size; blocked and on CPU are of the observed run";
    page.styled(0, text, Tone::Quiet);
}

fn names(rows: &[Numbered<'_>], head: &str) -> [Column; 2] {
    [
        Column::row_numbers(rows.iter().map(|row| row.number)),
        Column::label(head, rows.iter().map(Numbered::label)),
    ]
}

/// `0 → 100`: of the file's pages, before and after the observed run.
fn cached(row: &PageCacheRow) -> Option<String> {
    let figures = &row.figures;
    let percent = |share: f64| rate(share * 100.0);
    let before = percent(figures.resident_before_share?);
    let after = percent(figures.resident_after_share?);
    Some(format!("{before}{GLUE}→{GLUE}{after}"))
}

fn time(rows: &[Numbered<'_>], head: &str) -> Table {
    let mut columns = Vec::from(names(rows, head));
    columns.extend([
        Column::number(
            "real µs",
            cells(
                rows,
                |row| Some(row.row.timing.as_ref()?.median_s),
                microseconds,
            ),
        ),
        Column::text(
            "95 %",
            cells(
                rows,
                |row| row.row.timing.as_ref(),
                |timing| {
                    match timing.samples_s.len() {
                        // One run has no spread.
                        0 | 1 => NOT_APPLICABLE.to_owned(),
                        _ => format!(
                            "{}–{}",
                            microseconds(timing.low_s),
                            microseconds(timing.high_s)
                        ),
                    }
                },
            ),
        )
        .rank(1),
        Column::number(
            "MB/s",
            cells(
                rows,
                |row| row.figures.bytes_per_s,
                |rate| number(rate / 1e6),
            ),
        )
        .rank(3),
        Column::text("cached %", cells(rows, cached, |cached| cached)),
        Column::number(
            "device",
            cells(
                rows,
                |row| Some(row.row.evidence.device.as_ref()?.reads.count),
                grouped,
            ),
        ),
        Column::number(
            "MiB",
            cells(rows, PageCacheRow::device_read_bytes, mebibytes),
        ),
        Column::number(
            "waited",
            cells(rows, |row| row.row.evidence.cache.missed_pages, grouped),
        )
        .rank(2),
        Column::number(
            "ahead",
            cells(rows, |row| row.row.evidence.cache.prefetched_pages, grouped),
        )
        .rank(2),
    ]);
    Table::new(0, columns)
}

fn spent(rows: &[Numbered<'_>]) -> Table {
    let mut columns = Vec::from(names(rows, "of which µs"));
    let time = |head: &str, pick: fn(&PageCacheRow) -> Option<f64>| {
        Column::number(head, cells(rows, pick, microseconds))
    };
    columns.extend([
        time("≈ copy", |row| row.figures.spent.copy_estimate_s),
        time("≈ faults", |row| row.figures.spent.faults_estimate_s),
        time("blocked", |row| row.figures.spent.blocked_s),
        time("on CPU", |row| row.row.evidence.on_cpu_s),
        time("memory copy", |row| {
            Some(row.memory_copy.as_ref()?.median_s)
        })
        .rank(1),
        Column::number(
            "minor faults",
            cells(rows, |row| row.row.evidence.faults.minor, grouped),
        ),
        Column::number(
            "major",
            cells(rows, |row| row.row.evidence.faults.major, grouped),
        ),
    ]);
    Table::new(0, columns)
}

fn latencies(page: &mut Page, view: &mut View<'_>, rows: &[Numbered<'_>]) {
    let rows: Vec<Numbered<'_>> = rows
        .iter()
        .filter(|row| row.row.row.case.reader == Reader::PreadRandom)
        .filter(|row| row.row.latency_s.is_some())
        .copied()
        .collect();
    if rows.is_empty() {
        return;
    }
    page.heading("random-reads", "random reads of 4 KiB, one by one");
    let time = |head: &str, pick: fn(&Percentiles) -> f64| {
        let seconds = |row: &PageCacheRow| row.latency_s.as_ref().map(pick);
        Column::number(head, cells(&rows, seconds, microseconds))
    };
    let mut columns = Vec::from(names(&rows, "µs"));
    columns.insert(2, Column::label("of", rows.iter().map(Numbered::size)));
    columns.extend([
        Column::number(
            "reads",
            cells(&rows, |row| Some(row.latency_s?.count), grouped),
        ),
        time("p50", |latency| latency.p50),
        time("p90", |latency| latency.p90),
        time("p99", |latency| latency.p99),
        time("p99.9", |latency| latency.p999),
        time("max", |latency| latency.max),
    ]);
    let table = Table::new(0, columns).named("latencies of random reads");
    let left_out = table.draw(page);
    view.unshown.add("the random reads", left_out);
}
