//! The times in a result of `trace`: lifetimes of threads, sums over buckets, and the first moments
//! of occurrences on each file.

use std::io;

use iostrata_core::trace::timeline::Timeline;
use iostrata_core::trace::{FileHistory, FileRow, Happened, TaskRow, TraceResult};

use super::event::{Args, Event, Events, Phase};
use crate::export::ticks;
use crate::fields::json_name;

/// Events without a process belong to a pseudo-process, with an id that no real one can have
/// (`PID_MAX_LIMIT`, include/linux/threads.h).
const WHOLE_RUN: u32 = 1 << 22;

/// Its thread for occurrences on files.
const FILES: u32 = WHOLE_RUN + 1;

pub(super) fn write(result: &TraceResult, events: &mut Events<'_>) -> io::Result<()> {
    let run = format!("the run: {}", result.command.join(" "));
    name("process_name", WHOLE_RUN, WHOLE_RUN, &run, events)?;
    for task in &result.tasks {
        let (process, thread) = (task.process, task.thread);
        if thread == process {
            name("process_name", process, thread, &task.name, events)?;
        }
        name("thread_name", process, thread, &task.name, events)?;
    }
    for task in &result.tasks {
        life(result, task, events)?;
    }
    if let Some(line) = &result.timeline {
        counters(line, result.started_ns, events)?;
    }
    dirty_at_exit(result, events)?;
    moments(result, events)
}

fn name(
    what: &'static str,
    process: u32,
    thread: u32,
    name: &str,
    events: &mut Events<'_>,
) -> io::Result<()> {
    let args = Args::default().with("name", Some(name));
    let event = Event::new(Phase::Name, what, process, thread);
    events.add(&Event { args, ..event })
}

/// From start to end of a thread; without an end if it outlived the observation. A slice on its own
/// track: on the thread's track it would have to contain all calls of a log.
fn life(result: &TraceResult, task: &TaskRow, events: &mut Events<'_>) -> io::Result<()> {
    let at_ns = |seconds: f64| result.started_ns.saturating_add(ticks(seconds, 1e9));
    let begin = Event {
        category: "thread",
        at_ns: Some(at_ns(task.started_s)),
        id: Some(u64::from(task.thread)),
        args: Args::default()
            .with("calls", Some(task.calls))
            .with("time_s", Some(task.time_s))
            .with("blocked_s", task.blocked_s)
            .with("on_cpu_s", task.on_cpu_s)
            .with("read_bytes", Some(task.read_bytes))
            .with("written_bytes", Some(task.written_bytes)),
        ..Event::new(Phase::Begin, &task.name, task.process, task.thread)
    };
    events.add(&begin)?;
    let Some(ended_s) = task.ended_s else {
        return Ok(());
    };
    events.add(&Event {
        phase: Phase::End,
        at_ns: Some(at_ns(ended_s.max(task.started_s))),
        args: Args::default(),
        ..begin
    })
}

/// Sums over the buckets of the timeline, as rates: a value holds for its bucket.
fn counters(line: &Timeline, started_ns: u64, events: &mut Events<'_>) -> io::Result<()> {
    let mut series: Vec<(String, &'static str, &[u64])> = Vec::new();
    for calls in &line.calls {
        let of = json_name(&calls.group).unwrap_or_default();
        series.push((format!("{of} calls: bytes/s"), "bytes_per_s", &calls.bytes));
        series.push((format!("{of} calls: calls/s"), "calls_per_s", &calls.counts));
    }
    let shared = if line.shared {
        " (other programs' may be among them)"
    } else {
        ""
    };
    for requests in line.requests.iter().flatten() {
        let of = json_name(&requests.cause).unwrap_or_default();
        let name = |what: &str| format!("device {of}: {what}{shared}");
        series.push((name("bytes/s"), "bytes_per_s", &requests.bytes));
        series.push((name("requests/s"), "requests_per_s", &requests.counts));
    }
    if let Some(flushes) = &line.flushes {
        let name = format!("device: flushes/s{shared}");
        series.push((name, "flushes_per_s", flushes));
    }
    let moves = |values: &[u64]| values.iter().any(|value| *value > 0);
    for (name, unit, values) in series.iter().filter(|(_, _, values)| moves(values)) {
        let mut before = None;
        for (value, bucket) in values.iter().zip(0_u32..) {
            // A value holds until the next.
            if before.replace(value) == Some(value) {
                continue;
            }
            let at_ns = started_ns.saturating_add(ticks(line.bucket_s * f64::from(bucket), 1e9));
            counter(name, unit, *value as f64 / line.bucket_s, at_ns, events)?;
        }
    }
    Ok(())
}

fn counter(
    name: &str,
    unit: &str,
    value: f64,
    at_ns: u64,
    events: &mut Events<'_>,
) -> io::Result<()> {
    events.add(&Event {
        at_ns: Some(at_ns),
        args: Args::default().with(unit, Some(value)),
        ..Event::new(Phase::Counter, name, WHOLE_RUN, WHOLE_RUN)
    })
}

/// Dirty bytes are known only at the end.
fn dirty_at_exit(result: &TraceResult, events: &mut Events<'_>) -> io::Result<()> {
    let Some(bytes) = result.bytes.dirty_at_exit_bytes else {
        return Ok(());
    };
    let at_ns = result.started_ns.saturating_add(ticks(result.wall_s, 1e9));
    counter("dirty at exit: bytes", "bytes", bytes as f64, at_ns, events)
}

/// The first moments of occurrences on each file. The thread is not recorded.
fn moments(result: &TraceResult, events: &mut Events<'_>) -> io::Result<()> {
    let mut all: Vec<(u64, &'static str, &FileRow)> = Vec::new();
    for file in &result.files {
        for (what, happened) in file.history.iter().flat_map(|history| happened(history)) {
            all.extend(happened.first_ns.iter().map(|at_ns| (*at_ns, what, file)));
        }
    }
    if all.is_empty() {
        return Ok(());
    }
    all.sort_by_key(|(at_ns, what, _)| (*at_ns, *what));
    let title = "files: first moments";
    name("thread_name", WHOLE_RUN, FILES, title, events)?;
    for (at_ns, what, file) in all {
        events.add(&Event {
            category: "file",
            at_ns: Some(at_ns),
            args: Args::default()
                .with("path", Some(file.path.as_str()))
                .with("path_hex", file.path_hex.as_deref()),
            ..Event::new(Phase::Instant, what, WHOLE_RUN, FILES)
        })?;
    }
    Ok(())
}

/// The occurrences with moments, by their name in the JSON.
fn happened(history: &FileHistory) -> [(&'static str, &Happened); 10] {
    [
        ("acknowledged", &history.acknowledged),
        ("closed_unsynced", &history.closed_unsynced),
        ("emptied", &history.emptied),
        ("failed_syncs", &history.failed_syncs),
        ("hints", &history.hints),
        ("mapped_to_write", &history.mapped_to_write),
        ("overwritten", &history.overwritten),
        ("removed", &history.removed),
        ("renamed_unsynced", &history.renamed_unsynced),
        ("syncs", &history.syncs),
    ]
}
