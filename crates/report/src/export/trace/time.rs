//! When calls were made and requests issued, and how long calls took.

use iostrata_core::trace::timeline::Timeline;
use iostrata_core::trace::{CallRow, TraceResult};

use super::Numbered;
use crate::export::column::{Columns, json_name};
use crate::export::table::Table;

/// Calls by the power of two of the nanoseconds they took; those without any are left out.
pub(super) fn call_times<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    type Took<'a> = (u64, &'a CallRow, u32, u64);
    let columns = Columns::<Took<'a>>::new()
        .count("result", |row| row.0)
        .text("name", |row| &row.1.name)
        .count("at_least_ns", |row| 1_u64.checked_shl(row.2))
        .count("count", |row| row.3);
    let rows = results.iter().flat_map(|(number, result)| {
        let calls = result.syscalls.iter();
        calls.flat_map(move |call| {
            let took = call.took.iter().zip(0..).filter(|(count, _)| **count > 0);
            took.map(move |(count, power)| (*number, call, power, *count))
        })
    });
    Table::new("call_times", columns, rows)
}

/// What was counted in one bucket.
#[derive(Clone)]
struct Counted {
    what: &'static str,
    kind: Option<String>,
    bucket: usize,
    count: u64,
    bytes: Option<u64>,
    time_s: Option<f64>,
}

/// Buckets in which something was; all others are left out.
pub(super) fn timeline<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    type Bucket<'a> = (u64, &'a Timeline, Counted);
    let columns = Columns::<Bucket<'a>>::new()
        .count("result", |row| row.0)
        .text("what", |row| row.2.what)
        .made_text("kind", |row| row.2.kind.clone())
        .count("bucket", |row| row.2.bucket as u64)
        .real("start_s", |row| row.1.bucket_s * row.2.bucket as f64)
        .real("length_s", |row| row.1.bucket_s)
        .count("count", |row| row.2.count)
        .count("bytes", |row| row.2.bytes)
        .real("time_s", |row| row.2.time_s)
        .flag("shared", |row| row.1.shared);
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
    for series in &line.calls {
        let rest = series.bytes.iter().zip(&series.time_s);
        for (bucket, (count, (bytes, time_s))) in series.counts.iter().zip(rest).enumerate() {
            all.push(Counted {
                what: "call",
                kind: json_name(&series.group),
                bucket,
                count: *count,
                bytes: Some(*bytes),
                time_s: Some(*time_s),
            });
        }
    }
    for series in line.requests.iter().flatten() {
        for (bucket, (count, bytes)) in series.counts.iter().zip(&series.bytes).enumerate() {
            all.push(Counted {
                what: "request",
                kind: json_name(&series.cause),
                bucket,
                count: *count,
                bytes: Some(*bytes),
                time_s: None,
            });
        }
    }
    for (bucket, count) in line.flushes.iter().flatten().enumerate() {
        all.push(Counted {
            what: "flush",
            kind: None,
            bucket,
            count: *count,
            bytes: None,
            time_s: None,
        });
    }
    all.retain(|one| one.count > 0);
    all
}
