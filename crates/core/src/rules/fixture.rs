//! Results of runs, built by hand for the tests of the rules.
//!
//! By default a run that did nothing for one second; a test states the differences.

use std::time::Duration;

use super::calls::{READS, WRITES};
use super::rule::{Rule, Subject};
use crate::environment::{Backend, Environment, Storage};
use crate::evidence::{CallStats, Evidence, RequestCount};
use crate::trace::{
    CallRow, Descent, Draft, FileCall, FileHistory, FileKind, FileRow, Happened, SCHEMA, Shape,
    Span, TraceResult,
};

/// A run of one second, observed completely, with these files.
pub(super) fn run(files: Vec<FileRow>) -> TraceResult {
    TraceResult {
        schema: SCHEMA.to_owned(),
        environment: environment(),
        command: vec!["program".to_owned()],
        adopted: None,
        attached: None,
        accounts: None,
        recording: None,
        runs: None,
        exit_code: Some(0),
        signal: None,
        started_ns: 0,
        wall_s: 1.0,
        processes: 1,
        threads: 1,
        backend: Backend::Ebpf,
        lost_events: 0,
        evidence: Evidence::default(),
        bytes: Descent::default(),
        timeline: None,
        syscalls: Vec::new(),
        files,
        other_calls: 0,
        audit: Vec::new(),
        summed_files: 0,
        other_requests: None,
        tasks: Vec::new(),
        not_found: Vec::new(),
        directories: Vec::new(),
        findings: Vec::new(),
        missing: Vec::new(),
    }
}

/// A rule that finds nothing by itself.
pub(super) fn rule() -> Rule {
    Rule {
        id: "rule",
        looks_for: "",
        in_short: "mend it",
        advice: "mend it",
        at: Subject::Drafts(|_| Vec::new()),
    }
}

/// An unused regular file on ext4.
pub(super) fn file(path: &str) -> FileRow {
    FileRow {
        path: path.to_owned(),
        path_hex: None,
        renamed_to: None,
        deleted: false,
        kind: FileKind::Regular,
        device: "8:1".to_owned(),
        inode: 12,
        generation: 1,
        filesystem: "ext4".to_owned(),
        size_before_bytes: 0,
        opens: 1,
        reads: CallStats::default(),
        writes: CallStats::default(),
        syncs: CallStats::default(),
        calls: Vec::new(),
        evidence: Evidence::default(),
        dirty_at_exit_bytes: None,
        dirty_at_exit_bytes_shared: None,
        residency: None,
        history: None,
    }
}

/// The same with a history.
pub(super) fn changed(path: &str, history: FileHistory) -> FileRow {
    FileRow {
        history: Some(Box::new(history)),
        ..file(path)
    }
}

/// Calls with one name; `bytes` and `time_s` are totals.
pub(super) fn call(name: &str, count: u64, bytes: u64, time_s: f64) -> CallRow {
    CallRow {
        name: name.to_owned(),
        stats: CallStats {
            count,
            bytes,
            time_s,
            ..CallStats::default()
        },
        ..CallRow::default()
    }
}

/// Calls with one name on one file, without a shape.
pub(super) fn file_call(name: &str, count: u64, bytes: u64, time_s: f64) -> FileCall {
    FileCall {
        row: call(name, count, bytes, time_s),
        is_source: false,
        shape: None,
        sites: Vec::new(),
    }
}

/// Asserts that a rule has one finding, and returns it.
#[track_caller]
pub(super) fn the_only(drafts: Vec<Draft>) -> Draft {
    let [draft] = <[Draft; 1]>::try_from(drafts).expect("one finding");
    assert!(!draft.finding.evidence.is_empty(), "a finding has evidence");
    draft
}

fn environment() -> Environment {
    Environment {
        machine: "vda-2cpu-79c2".to_owned(),
        kernel: "6.18.0".to_owned(),
        cpus: 2,
        cpu_model: None,
        memory_bytes: 4 << 30,
        virtualization: None,
        target: Storage {
            path: "/data".to_owned(),
            filesystem: "ext4".to_owned(),
            mount_options: "rw".to_owned(),
            journal: Some(true),
            devices: Vec::new(),
        },
        backend: Backend::Ebpf,
        iostrata_version: "0.0.0".to_owned(),
        ways: Vec::new(),
    }
}

/// `count` calls with one name that moved `piece_bytes` each, sequentially from the start of the
/// file.
pub(super) fn in_order(name: &str, count: u64, piece_bytes: u64, time_s: f64) -> FileCall {
    let mut shape = Shape::default();
    for at in 0..count {
        let offset = at * piece_bytes;
        shape.add(offset, piece_bytes, (at > 0).then_some(offset));
    }
    shaped(name, count, count * piece_bytes, time_s, shape)
}

/// The same with a page skipped before each.
pub(super) fn scattered(name: &str, count: u64, piece_bytes: u64, time_s: f64) -> FileCall {
    let mut shape = Shape::default();
    let stride_bytes = piece_bytes + 4096;
    for at in 0..count {
        let end = at.checked_sub(1).map(|at| at * stride_bytes + piece_bytes);
        shape.add(at * stride_bytes, piece_bytes, end);
    }
    shaped(name, count, count * piece_bytes, time_s, shape)
}

/// The same, each of them at the start of the file.
pub(super) fn over(name: &str, count: u64, piece_bytes: u64, time_s: f64) -> FileCall {
    let mut shape = Shape::default();
    for at in 0..count {
        shape.add(0, piece_bytes, (at > 0).then_some(piece_bytes));
    }
    shaped(name, count, count * piece_bytes, time_s, shape)
}

fn shaped(name: &str, count: u64, bytes: u64, time_s: f64, shape: Shape) -> FileCall {
    FileCall {
        row: CallRow {
            blocked_s: Some(0.0),
            ..call(name, count, bytes, time_s)
        },
        is_source: false,
        shape: Some(Box::new(shape)),
        sites: Vec::new(),
    }
}

/// The file with these calls and their sums.
pub(super) fn with_calls(file: FileRow, calls: Vec<FileCall>) -> FileRow {
    let moved = |names: &[&str]| {
        let mut sum = CallStats::default();
        for row in calls.iter().map(|call| &call.row) {
            if names.contains(&row.name.as_str()) {
                sum.count += row.stats.count;
                sum.bytes += row.stats.bytes;
                sum.time_s += row.stats.time_s;
            }
        }
        sum
    };
    FileRow {
        reads: moved(READS),
        writes: moved(WRITES),
        calls,
        ..file
    }
}

/// The calls, blocked for this part of their time.
pub(super) fn blocked(mut call: FileCall, blocked_s: f64) -> FileCall {
    call.row.blocked_s = Some(blocked_s);
    call
}

/// The file with pages requested, waited for and read ahead.
pub(super) fn cached(mut file: FileRow, asked: u64, missed: u64, ahead: u64) -> FileRow {
    file.evidence.cache.lookups_pages = Some(asked);
    file.evidence.cache.missed_pages = Some(missed);
    file.evidence.cache.prefetched_pages = Some(ahead);
    file
}

/// The file with device requests that read for it.
pub(super) fn read_by_device(mut file: FileRow, count: u64, bytes: u64, time_s: f64) -> FileRow {
    let mut device = file.evidence.exact_device().copied().unwrap_or_default();
    device.reads = RequestCount {
        count,
        bytes,
        time_s,
    };
    file.evidence.device = Some(device.into());
    file
}

/// Occurrences at these moments, each of 1 ms.
pub(super) fn happened(at_ns: &[u64]) -> Happened {
    let mut happened = Happened::default();
    for &at_ns in at_ns {
        happened.add(Span {
            started_ns: at_ns,
            ended_ns: at_ns + 1_000_000,
        });
    }
    happened
}

/// A history of `writes` appended records of 100 bytes and `syncs` useful calls of `fsync` that
/// took `sync_s` together.
pub(super) fn synced(syncs: u64, writes: u64, sync_s: f64) -> FileHistory {
    let calls = Happened {
        count: syncs,
        took_ns: Duration::from_secs_f64(sync_s)
            .as_nanos()
            .try_into()
            .unwrap(),
        first_ns: vec![1_000, 2_000, 3_000],
    };
    FileHistory {
        writes,
        written_bytes: 100 * writes,
        appends: writes,
        syncs: calls.clone(),
        growing_syncs: calls,
        ..FileHistory::default()
    }
}
