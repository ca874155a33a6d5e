//! A run built by hand, for tests.

use super::history::Span;
use super::{CallRow, Descent, FileKind, FileRow, SCHEMA, TraceResult};
use crate::environment::{Backend, Environment, Storage};
use crate::evidence::{CallStats, Evidence};

/// A run of `/bin/app` in which nothing happened.
pub(crate) fn result() -> TraceResult {
    TraceResult {
        schema: SCHEMA.to_owned(),
        environment: Environment {
            machine: "vda-2cpu-79c2".to_owned(),
            kernel: "6.18.0".to_owned(),
            cpus: 2,
            cpu_model: None,
            memory_bytes: 24 << 30,
            virtualization: None,
            target: Storage {
                path: "/srv".to_owned(),
                filesystem: "ext4".to_owned(),
                mount_options: "rw".to_owned(),
                journal: Some(true),
                devices: Vec::new(),
            },
            backend: Backend::Ebpf,
            iostrata_version: "0.1.0".to_owned(),
            ways: Vec::new(),
        },
        command: vec!["/bin/app".to_owned()],
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
        timeline: None,
        evidence: Evidence {
            syscalls: Some(crate::evidence::CallCounts::new()),
            ..Evidence::default()
        },
        bytes: Descent::default(),
        syscalls: Vec::new(),
        files: Vec::new(),
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

/// `count` calls that took no time.
pub(crate) fn call(name: &str, count: u64, blocked_s: Option<f64>) -> CallRow {
    CallRow {
        name: name.to_owned(),
        stats: CallStats {
            count,
            ..CallStats::default()
        },
        blocked_s,
        ..CallRow::default()
    }
}

/// An unused file.
pub(crate) fn file(path: &str) -> FileRow {
    FileRow {
        path: path.to_owned(),
        path_hex: None,
        renamed_to: None,
        deleted: false,
        kind: FileKind::Regular,
        device: "254:0".to_owned(),
        inode: 12,
        generation: 1,
        filesystem: "ext4".to_owned(),
        size_before_bytes: 0,
        opens: 0,
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

/// The time of a call.
pub(crate) fn span(started_ns: u64, ended_ns: u64) -> Span {
    Span {
        started_ns,
        ended_ns,
    }
}
