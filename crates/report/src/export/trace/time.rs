//! Times of calls and requests, and durations of calls.

use iostrata_core::trace::timeline::Timeline;
use iostrata_core::trace::{CallRow, TraceResult};

use super::Numbered;
use crate::export::table::Table;
use crate::fields::{Fields, json_name};

/// Number of calls by the power of two of their nanoseconds; empty buckets are left out.
pub(super) fn call_times<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    type Took<'a> = (u64, &'a CallRow, u32, u64);
    let columns = Fields::<Took<'a>>::new()
        .field("result", |row| row.0)
        .field("name", |row| &row.1.name)
        .field("at_least_ns", |row| 1_u64.checked_shl(row.2))
        .field("count", |row| row.3);
    let rows = results.iter().flat_map(|(number, result)| {
        let calls = result.syscalls.iter();
        calls.flat_map(move |call| {
            let took = call.took.iter().zip(0..).filter(|(count, _)| **count > 0);
            took.map(move |(count, power)| (*number, call, power, *count))
        })
    });
    Table::new("call_times", columns, rows)
}

#[derive(Clone)]
struct Counted {
    what: &'static str,
    kind: Option<String>,
    bucket: usize,
    count: u64,
    bytes: Option<u64>,
    time_s: Option<f64>,
}

/// Non-empty buckets.
pub(super) fn timeline<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    type Bucket<'a> = (u64, &'a Timeline, Counted);
    let columns = Fields::<Bucket<'a>>::new()
        .field("result", |row| row.0)
        .field("what", |row| row.2.what)
        .field("kind", |row| row.2.kind.clone())
        .field("bucket", |row| row.2.bucket as u64)
        .field("start_s", |row| row.1.bucket_s * row.2.bucket as f64)
        .field("length_s", |row| row.1.bucket_s)
        .field("count", |row| row.2.count)
        .field("bytes", |row| row.2.bytes)
        .field("time_s", |row| row.2.time_s)
        .field("shared", |row| row.1.shared);
    let rows = results.iter().flat_map(|(number, result)| {
        let line = |result: &'a TraceResult| result.timeline.as_ref();
        line(result).into_iter().flat_map(move |line| {
            let counted = counted(line).into_iter();
            counted.map(move |one| (*number, line, one))
        })
    });
    Table::new("timeline", columns, rows)
}

fn counted(line: &Timeline) -> Vec<Counted> {
    let mut all = Vec::new();
    let mut add = |what, kind: Option<String>, counts: &[u64], bytes: &[u64], times_s: &[f64]| {
        let happened = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        all.extend(happened.map(|(bucket, count)| Counted {
            what,
            kind: kind.clone(),
            bucket,
            count: *count,
            bytes: bytes.get(bucket).copied(),
            time_s: times_s.get(bucket).copied(),
        }));
    };
    for series in &line.calls {
        let kind = json_name(&series.group);
        add("call", kind, &series.counts, &series.bytes, &series.time_s);
    }
    for series in line.requests.iter().flatten() {
        let kind = json_name(&series.cause);
        add("request", kind, &series.counts, &series.bytes, &[]);
    }
    if let Some(flushes) = &line.flushes {
        add("flush", None, flushes, &[], &[]);
    }
    all
}
