//! Runs built by hand.

use iostrata_core::environment::{Backend, Device};
use iostrata_core::evidence::{Cache, CallStats, DeviceCounts, Evidence, RequestCount};
use iostrata_core::law::Law;
use iostrata_core::trace::budget::Amount;
use iostrata_core::trace::{
    Basis, CallRow, Cited, Cold, Confidence, Descent, FileCall, FileKind, FileRow, Finding, Judged,
    SCHEMA, Severity, Stayed, TaskRow, TimedRun, TimedRuns, TraceResult,
};

use crate::fixture;

pub(super) const MIB: u64 = 1 << 20;

/// A run of `./app` in `/srv/app` without activity.
pub(crate) fn empty() -> TraceResult {
    let disk = Device {
        rotational: Some(false),
        write_cache: Some("write back".to_owned()),
        fua: Some(false),
        scheduler: Some("none".to_owned()),
        ..fixture::disk("vda")
    };
    let target = fixture::storage("/srv/app", "rw,relatime,data=ordered", vec![disk]);
    let mut environment = fixture::environment("6.18.0", 24, target);
    environment.virtualization = Some("virtual machine (KVM)".to_owned());
    TraceResult {
        schema: SCHEMA.to_owned(),
        environment,
        command: vec![
            "./app".to_owned(),
            "--fast".to_owned(),
            "two words".to_owned(),
        ],
        adopted: None,
        attached: None,
        accounts: None,
        recording: None,
        runs: None,
        exit_code: Some(0),
        signal: None,
        started_ns: 0,
        wall_s: 4.2,
        processes: 1,
        threads: 1,
        backend: Backend::Ebpf,
        lost_events: 0,
        timeline: None,
        evidence: Evidence {
            syscalls: Some(iostrata_core::evidence::CallCounts::new()),
            ..Evidence::default()
        },
        bytes: Descent::default(),
        syscalls: Vec::new(),
        files: Vec::new(),
        other_calls: 0,
        audit: vec![Judged {
            law: Law::Calls,
            ours: Amount::Count(1204),
            witness: Amount::Count(1204),
            holds: true,
        }],
        summed_files: 0,
        other_requests: None,
        tasks: Vec::new(),
        not_found: Vec::new(),
        directories: Vec::new(),
        findings: Vec::new(),
        missing: Vec::new(),
    }
}

pub(super) fn call(name: &str, count: u64, bytes: u64, time_s: f64, blocked_s: f64) -> CallRow {
    CallRow {
        name: name.to_owned(),
        stats: CallStats {
            count,
            errors: 0,
            bytes,
            time_s,
        },
        blocked_s: Some(blocked_s),
        alone_s: Some(time_s),
        p50_s: Some(time_s / count as f64),
        p99_s: Some(3.0 * time_s / count as f64),
        took: Vec::new(),
        first_s: Some(0.5),
        last_s: Some(1.5),
    }
}

fn called(row: CallRow) -> FileCall {
    FileCall {
        sites: Vec::new(),
        row,
        ..FileCall::default()
    }
}

fn requests(count: u64, bytes: u64) -> RequestCount {
    RequestCount {
        count,
        bytes,
        time_s: 0.01,
    }
}

/// A database: 903 small writes, each with its sync.
fn database(path: &str) -> FileRow {
    let calls = [
        call("fsync", 903, 0, 2.9, 2.85),
        call("write", 903, 31 << 10, 0.002, 0.0),
        call("openat", 1, 0, 2e-5, 0.0),
    ];
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
        opens: 1,
        reads: CallStats::default(),
        writes: CallStats {
            count: 903,
            bytes: 31 << 10,
            time_s: 0.002,
            ..CallStats::default()
        },
        syncs: CallStats {
            count: 903,
            time_s: 2.9,
            ..CallStats::default()
        },
        calls: calls.map(called).into(),
        evidence: Evidence {
            cache: Cache {
                lookups_pages: Some(0),
                missed_pages: Some(0),
                prefetched_pages: Some(0),
                dirtied_bytes: Some(3_698_688),
                ..Cache::default()
            },
            device: Some(
                DeviceCounts {
                    data: requests(903, 3_698_688),
                    journal: requests(903, 7_397_376),
                    commit: requests(903, 3_698_688),
                    flushes: 1806,
                    ..DeviceCounts::default()
                }
                .into(),
            ),
            ..Evidence::default()
        },
        dirty_at_exit_bytes: Some(0),
        dirty_at_exit_bytes_shared: None,
        residency: None,
        history: None,
    }
}

/// A file read once from beginning to end.
pub(super) fn input(path: &str, bytes: u64) -> FileRow {
    let calls = [
        call("read", 97, bytes, 0.2, 0.19),
        call("openat", 2, 0, 3e-5, 0.0),
    ];
    let pages = bytes / 4096;
    FileRow {
        opens: 2,
        reads: CallStats {
            count: 97,
            bytes,
            time_s: 0.2,
            ..CallStats::default()
        },
        writes: CallStats::default(),
        syncs: CallStats::default(),
        calls: calls.map(called).into(),
        evidence: Evidence {
            cache: Cache {
                lookups_pages: Some(pages),
                missed_pages: Some(1),
                prefetched_pages: Some(pages - 41),
                dirtied_bytes: Some(0),
                ..Cache::default()
            },
            device: Some(
                DeviceCounts {
                    reads: requests(13, bytes - 40 * 4096),
                    ..DeviceCounts::default()
                }
                .into(),
            ),
            ..Evidence::default()
        },
        dirty_at_exit_bytes: Some(0),
        dirty_at_exit_bytes_shared: None,
        residency: None,
        ..database(path)
    }
}

/// A pipe with a waiting reader.
fn pipe() -> FileRow {
    let row = call("read", 4, 128, 0.5, 0.5);
    FileRow {
        kind: FileKind::Pipe,
        reads: CallStats {
            count: 4,
            bytes: 128,
            time_s: 0.5,
            ..CallStats::default()
        },
        opens: 0,
        writes: CallStats::default(),
        syncs: CallStats::default(),
        calls: vec![called(row)],
        evidence: Evidence::default(),
        dirty_at_exit_bytes: None,
        dirty_at_exit_bytes_shared: None,
        residency: None,
        ..database("pipe:[8123]")
    }
}

pub(super) fn finding(rule: &str, severity: Severity, file: &str) -> Finding {
    Finding {
        rule: rule.to_owned(),
        severity,
        confidence: Confidence::Certain,
        title: "a title with its figures".to_owned(),
        file: Some(file.to_owned()),
        evidence: vec![Cited {
            what: "what was seen".to_owned(),
            call: Some("write".to_owned()),
            path: Some(file.to_owned()),
            count: Some(1234),
            at_s: Some(0.5),
        }],
        cost_s: None,
        cost_threads: None,
        alone_s: None,
        saving_s: None,
        saving_basis: None,
        advice: "do it otherwise".to_owned(),
        crash_command: None,
        no_crash_command_because: None,
    }
}

/// A run with activity at every stratum.
pub(crate) fn full() -> TraceResult {
    let mut result = empty();
    result.processes = 3;
    result.threads = 11;
    result.syscalls = vec![
        call("fsync", 903, 0, 2.9, 2.85),
        call("read", 101, 12 * MIB, 0.7, 0.69),
        call("write", 903, 31 << 10, 0.002, 0.0),
        call("openat", 9, 0, 0.0001, 0.0),
    ];
    result.files = vec![
        database("/srv/app/data/orders.db-journal"),
        pipe(),
        input(
            "/srv/app/input/2026/a-file-with-a-rather-long-name-for-a-table.csv",
            12 * MIB,
        ),
        input("/usr/share/zoneinfo/Europe/Berlin", 256 << 10),
    ];
    result.files[0].renamed_to = Some("/srv/app/data/orders.db".to_owned());
    result.bytes = Descent {
        read_bytes: 12 * MIB,
        written_bytes: 31 << 10,
        dirtied_bytes: Some(3_698_688),
        device_read_bytes: Some(12 * MIB),
        device_written_bytes: Some(14_794_752),
        dirty_at_exit_bytes: Some(8192),
        dirty_at_exit_bytes_shared: None,
        ..Descent::default()
    };
    result.evidence.on_cpu_s = Some(0.6);
    result.evidence.cache = result.files[2].evidence.cache;
    result.evidence.device = result.files[0].evidence.device;
    result.evidence.device_after_exit = Some(
        DeviceCounts {
            data: requests(2, 8192),
            ..DeviceCounts::default()
        }
        .into(),
    );
    result.findings = findings();
    result.tasks = tasks();
    result
}

fn findings() -> Vec<Finding> {
    vec![
        Finding {
            title: "903 fsyncs, one for each write".to_owned(),
            cost_s: Some(2.9),
            cost_threads: None,
            alone_s: None,
            saving_s: Some(2.5),
            saving_basis: Some(Basis::Measured),
            advice: "write ten records, then call fsync once".to_owned(),
            ..finding(
                "fsync-per-record",
                Severity::High,
                "/srv/app/data/orders.db-journal",
            )
        },
        Finding {
            title: "a crash can leave it empty".to_owned(),
            advice: "call fsync before rename".to_owned(),
            confidence: Confidence::Likely,
            crash_command: Some("iostrata crash --dir /srv/app -- ./save 'a b'".to_owned()),
            ..finding(
                "rename-without-fsync",
                Severity::High,
                "/srv/app/config.json",
            )
        },
        Finding {
            no_crash_command_because: Some("iostrata did not start the program".to_owned()),
            ..finding(
                "rename-without-fsync",
                Severity::High,
                "/srv/app/other.json",
            )
        },
        Finding {
            title: "10,000 writes of 1 B".to_owned(),
            cost_s: Some(0.31),
            cost_threads: None,
            alone_s: None,
            saving_s: Some(0.3),
            saving_basis: Some(Basis::Computed),
            advice: "gather 64 KiB before each write".to_owned(),
            ..finding("small-writes", Severity::Medium, "/srv/app/app.log")
        },
    ]
}

fn tasks() -> Vec<TaskRow> {
    let task = |process: u32, thread: u32, name: &str, time_s: f64| TaskRow {
        thread,
        process,
        parent: 1200,
        name: name.to_owned(),
        started_s: 0.25,
        ended_s: (thread != 1302).then_some(4.0),
        on_cpu_s: Some(0.2),
        calls: 1000,
        time_s,
        blocked_s: Some(time_s / 2.0),
        read_bytes: 4096,
        written_bytes: 31 << 10,
    };
    vec![
        task(1300, 1300, "app", 2.9),
        task(1300, 1301, "app-writer", 0.7),
        task(1302, 1302, "sh", 0.01),
    ]
}

/// A run under ptrace: calls and sizes, nothing below.
pub(super) fn by_ptrace() -> TraceResult {
    let mut result = full();
    result.backend = Backend::Ptrace;
    result.environment.backend = Backend::Ptrace;
    result.bytes.dirtied_bytes = None;
    result.bytes.device_read_bytes = None;
    result.bytes.device_written_bytes = None;
    result.bytes.dirty_at_exit_bytes = None;
    result.evidence = Evidence {
        syscalls: result.evidence.syscalls.clone(),
        ..Evidence::default()
    };
    for file in &mut result.files {
        file.evidence = Evidence::default();
        file.dirty_at_exit_bytes = None;
        for call in &mut file.calls {
            call.row.blocked_s = None;
        }
    }
    for call in &mut result.syscalls {
        call.blocked_s = None;
    }
    for task in &mut result.tasks {
        task.blocked_s = None;
    }
    let why = "needs eBPF: run as root, or with CAP_BPF and CAP_PERFMON";
    result.missing = ["page cache", "device requests", "time blocked"]
        .map(|what| fixture::gap(what, why))
        .into();
    result
}

/// Names that a terminal would act on.
pub(crate) fn hostile() -> TraceResult {
    let mut result = full();
    let name = "/srv/app/a\u{1b}[2J\n\u{202e}b/\u{7}".to_owned();
    result.command = vec![name.clone()];
    result.environment.target.path = "/srv/\u{9b}1m".to_owned();
    for file in &mut result.files {
        file.path.clone_from(&name);
        file.renamed_to = Some(name.clone());
    }
    for finding in &mut result.findings {
        finding.rule.clone_from(&name);
        finding.file = Some(name.clone());
        finding.title.clone_from(&name);
        finding.advice.clone_from(&name);
        finding.crash_command = Some(name.clone());
        finding.evidence[0].what.clone_from(&name);
        finding.evidence[0].call = Some(name.clone());
    }
    for task in &mut result.tasks {
        task.name.clone_from(&name);
    }
    for call in &mut result.syscalls {
        call.name.clone_from(&name);
    }
    result.missing = vec![fixture::gap(&name, &name)];
    result
}

/// 10,000 files, as many findings, and 60 calls.
pub(crate) fn many() -> TraceResult {
    let mut result = full();
    let path = |number: usize| format!("/srv/app/tree/{}/{number}.o", number / 100);
    result.files = (0..10_000).map(|number| database(&path(number))).collect();
    result.findings = (0..10_000)
        .map(|number| {
            finding(
                &format!("rule-{}", number % 30),
                Severity::Low,
                &path(number),
            )
        })
        .collect();
    result.syscalls = (0..60)
        .map(|number| call(&format!("call_{number}"), 1, 0, 0.1, 0.1))
        .collect();
    result.missing = (0..12)
        .map(|number| fixture::gap(format!("part {number}"), format!("because of {number}")))
        .collect();
    result.other_calls = 77;
    result
}

/// Unobserved runs: 3.75, 3.0, 3.25, 3.5 and 3.125 s, after one more; of 12 evicted files one
/// stayed.
pub(crate) fn five_runs() -> TimedRuns {
    let run = |wall_s: &f64| TimedRun {
        wall_s: *wall_s,
        user_s: 0.75,
        system_s: 0.25,
        max_resident_bytes: Some(9 << 20),
        exit_code: Some(0),
        signal: None,
    };
    let cold = Cold {
        files: 12,
        evicted_bytes: 64 << 20,
        left_bytes: 1 << 20,
        left: vec![Stayed {
            path: "/usr/lib/x86_64-linux-gnu/libc.so.6".to_owned(),
            bytes: Some(1 << 20),
            why: "mapped by process 1 (init)".to_owned(),
        }],
    };
    let times_s = [3.75, 3.0, 3.25, 3.5, 3.125];
    TimedRuns::of(1, times_s.iter().map(run).collect(), Some(cold))
}
