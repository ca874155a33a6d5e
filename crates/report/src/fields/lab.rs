//! Fields that only one experiment's rows have.

use std::collections::BTreeMap;

use iostrata_core::atime::{AtimeRow, LoopRow, Moved, TouchRow};
use iostrata_core::buffering::{BufferingRow, Memory, PerWrite};
use iostrata_core::bytes::grouped;
use iostrata_core::copy::{self, CopyRow, Measure};
use iostrata_core::evidence::CallCount;
use iostrata_core::page_cache::{PageCacheRow, Percentiles};
use iostrata_core::sync::{Bucket, Latency, PerSync, Second, SyncRow};

use super::{Fields, Group, Quantity};
use crate::format::{number, rate};
use crate::view::cell::Cell;
use crate::view::page::GLUE;

pub(crate) fn buffering<'a>() -> Fields<'a, &'a BufferingRow> {
    Fields::<&'a BufferingRow>::new()
        .within("per_write_", per_write(), |row| Some(&row.per_write))
        .words(Group::Times, "system calls", |row| {
            Cell::seen(row.row.evidence.syscalls.as_ref(), calls)
        })
        .within("memory_before_", memory(), |row| {
            Some(&row.memory.as_ref()?.before)
        })
        .within("memory_after_", memory(), |row| {
            Some(&row.memory.as_ref()?.after)
        })
}

fn per_write<'a>() -> Fields<'a, &'a PerWrite> {
    use Quantity::{Figure, Microseconds, Rate, Times};
    let before = Fields::<&'a PerWrite>::new()
        .real("real_s", |each| each.real_s)
        .shown(Group::Cost, "real µs", Microseconds)
        .real("writes_per_s", |each| each.writes_per_s)
        .shown(Group::Times, "writes/s", Figure)
        .rank(2)
        .real("bytes_per_syscall", |each| each.bytes_per_syscall)
        .shown(Group::Times, "B/call", Rate)
        .rank(3)
        .real("dirtied_pages", |each| each.dirtied_pages)
        .shown(Group::Counts, "pages", Rate)
        .rank(2);
    by_cause(
        before,
        [
            |each| each.data,
            |each| each.journal,
            |each| each.commit,
            |each| each.metadata,
            |each| each.unknown,
            |each| each.flushes,
        ],
    )
    .real("device_bytes", |each| each.device_bytes)
    .shown(Group::Shared, "device B", Figure)
    .rank(3)
    .real("amplification", |each| each.amplification)
    .shown(Group::Shared, "bytes ×", Times)
    .real("unpaid_bytes", |each| each.unpaid_bytes)
    .shown(Group::Unpaid, "unpaid B", Figure)
    .rank(1)
}

/// Writes to the device, by cause, and flushes.
fn by_cause<'a, T>(
    before: Fields<'a, &'a T>,
    each: [fn(&T) -> Option<f64>; 6],
) -> Fields<'a, &'a T> {
    const CAUSES: [&str; 6] = [
        "data", "journal", "commit", "metadata", "unknown", "flushes",
    ];
    CAUSES
        .into_iter()
        .zip(each)
        .fold(before, |fields, (cause, pick)| {
            let fields = fields.real(cause, move |row| pick(row));
            usual_unless_unknown(fields.shown(Group::Shared, cause, Quantity::Rate), cause)
        })
}

/// `2,000 write, fsync`: calls that move bytes first; equal counts are printed once.
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

fn memory<'a>() -> Fields<'a, &'a Memory> {
    Fields::<&'a Memory>::new()
        .count("dirty_bytes", |memory| memory.dirty_bytes)
        .count("writeback_bytes", |memory| memory.writeback_bytes)
        .count("buffers_bytes", |memory| memory.buffers_bytes)
        .count("cache_bytes", |memory| memory.cache_bytes)
        .count("device_pages_bytes", |memory| memory.device_pages_bytes)
}

pub(crate) fn page_cache<'a>() -> Fields<'a, &'a PageCacheRow> {
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

/// Head of spreads; their meaning is in the rows of the table.
pub(crate) const SPREAD: &str = "spread";

pub(crate) fn sync<'a>() -> Fields<'a, &'a SyncRow> {
    use Quantity::Figure;
    Fields::<&'a SyncRow>::new()
        .count("syncs_per_run", |row| row.syncs_per_run)
        .real("syncs_per_s", |row| row.syncs_per_s)
        .shown(Group::Times, "syncs/s", Figure)
        .shown(Group::Compared, "syncs/s", Figure)
        .words(Group::Times, SPREAD, |row| rates(row))
        .rank(1)
        .real("syncs_low_per_s", |row| Some(row.syncs_per_s_interval?.0))
        .real("syncs_high_per_s", |row| Some(row.syncs_per_s_interval?.1))
        .count("observed_syncs", |row| row.observed_syncs)
        .flag("steady", |row| Some(row.series.steadiness?.steady))
        .count("warm_up_seconds", |row| {
            Some(row.series.steadiness?.warm_up_seconds as u64)
        })
        .real("steady_syncs_per_s", |row| {
            Some(row.series.steadiness?.mean_per_s)
        })
        .within("latency_", latency(), |row| Some(&row.latency_s))
        .within("per_sync_", per_sync(), |row| Some(&row.per_sync))
}

fn rates(row: &SyncRow) -> Cell {
    let runs = row.row.timing.as_ref().map(|timing| timing.samples_s.len());
    match runs {
        // A single run has no spread.
        Some(0 | 1) => Cell::NotApplicable,
        _ => Cell::seen(row.syncs_per_s_interval, |(low, high)| {
            format!("{}–{}", number(low), number(high))
        }),
    }
}

fn latency<'a>() -> Fields<'a, &'a Latency> {
    use Quantity::Microseconds;
    Fields::<&'a Latency>::new()
        .real("p50_s", |latency| latency.p50)
        .shown(Group::Times, "p50 µs", Microseconds)
        .shown(Group::Compared, "p50 µs", Microseconds)
        .rank(2)
        .real("p90_s", |latency| latency.p90)
        .shown(Group::Times, "p90", Microseconds)
        .rank(2)
        .real("p99_s", |latency| latency.p99)
        .shown(Group::Times, "p99", Microseconds)
        .shown(Group::Compared, "p99", Microseconds)
        .rank(5)
        .real("p999_s", |latency| latency.p999)
        .shown(Group::Times, "p99.9", Microseconds)
        .real("max_s", |latency| latency.max)
        .shown(Group::Times, "max", Microseconds)
        .count("count", |latency| latency.samples)
}

fn per_sync<'a>() -> Fields<'a, &'a PerSync> {
    use Quantity::{Figure, Rate};
    by_cause(
        Fields::<&'a PerSync>::new(),
        [
            |each| each.data,
            |each| each.journal,
            |each| each.commit,
            |each| each.metadata,
            |each| each.unknown,
            |each| each.flushes,
        ],
    )
    .real("bytes", |each| each.bytes)
    .shown(Group::Shared, "bytes", Figure)
    .rank(3)
    .real("reads", |each| each.reads)
    .shown(Group::Shared, "reads", Rate)
    .rank(4)
    .unusual()
}

/// Syncs by their latency.
pub(crate) fn bucket<'a>() -> Fields<'a, &'a Bucket> {
    Fields::<&'a Bucket>::new()
        .count("upto_ns", |bucket| bucket.upto_ns)
        .count("syncs", |bucket| bucket.count)
}

/// A second of an observed run: syncs, and the device requests.
pub(crate) fn second<'a>() -> Fields<'a, &'a Second> {
    type Counted = fn(&Second) -> Option<u64>;
    let counted: [(&str, &str, Counted); 7] = [
        ("syncs", "syncs/s", |second| Some(second.syncs)),
        ("data", "data/s", |second| second.data),
        ("journal", "journal/s", |second| second.journal),
        ("commit", "commit/s", |second| second.commit),
        ("metadata", "metadata/s", |second| second.metadata),
        ("unknown", "unknown/s", |second| second.unknown),
        ("flushes", "flushes/s", |second| second.flushes),
    ];
    let lasted = Fields::<&'a Second>::new().real("lasted_s", |second| second.lasted_s);
    counted
        .into_iter()
        .fold(lasted, |fields, (name, head, pick)| {
            let fields = fields.count(name, move |second| pick(second)).shown_as(
                Group::Seconds,
                head,
                move |second| Cell::seen(pick(second), |count| number(second.per_s(count))),
            );
            usual_unless_unknown(fields, name)
        })
}

/// Usually every cause is known.
fn usual_unless_unknown<'a, T>(fields: Fields<'a, &'a T>, cause: &str) -> Fields<'a, &'a T> {
    match cause {
        "unknown" => fields.unusual(),
        _ => fields,
    }
}

pub(crate) fn atime<'a>() -> Fields<'a, &'a AtimeRow> {
    Fields::<&'a AtimeRow>::new()
        .within("", touch(), |row| match row {
            AtimeRow::Touch(row) => Some(row.as_ref()),
            AtimeRow::Loop(_) => None,
        })
        .within("", cost(), |row| match row {
            AtimeRow::Touch(_) => None,
            AtimeRow::Loop(row) => Some(row.as_ref()),
        })
}

fn touch<'a>() -> Fields<'a, &'a TouchRow> {
    let directory = Fields::<&'a Moved>::new()
        .flag("changed", |moved| moved.due)
        .flag("changed_when_fresh", |moved| moved.fresh);
    Fields::<&'a TouchRow>::new()
        .named("subject", |row| Some(row.subject))
        .flag("atime_changed", |row| row.atime_changed)
        .flag("atime_changed_when_fresh", |row| {
            row.atime_changed_when_fresh
        })
        .within("directory_atime_", directory, |row| row.directory.as_ref())
}

fn cost<'a>() -> Fields<'a, &'a LoopRow> {
    Fields::<&'a LoopRow>::new()
        .real("mean_s", |row| Some(row.spread?.mean_s))
        .real("standard_deviation_s", |row| {
            Some(row.spread?.standard_deviation_s)
        })
        .count("sectors", |row| row.sectors)
}

pub(crate) fn copy<'a>() -> Fields<'a, &'a CopyRow> {
    use Quantity::{Count, Mebibytes, MebibytesPerSecond, Milliseconds, Rate};
    Fields::<&'a CopyRow>::new()
        .flag("verified", |row| row.verified)
        .real("bytes_per_s", |row| row.figures.bytes_per_s)
        .shown(Group::Times, "MiB/s", MebibytesPerSecond)
        .words(Group::Times, "of limit", |row| limit(row))
        .count("calls", |row| row.figures.calls)
        .shown(Group::Counts, "calls", Count)
        .count("errors", |row| row.figures.errors)
        .shown(Group::Counts, "errors", Count)
        .rank(2)
        .real("in_calls_s", |row| row.figures.in_calls_s)
        .shown(Group::Counts, "in calls ms", Milliseconds)
        .rank(1)
        .count("faults", |row| row.figures.faults)
        .shown(Group::Counts, "faults", Count)
        .count("user_bytes", |row| row.figures.user_bytes)
        .real("", |row| {
            Some(row.figures.user_bytes? as f64 / row.row.case.size_bytes as f64)
        })
        .shown(Group::Counts, "user ×", Rate)
        .count("device_bytes", |row| row.figures.device_bytes)
        .shown(Group::Counts, "device MiB", Mebibytes)
        .count("unpaid_bytes", |row| row.figures.unpaid_bytes)
        .shown(Group::Counts, "unpaid MiB", Mebibytes)
        .count("data_bytes", |row| row.figures.data_bytes)
        .flag("is_shared", |row| row.figures.is_shared)
        .named("limit_measure", |row| Some(row.figures.limit?.measure))
        .real("limit_s", |row| Some(row.figures.limit?.time_s))
        .real("limit_share", |row| Some(row.figures.limit?.share))
}

/// `62 % memory`.
fn limit(row: &CopyRow) -> Cell {
    let figures = &row.figures;
    if row.row.case.method == copy::Method::Reflink || figures.is_shared == Some(true) {
        return Cell::NotApplicable;
    }
    // Results of earlier versions contain such shares.
    if figures.limit.is_some_and(|limit| limit.share > 1.0) {
        return Cell::NotSeen;
    }
    Cell::seen(figures.limit, |limit| {
        let step = match limit.measure {
            Measure::MemoryCopy => "memory",
            Measure::DeviceRead => "reading",
            Measure::DeviceWrite => "writing",
            other => other.as_str(),
        };
        format!("{} % {step}", number(limit.share * 100.0))
    })
}
