//! What the rows of one experiment have and those of the others have not.

use iostrata_core::atime::{AtimeRow, LoopRow, Moved, TouchRow};
use iostrata_core::buffering::{BufferingRow, Memory, PerWrite};
use iostrata_core::copy::CopyRow;
use iostrata_core::page_cache::{PageCacheRow, Percentiles};
use iostrata_core::sync::{Bucket, Latency, PerSync, Second, SyncRow};

use super::super::column::Columns;
use super::super::table::Table;
use super::{LabRow, Numbered, Whole, keys, rows};

/// A table for each experiment.
pub(super) fn tables<'a>(results: &'a Numbered<'a>) -> Vec<Table<'a>> {
    vec![
        table("buffering", results, buffering(), |whole| match whole {
            Whole::Buffering(row) => Some(row),
            _ => None,
        }),
        table("page_cache", results, page_cache(), |whole| match whole {
            Whole::PageCache(row) => Some(row),
            _ => None,
        }),
        table("sync", results, sync(), |whole| match whole {
            Whole::Sync(row) => Some(row),
            _ => None,
        }),
        table("atime", results, atime(), |whole| match whole {
            Whole::Atime(row) => Some(row),
            _ => None,
        }),
        table("copy", results, copy(), |whole| match whole {
            Whole::Copy(row) => Some(row),
            _ => None,
        }),
        latencies(results),
        seconds(results),
    ]
}

/// A table of the rows that `pick` has something of.
fn table<'a, T: 'a>(
    name: &'static str,
    results: &'a Numbered<'a>,
    figures: Columns<'a, &'a T>,
    pick: fn(Whole<'a>) -> Option<&'a T>,
) -> Table<'a> {
    let columns = Columns::<(LabRow<'a>, &'a T)>::new()
        .within("", keys(), |(row, _)| Some(row.clone()))
        .within("", figures, |(_, whole)| Some(*whole));
    let all = results
        .iter()
        .flat_map(|(number, result)| rows(*number, result));
    let rows = all.filter_map(move |row| {
        let whole = pick(row.whole)?;
        Some((row, whole))
    });
    Table::new(name, columns, rows)
}

fn buffering<'a>() -> Columns<'a, &'a BufferingRow> {
    Columns::<&'a BufferingRow>::new()
        .within("per_write_", per_write(), |row| Some(&row.per_write))
        .within("memory_before_", memory(), |row| {
            Some(&row.memory.as_ref()?.before)
        })
        .within("memory_after_", memory(), |row| {
            Some(&row.memory.as_ref()?.after)
        })
}

fn per_write<'a>() -> Columns<'a, &'a PerWrite> {
    Columns::<&'a PerWrite>::new()
        .real("real_s", |each| each.real_s)
        .real("writes_per_s", |each| each.writes_per_s)
        .real("bytes_per_syscall", |each| each.bytes_per_syscall)
        .real("dirtied_pages", |each| each.dirtied_pages)
        .real("data", |each| each.data)
        .real("journal", |each| each.journal)
        .real("commit", |each| each.commit)
        .real("metadata", |each| each.metadata)
        .real("unknown", |each| each.unknown)
        .real("flushes", |each| each.flushes)
        .real("device_bytes", |each| each.device_bytes)
        .real("amplification", |each| each.amplification)
        .real("unpaid_bytes", |each| each.unpaid_bytes)
}

fn memory<'a>() -> Columns<'a, &'a Memory> {
    Columns::<&'a Memory>::new()
        .count("dirty_bytes", |memory| memory.dirty_bytes)
        .count("writeback_bytes", |memory| memory.writeback_bytes)
        .count("buffers_bytes", |memory| memory.buffers_bytes)
        .count("cache_bytes", |memory| memory.cache_bytes)
        .count("device_pages_bytes", |memory| memory.device_pages_bytes)
}

fn page_cache<'a>() -> Columns<'a, &'a PageCacheRow> {
    Columns::<&'a PageCacheRow>::new()
        .text("asked_state", |row| row.asked_state.as_str())
        .maybe_text("not_as_asked", |row| row.not_as_asked.as_deref())
        .count("read_bytes", |row| row.read_bytes)
        .count("storage_read_bytes", |row| row.storage_read_bytes)
        .real("bytes_per_s", |row| row.figures.bytes_per_s)
        .real("resident_before_share", |row| {
            row.figures.resident_before_share
        })
        .real("resident_after_share", |row| {
            row.figures.resident_after_share
        })
        .real("copy_estimate_s", |row| row.figures.spent.copy_estimate_s)
        .real("faults_estimate_s", |row| {
            row.figures.spent.faults_estimate_s
        })
        .real("fault_s", |row| row.figures.spent.fault_s)
        .real("spent_blocked_s", |row| row.figures.spent.blocked_s)
        .within("latency_", percentiles(), |row| row.latency_s.as_ref())
}

fn percentiles<'a>() -> Columns<'a, &'a Percentiles> {
    Columns::<&'a Percentiles>::new()
        .real("p50_s", |latency| latency.p50)
        .real("p90_s", |latency| latency.p90)
        .real("p99_s", |latency| latency.p99)
        .real("p999_s", |latency| latency.p999)
        .real("max_s", |latency| latency.max)
        .count("count", |latency| latency.count)
}

fn sync<'a>() -> Columns<'a, &'a SyncRow> {
    Columns::<&'a SyncRow>::new()
        .count("syncs_per_run", |row| row.syncs_per_run)
        .real("syncs_per_s", |row| row.syncs_per_s)
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

fn latency<'a>() -> Columns<'a, &'a Latency> {
    Columns::<&'a Latency>::new()
        .real("p50_s", |latency| latency.p50)
        .real("p90_s", |latency| latency.p90)
        .real("p99_s", |latency| latency.p99)
        .real("p999_s", |latency| latency.p999)
        .real("max_s", |latency| latency.max)
        .count("count", |latency| latency.samples)
}

fn per_sync<'a>() -> Columns<'a, &'a PerSync> {
    Columns::<&'a PerSync>::new()
        .real("data", |each| each.data)
        .real("journal", |each| each.journal)
        .real("commit", |each| each.commit)
        .real("metadata", |each| each.metadata)
        .real("unknown", |each| each.unknown)
        .real("flushes", |each| each.flushes)
        .real("bytes", |each| each.bytes)
        .real("reads", |each| each.reads)
}

fn atime<'a>() -> Columns<'a, &'a AtimeRow> {
    Columns::<&'a AtimeRow>::new()
        .within("", touch(), |row| match row {
            AtimeRow::Touch(row) => Some(row.as_ref()),
            AtimeRow::Loop(_) => None,
        })
        .within("", cost(), |row| match row {
            AtimeRow::Touch(_) => None,
            AtimeRow::Loop(row) => Some(row.as_ref()),
        })
}

fn touch<'a>() -> Columns<'a, &'a TouchRow> {
    let directory = Columns::<&'a Moved>::new()
        .flag("changed", |moved| moved.due)
        .flag("changed_when_fresh", |moved| moved.fresh);
    Columns::<&'a TouchRow>::new()
        .named("subject", |row| Some(row.subject))
        .flag("atime_changed", |row| row.atime_changed)
        .flag("atime_changed_when_fresh", |row| {
            row.atime_changed_when_fresh
        })
        .within("directory_atime_", directory, |row| row.directory.as_ref())
}

fn cost<'a>() -> Columns<'a, &'a LoopRow> {
    Columns::<&'a LoopRow>::new()
        .real("mean_s", |row| Some(row.spread?.mean_s))
        .real("standard_deviation_s", |row| {
            Some(row.spread?.standard_deviation_s)
        })
        .count("sectors", |row| row.sectors)
}

fn copy<'a>() -> Columns<'a, &'a CopyRow> {
    Columns::<&'a CopyRow>::new()
        .flag("verified", |row| row.verified)
        .real("bytes_per_s", |row| row.figures.bytes_per_s)
        .count("calls", |row| row.figures.calls)
        .count("errors", |row| row.figures.errors)
        .real("in_calls_s", |row| row.figures.in_calls_s)
        .count("faults", |row| row.figures.faults)
        .count("user_bytes", |row| row.figures.user_bytes)
        .count("device_bytes", |row| row.figures.device_bytes)
        .count("unpaid_bytes", |row| row.figures.unpaid_bytes)
        .count("data_bytes", |row| row.figures.data_bytes)
        .flag("is_shared", |row| row.figures.is_shared)
        .named("limit_measure", |row| Some(row.figures.limit?.measure))
        .real("limit_s", |row| Some(row.figures.limit?.time_s))
        .real("limit_share", |row| Some(row.figures.limit?.share))
}

/// The syncs of each row by their latency.
fn latencies<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    let bucket = Columns::<&'a Bucket>::new()
        .count("upto_ns", |bucket| bucket.upto_ns)
        .count("syncs", |bucket| bucket.count);
    parts("sync_latencies", results, bucket, |row| {
        &row.latency_s.buckets
    })
}

/// The observed run of each row second by second.
fn seconds<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    let second = Columns::<&'a Second>::new()
        .real("lasted_s", |second| second.lasted_s)
        .count("syncs", |second| second.syncs)
        .count("data", |second| second.data)
        .count("journal", |second| second.journal)
        .count("commit", |second| second.commit)
        .count("metadata", |second| second.metadata)
        .count("flushes", |second| second.flushes);
    parts("sync_seconds", results, second, |row| &row.series.seconds)
}

/// A table of the parts of each row of `sync`.
fn parts<'a, T: 'a>(
    name: &'static str,
    results: &'a Numbered<'a>,
    part: Columns<'a, &'a T>,
    pick: fn(&'a SyncRow) -> &'a [T],
) -> Table<'a> {
    type PartOf<'a, T> = (LabRow<'a>, u64, &'a T);
    let columns = Columns::<PartOf<'a, T>>::new()
        .within("", keys(), |(row, _, _)| Some(row.clone()))
        .count("part", |(_, place, _)| *place)
        .within("", part, |(_, _, part)| Some(*part));
    let all = results
        .iter()
        .flat_map(|(number, result)| rows(*number, result));
    let parts = all.flat_map(move |row| {
        let parts = match row.whole {
            Whole::Sync(sync) => pick(sync),
            _ => &[],
        };
        let parts = parts.iter().zip(1..);
        parts
            .map(|(part, place)| (row.clone(), place, part))
            .collect::<Vec<_>>()
    });
    Table::new(name, columns, parts)
}
