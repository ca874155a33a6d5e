//! A result made by hand: three modes on two file systems, one row not observed,
//! and the run interrupted before the last row.

use iostrata_core::buffering::{
    BufferingResult, BufferingRow, Case, Memory, MemoryChange, Mode, QUESTION, RuntimeBuffer,
    RuntimeCall, Seen, Step, Timeline,
};
use iostrata_core::environment::{Device, Storage};
use iostrata_core::evidence::{Cache, CallCounts, CallStats, DeviceCounts, DeviceRange, Evidence};
use iostrata_core::lab::{Experiment, LabResult, Method, OwnCost};
use iostrata_core::{Answer, Verdict};

use crate::fixture;

const RECORDS: u64 = 10_000;

fn storage(path: &str, journal: bool, options: &str, devices: &[&str]) -> Storage {
    let device = |name: &&str| Device {
        write_cache: Some("write back".to_owned()),
        ..fixture::disk(name)
    };
    Storage {
        journal: Some(journal),
        ..fixture::storage(path, options, devices.iter().map(device).collect())
    }
}

fn calls(sync: Option<&str>) -> Evidence {
    let write = CallStats {
        count: if sync.is_some() { RECORDS } else { 2 },
        bytes: RECORDS,
        ..CallStats::default()
    };
    let mut syscalls = CallCounts::new();
    syscalls.insert("write".to_owned(), write);
    if let Some(name) = sync {
        let call = CallStats {
            count: RECORDS,
            ..CallStats::default()
        };
        syscalls.insert(name.to_owned(), call);
    }
    Evidence {
        syscalls: Some(syscalls),
        cache: Cache {
            dirtied_bytes: Some(if sync.is_some() {
                RECORDS * 4096
            } else {
                3 * 4096
            }),
            ..Cache::default()
        },
        device: Some(DeviceRange::default()),
        device_after_exit: Some(DeviceRange::default()),
        ..Evidence::default()
    }
}

fn asking(evidence: Evidence, per_record: [u64; 5]) -> Evidence {
    Evidence {
        device: Some(fixture::asking(RECORDS, per_record).into()),
        ..evidence
    }
}

/// A buffered run leaves its three pages to write-back.
fn unpaid(evidence: Evidence) -> Evidence {
    Evidence {
        device_after_exit: Some(
            DeviceCounts {
                data: fixture::requests(1, 3 * 4096),
                ..DeviceCounts::default()
            }
            .into(),
        ),
        ..evidence
    }
}

fn unobserved() -> Evidence {
    Evidence {
        missing: vec![fixture::gap(
            "kernel evidence",
            "not permitted: run as root",
        )],
        ..Evidence::default()
    }
}

fn row(target: &str, mode: Mode, times_s: &[f64], evidence: Evidence) -> BufferingRow {
    let case = Case {
        mode,
        size_bytes: 1,
        count: RECORDS,
    };
    let timing = fixture::timing(times_s, |real_s| (real_s / 100.0, real_s / 3.0));
    let mut row = fixture::row(case, target, timing);
    row.evidence = evidence;
    row.interference.other_cpu_s = Some(times_s[0] / 10.0);
    let memory = |dirty_bytes| Memory {
        dirty_bytes,
        writeback_bytes: 0,
        buffers_bytes: 10_960_896,
        cache_bytes: 3_256_254_464,
        device_pages_bytes: None,
    };
    let change = MemoryChange {
        before: memory(139_264),
        after: memory(151_552),
    };
    BufferingRow::new(row, Some(change))
}

fn rows() -> Vec<BufferingRow> {
    let mut rows = vec![
        row(
            "host",
            Mode::Buffered,
            &[0.0011, 0.0010, 0.0012, 0.0011, 0.0013],
            unpaid(calls(None)),
        ),
        row(
            "host",
            Mode::Fsync,
            &[0.714, 0.701, 0.729, 0.702, 0.720],
            asking(calls(Some("fsync")), [1, 0, 0, 1, 1]),
        ),
        row(
            "host",
            Mode::Fdatasync,
            &[0.699, 0.690, 0.712, 0.701, 0.695],
            unobserved(),
        ),
        row(
            "ext4",
            Mode::Buffered,
            &[0.0012, 0.0011, 0.0015],
            unpaid(calls(None)),
        ),
        row(
            "ext4",
            Mode::Fsync,
            &[1.414, 1.391, 1.502],
            asking(calls(Some("fsync")), [1, 2, 1, 0, 2]),
        ),
    ];
    for (index, width) in [(0, 12), (1, 33)] {
        rows[index].row.notes = vec![format!(
            "noisy: after {} runs the interval spans {width} % of the median",
            5 - index
        )];
    }
    rows
}

fn timeline(target: &str, mode: Mode, visible: [u64; 3], durable: [Option<u64>; 3]) -> Timeline {
    let actions = [
        ("open", 0),
        ("write 1", 3000),
        ("write 2", 6000),
        ("close", 6000),
    ];
    let step = |(index, (action, written_bytes)): (usize, (&str, u64))| Step {
        action: action.to_owned(),
        written_bytes,
        visible_bytes: index.checked_sub(1).map_or(0, |index| visible[index]),
        durable_bytes: index.checked_sub(1).map_or(Some(0), |index| durable[index]),
    };
    Timeline {
        mode,
        target: target.to_owned(),
        size_bytes: 3000,
        steps: actions.into_iter().enumerate().map(step).collect(),
    }
}

fn timelines() -> Vec<Timeline> {
    let synced = [Some(3000), Some(6000), Some(6000)];
    vec![
        timeline("host", Mode::Buffered, [0, 0, 6000], [Some(0); 3]),
        timeline("host", Mode::Fsync, [3000, 6000, 6000], synced),
        timeline("host", Mode::Fdatasync, [3000, 6000, 6000], synced),
        timeline("ext4", Mode::Buffered, [0, 0, 6000], [Some(0); 3]),
        timeline("ext4", Mode::Fsync, [3000, 6000, 6000], [None; 3]),
    ]
}

fn runtimes() -> Vec<RuntimeBuffer> {
    let call = |name: &str, pieces: &[u64]| RuntimeCall {
        name: name.to_owned(),
        pieces_bytes: pieces.to_vec(),
        returned_bytes: pieces.iter().sum(),
    };
    let ruby = RuntimeBuffer::from_calls(
        (
            "Ruby".to_owned(),
            "3.1.2".to_owned(),
            "File.open(path, \"wb\").write".to_owned(),
        ),
        vec![call("write", &[11])],
        vec![call("writev", &[7168, 1024]), call("write", &[2048])],
        &[call("writev", &[8191, 1]), call("write", &[100])],
    );
    let go = RuntimeBuffer::from_calls(
        (
            "Go".to_owned(),
            "go1.26.8".to_owned(),
            "os.File.Write".to_owned(),
        ),
        [3, 3, 5].map(|bytes| call("write", &[bytes])).to_vec(),
        vec![call("write", &[1024]); 10],
        &vec![call("write", &[1]); 100],
    );
    vec![ruby, go]
}

fn answers() -> Vec<Answer> {
    let answer = |verdict, claim: &str, because: &str, rows: &[usize]| Answer {
        claim: claim.to_owned(),
        verdict,
        because: because.to_owned(),
        rows: rows.to_vec(),
        row_ids: Vec::new(),
        machine: None,
    };
    vec![
        answer(
            Verdict::Holds,
            "an fsync after each record costs more than the write alone",
            "1 B: fsync 71.4 µs, buffered 0.11 µs per record, 649 times (95 %: 540–720)",
            &[1, 2],
        ),
        answer(
            Verdict::Refuted,
            "the device writes as many bytes as the program",
            "the device wrote per record: 1 B and fsync 8,192 B (×8,192); on ext4 refuted: 1 B and \
             fsync 16,384 B (×16,384); buffered 1.23 B after the program's end",
            &[2, 5],
        ),
        answer(
            Verdict::Inconclusive,
            "fdatasync is cheaper than fsync for an append",
            "the device requests of row 3 were not observed (device requests: not permitted)",
            &[],
        ),
    ]
}

pub(super) fn result() -> LabResult {
    let host = storage("/srv/data", false, "rw,relatime", &["vda"]);
    let image = storage(
        "/tmp/x",
        true,
        "rw,relatime,data=ordered",
        &["loop3", "vda"],
    );
    let mut environment = fixture::environment("6.18.0", 24, host.clone());
    environment.virtualization = Some("virtual machine (KVM)".to_owned());
    let targets = vec![
        fixture::measured("host", false, host),
        fixture::measured("ext4", true, image),
    ];
    fixture::lab(
        environment,
        Experiment::Buffering(BufferingResult {
            question: QUESTION.to_owned(),
            targets,
            rows: rows(),
            own: Seen {
                timelines: timelines(),
                runtimes: runtimes(),
            },
            answers: answers(),
            settings: None,
            caveats: vec![
                "host has no journal: a sync writes the inode in its place and commits no transaction"
                    .to_owned(),
            ],
            missing: vec![fixture::gap("Java", "java is not in the search path")],
            method: Method {
                timing_runs: (3, 5),
                warm_up_runs: 6,
                own: OwnCost {
                    own_cost_ns: Some(4.13),
                },
                interrupted: true,
                planned_rows: 6,
            },
        }),
    )
}

/// The experiment of a result.
pub(super) fn buffering(result: &mut LabResult) -> &mut BufferingResult {
    let Experiment::Buffering(buffering) = &mut result.experiments[0] else {
        panic!("another experiment")
    };
    buffering
}
