//! Fields of the rows of each experiment besides the common ones.

use iostrata_core::atime::{AtimeRow, LoopRow, Moved, Spread, TouchRow};
use iostrata_core::buffering::{BufferingRow, Memory, MemoryChange, PerWrite};
use iostrata_core::bytes::grouped;
use iostrata_core::copy::{CopyMethod, CopyRow, Measure};
use iostrata_core::evidence::{CallCounts, Cause, RequestsPer};
use iostrata_core::page_cache::{PageCacheRow, Percentiles};
use iostrata_core::sync::{Bucket, Latency, PerSync, Second, SyncRow};

use super::{Fields, Group, Quantity, columns, json_name};
use crate::format::{number, rate};
use crate::view::page::GLUE;
use crate::view::table::Cell;

/// Requests that write to the device, by cause, and flushes. Usually every cause is known.
fn requests<'a>() -> Fields<'a, &'a RequestsPer<f64>> {
    let causes = RequestsPer::<f64>::default().each().into_iter();
    causes.fold(Fields::new(), |fields, (cause, _)| {
        let field = fields
            .field(cause.name(), move |per: &&'a RequestsPer<f64>| {
                per.of(cause)
            })
            .shown(Group::Shared, cause.name(), Quantity::Rate);
        if cause == Cause::Unknown {
            field.unusual()
        } else {
            field
        }
    })
}

/// Head of spreads; a table has what they are in its rows.
pub(crate) const SPREAD: &str = "spread";

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
        .field("changed", |moved| moved.due)
        .field("changed_when_fresh", |moved| moved.fresh);
    columns!(
        Fields::<&'a TouchRow>::new();
        text: subject;
        values: atime_changed atime_changed_when_fresh;
    )
    .within("directory_atime_", directory, |row| row.directory.as_ref())
}

fn cost<'a>() -> Fields<'a, &'a LoopRow> {
    let spread = columns!(Fields::<Spread>::new(); values: mean_s standard_deviation_s;);
    Fields::<&'a LoopRow>::new()
        .within("", spread, |row| row.spread)
        .field("sectors", |row| row.sectors)
}

pub(crate) fn buffering<'a>() -> Fields<'a, &'a BufferingRow> {
    let memory = columns!(Fields::<&'a MemoryChange>::new(); [memory()]: before after;);
    columns!(Fields::<&'a BufferingRow>::new(); [per_write()]: per_write;)
        .words(Group::Times, "system calls", |row| {
            Cell::seen(row.row.evidence.syscalls.as_ref(), calls)
        })
        .within("memory_", memory, |row| row.memory.as_ref())
}

fn per_write<'a>() -> Fields<'a, &'a PerWrite> {
    use Quantity::{Figure, Microseconds, Rate, Times};
    let before = Fields::<&'a PerWrite>::new()
        .field("real_s", |each| each.real_s)
        .shown(Group::Cost, "real µs", Microseconds)
        .field("writes_per_s", |each| each.writes_per_s)
        .shown(Group::Times, "writes/s", Figure)
        .rank(2)
        .field("bytes_per_syscall", |each| each.bytes_per_syscall)
        .shown(Group::Times, "B/call", Rate)
        .rank(3)
        .field("dirtied_pages", |each| each.dirtied_pages)
        .shown(Group::Counts, "pages", Rate)
        .rank(2);
    before
        .within("", requests(), |each| Some(&each.requests))
        .field("device_bytes", |each| each.device_bytes)
        .shown(Group::Shared, "device B", Figure)
        .rank(3)
        .field("amplification", |each| each.amplification)
        .shown(Group::Shared, "bytes ×", Times)
        .field("unpaid_bytes", |each| each.unpaid_bytes)
        .shown(Group::Unpaid, "later B", Figure)
        .rank(1)
}

/// `2,000 write, fsync`: calls that move bytes first; equal counts are said once.
fn calls(seen: &CallCounts) -> String {
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
    match texts.as_slice() {
        [] => "none".to_owned(),
        texts => texts.join(", "),
    }
}

fn memory<'a>() -> Fields<'a, &'a Memory> {
    columns!(
        Fields::<&'a Memory>::new();
        values: dirty_bytes writeback_bytes buffers_bytes cache_bytes device_pages_bytes;
    )
}

pub(crate) fn copy<'a>() -> Fields<'a, &'a CopyRow> {
    use Quantity::{Count, Mebibytes, MebibytesPerSecond, Milliseconds, Rate};
    Fields::<&'a CopyRow>::new()
        .field("verified", |row| row.verified)
        .field("bytes_per_s", |row| row.figures.bytes_per_s)
        .shown(Group::Times, "MiB/s", MebibytesPerSecond)
        .words(Group::Times, "of limit", |row| limit(row))
        .field("calls", |row| row.figures.calls)
        .shown(Group::Counts, "calls", Count)
        .field("errors", |row| row.figures.errors)
        .shown(Group::Counts, "errors", Count)
        .rank(2)
        .field("in_calls_s", |row| row.figures.in_calls_s)
        .shown(Group::Counts, "in calls ms", Milliseconds)
        .rank(1)
        .field("faults", |row| row.figures.faults)
        .shown(Group::Counts, "faults", Count)
        .field("user_bytes", |row| row.figures.user_bytes)
        .figure(Group::Counts, "user ×", Rate, |row| {
            Some(row.figures.user_bytes? as f64 / row.row.case.size_bytes as f64)
        })
        .field("device_bytes", |row| row.figures.device_bytes)
        .shown(Group::Counts, "device MiB", Mebibytes)
        .field("unpaid_bytes", |row| row.figures.unpaid_bytes)
        .shown(Group::Counts, "later MiB", Mebibytes)
        .field("data_bytes", |row| row.figures.data_bytes)
        .field("is_shared", |row| row.figures.is_shared)
        .field("limit_measure", |row| {
            json_name(&row.figures.limit?.measure)
        })
        .field("limit_s", |row| Some(row.figures.limit?.time_s))
        .field("limit_share", |row| Some(row.figures.limit?.share))
}

/// `62 % memory`.
fn limit(row: &CopyRow) -> Cell {
    let figures = &row.figures;
    if row.row.case.method == CopyMethod::Reflink || figures.is_shared == Some(true) {
        return Cell::NotApplicable;
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

pub(crate) fn page_cache<'a>() -> Fields<'a, &'a PageCacheRow> {
    use Quantity::{Count, Mebibytes, MebibytesPerSecond, Microseconds};
    let read = columns!(
        Fields::<&'a PageCacheRow>::new();
        text: asked_state not_as_asked;
        values: read_bytes storage_read_bytes;
    );
    read.field("bytes_per_s", |row| row.figures.bytes_per_s)
        .shown(Group::Times, "MiB/s", MebibytesPerSecond)
        .rank(3)
        .field("resident_before_share", |row| {
            row.figures.resident_before_share
        })
        .field("resident_after_share", |row| {
            row.figures.resident_after_share
        })
        .words(Group::Times, "cached %", |row| {
            Cell::seen(cached(row), |text| text)
        })
        .figure(Group::Times, "device", Count, |row| {
            Some(row.row.evidence.exact_device()?.reads.count)
        })
        .figure(Group::Times, "MiB", Mebibytes, |row| {
            row.device_read_bytes()
        })
        .figure(Group::Times, "waited", Count, |row| {
            row.row.evidence.cache.missed_pages
        })
        .rank(2)
        .figure(Group::Times, "ahead", Count, |row| {
            row.row.evidence.cache.prefetched_pages
        })
        .rank(2)
        .field("copy_estimate_s", |row| row.figures.spent.copy_estimate_s)
        .shown(Group::Counts, "≈ copy", Microseconds)
        .field("faults_estimate_s", |row| {
            row.figures.spent.faults_estimate_s
        })
        .shown(Group::Counts, "≈ faults", Microseconds)
        .field("fault_s", |row| row.figures.spent.fault_s)
        .field("spent_blocked_s", |row| row.figures.spent.blocked_s)
        .shown(Group::Counts, "blocked", Microseconds)
        .figure(Group::Counts, "on CPU", Microseconds, |row| {
            row.row.evidence.on_cpu_s
        })
        .figure(Group::Counts, "memory copy", Microseconds, |row| {
            Some(row.memory_copy.as_ref()?.median_s)
        })
        .rank(1)
        .figure(Group::Counts, "minor faults", Count, |row| {
            row.row.evidence.faults.minor
        })
        .figure(Group::Counts, "major", Count, |row| {
            row.row.evidence.faults.major
        })
        .figure(Group::Latencies, "reads", Count, |row| {
            Some(row.latency_s?.count)
        })
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
        .field("p50_s", |latency| latency.p50)
        .shown(Group::Latencies, "p50", Microseconds)
        .field("p90_s", |latency| latency.p90)
        .shown(Group::Latencies, "p90", Microseconds)
        .field("p99_s", |latency| latency.p99)
        .shown(Group::Latencies, "p99", Microseconds)
        .field("p999_s", |latency| latency.p999)
        .shown(Group::Latencies, "p99.9", Microseconds)
        .field("max_s", |latency| latency.max)
        .shown(Group::Latencies, "max", Microseconds)
        .field("count", |latency| latency.count)
}

pub(crate) fn sync<'a>() -> Fields<'a, &'a SyncRow> {
    use Quantity::Figure;
    Fields::<&'a SyncRow>::new()
        .field("syncs_per_run", |row| row.syncs_per_run)
        .field("syncs_per_s", |row| row.syncs_per_s)
        .shown(Group::Times, "syncs/s", Figure)
        .shown(Group::Compared, "syncs/s", Figure)
        .words(Group::Times, SPREAD, |row| rates(row))
        .rank(1)
        .field("syncs_low_per_s", |row| Some(row.syncs_per_s_interval?.0))
        .field("syncs_high_per_s", |row| Some(row.syncs_per_s_interval?.1))
        .field("observed_syncs", |row| row.observed_syncs)
        .field("steady", |row| Some(row.series.steadiness?.steady))
        .field("warm_up_seconds", |row| {
            Some(row.series.steadiness?.warm_up_seconds as u64)
        })
        .field("steady_syncs_per_s", |row| {
            Some(row.series.steadiness?.mean_per_s)
        })
        .within("latency_", latency(), |row| Some(&row.latency_s))
        .within("per_sync_", per_sync(), |row| Some(&row.per_sync))
}

fn rates(row: &SyncRow) -> Cell {
    let runs = row.row.timing.as_ref().map(|timing| timing.samples_s.len());
    match runs {
        // One run has no spread.
        Some(0 | 1) => Cell::NotApplicable,
        _ => Cell::seen(row.syncs_per_s_interval, |(low, high)| {
            format!("{}–{}", number(low), number(high))
        }),
    }
}

fn latency<'a>() -> Fields<'a, &'a Latency> {
    use Quantity::Microseconds;
    Fields::<&'a Latency>::new()
        .field("p50_s", |latency| latency.p50)
        .shown(Group::Times, "p50 µs", Microseconds)
        .shown(Group::Compared, "p50 µs", Microseconds)
        .rank(2)
        .field("p90_s", |latency| latency.p90)
        .shown(Group::Times, "p90", Microseconds)
        .rank(2)
        .field("p99_s", |latency| latency.p99)
        .shown(Group::Times, "p99", Microseconds)
        .shown(Group::Compared, "p99", Microseconds)
        .rank(5)
        .field("p999_s", |latency| latency.p999)
        .shown(Group::Times, "p99.9", Microseconds)
        .field("max_s", |latency| latency.max)
        .shown(Group::Times, "max", Microseconds)
        .field("count", |latency| latency.samples)
}

fn per_sync<'a>() -> Fields<'a, &'a PerSync> {
    use Quantity::{Figure, Rate};
    Fields::<&'a PerSync>::new()
        .within("", requests(), |each| Some(&each.requests))
        .field("bytes", |each| each.bytes)
        .shown(Group::Shared, "bytes", Figure)
        .rank(3)
        .field("reads", |each| each.reads)
        .shown(Group::Shared, "reads", Rate)
        .rank(4)
        .unusual()
}

pub(crate) fn bucket<'a>() -> Fields<'a, &'a Bucket> {
    Fields::<&'a Bucket>::new()
        .field("upto_ns", |bucket| bucket.upto_ns)
        .field("syncs", |bucket| bucket.count)
}

pub(crate) fn second<'a>() -> Fields<'a, &'a Second> {
    let per_s = |second: &&'a Second, count: Option<u64>| {
        Cell::seen(count, |count| number(second.per_s(count)))
    };
    let counted = Fields::<&'a Second>::new()
        .field("lasted_s", |second| second.lasted_s)
        .field("syncs", |second| second.syncs)
        .shown_as(Group::Seconds, "syncs/s", move |second| {
            per_s(second, Some(second.syncs))
        });
    let causes = RequestsPer::<u64>::default().each().into_iter();
    causes.fold(counted, |fields, (cause, _)| {
        let count = move |second: &&'a Second| second.requests.of(cause);
        let head = format!("{}/s", cause.name());
        let shown =
            fields
                .field(cause.name(), count)
                .shown_as(Group::Seconds, head, move |second| {
                    per_s(second, count(second))
                });
        if cause == Cause::Unknown {
            shown.unusual()
        } else {
            shown
        }
    })
}
