//! Fields of the rows of `lab page-cache`.

use iostrata_core::page_cache::{PageCacheRow, Percentiles};

use crate::fields::{Fields, Group, Quantity};
use crate::format::rate;
use crate::view::cell::Cell;
use crate::view::page::GLUE;

pub(crate) fn rows<'a>() -> Fields<'a, &'a PageCacheRow> {
    use Quantity::{Count, Mebibytes, MebibytesPerSecond, Microseconds};
    Fields::<&'a PageCacheRow>::new()
        .text("asked_state", |row| row.asked_state.as_str())
        .maybe_text("not_as_asked", |row| row.not_as_asked.as_deref())
        .count("read_bytes", |row| row.read_bytes)
        .count("storage_read_bytes", |row| row.storage_read_bytes)
        .real("bytes_per_s", |row| row.figures.bytes_per_s)
        .shown(Group::Times, "MiB/s", MebibytesPerSecond)
        .rank(3)
        .real("resident_before_share", |row| {
            row.figures.resident_before_share
        })
        .real("resident_after_share", |row| {
            row.figures.resident_after_share
        })
        .words(Group::Times, "cached %", |row| {
            Cell::seen(cached(row), |text| text)
        })
        .count("", |row| {
            Some(row.row.evidence.device.as_ref()?.reads.count)
        })
        .shown(Group::Times, "device", Count)
        .count("", |row| row.device_read_bytes())
        .shown(Group::Times, "MiB", Mebibytes)
        .count("", |row| row.row.evidence.cache.missed_pages)
        .shown(Group::Times, "waited", Count)
        .rank(2)
        .count("", |row| row.row.evidence.cache.prefetched_pages)
        .shown(Group::Times, "ahead", Count)
        .rank(2)
        .real("copy_estimate_s", |row| row.figures.spent.copy_estimate_s)
        .shown(Group::Counts, "≈ copy", Microseconds)
        .real("faults_estimate_s", |row| {
            row.figures.spent.faults_estimate_s
        })
        .shown(Group::Counts, "≈ faults", Microseconds)
        .real("fault_s", |row| row.figures.spent.fault_s)
        .real("spent_blocked_s", |row| row.figures.spent.blocked_s)
        .shown(Group::Counts, "blocked", Microseconds)
        .real("", |row| row.row.evidence.on_cpu_s)
        .shown(Group::Counts, "on CPU", Microseconds)
        .real("", |row| Some(row.memory_copy.as_ref()?.median_s))
        .shown(Group::Counts, "memory copy", Microseconds)
        .rank(1)
        .count("", |row| row.row.evidence.faults.minor)
        .shown(Group::Counts, "minor faults", Count)
        .count("", |row| row.row.evidence.faults.major)
        .shown(Group::Counts, "major", Count)
        .count("", |row| Some(row.latency_s?.count))
        .shown(Group::Latencies, "reads", Count)
        .within("latency_", percentiles(), |row| row.latency_s.as_ref())
}

/// `0 → 100`: of the file's pages, before and after the observed run.
fn cached(row: &PageCacheRow) -> Option<String> {
    let figures = &row.figures;
    let percent = |share: f64| rate(share * 100.0);
    let before = percent(figures.resident_before_share?);
    let after = percent(figures.resident_after_share?);
    Some(format!("{before}{GLUE}→{GLUE}{after}"))
}

fn percentiles<'a>() -> Fields<'a, &'a Percentiles> {
    use Quantity::Microseconds;
    Fields::<&'a Percentiles>::new()
        .real("p50_s", |latency| latency.p50)
        .shown(Group::Latencies, "p50", Microseconds)
        .real("p90_s", |latency| latency.p90)
        .shown(Group::Latencies, "p90", Microseconds)
        .real("p99_s", |latency| latency.p99)
        .shown(Group::Latencies, "p99", Microseconds)
        .real("p999_s", |latency| latency.p999)
        .shown(Group::Latencies, "p99.9", Microseconds)
        .real("max_s", |latency| latency.max)
        .shown(Group::Latencies, "max", Microseconds)
        .count("count", |latency| latency.count)
}
