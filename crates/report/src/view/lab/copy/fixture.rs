//! A result made by hand: three states of the host, one row not observed, and a reflink on
//! an image.

use iostrata_core::copy::{
    Case, CopyMethod, CopyResult, CopyRow, Destination, Measure, QUESTION, Source, Verified,
    Yardstick, Yardsticks,
};
use iostrata_core::environment::Storage;
use iostrata_core::evidence::{CallStats, DeviceCounts, Evidence, Faults};
use iostrata_core::lab::{self, Experiment, LabResult};
use iostrata_core::timing::Timing;
use iostrata_core::{Answer, Verdict};

use crate::fixture;

const SIZE_BYTES: u64 = 100 << 20;

fn storage(filesystem: &str) -> Storage {
    Storage {
        filesystem: filesystem.to_owned(),
        ..fixture::storage("/srv", "rw", Vec::new())
    }
}

fn timing(times_ms: &[f64]) -> Timing {
    let times_s: Vec<f64> = times_ms.iter().map(|time_ms| time_ms / 1e3).collect();
    fixture::timing(&times_s, |real_s| (real_s / 100.0, real_s / 2.0))
}

fn calls(named: &[(&str, u64, u64, f64)]) -> Evidence {
    let call = |(name, count, bytes, time_ms): &(&str, u64, u64, f64)| {
        let call = CallStats {
            count: *count,
            errors: u64::from(*name == "ioctl"),
            bytes: *bytes,
            time_s: time_ms / 1e3,
        };
        ((*name).to_owned(), call)
    };
    Evidence {
        syscalls: Some(named.iter().map(call).collect()),
        faults: Faults {
            minor: Some(25_600),
            major: Some(0),
        },
        ..Evidence::default()
    }
}

fn writing(evidence: Evidence, running: u64, after: u64) -> Evidence {
    let counts = |bytes| DeviceCounts {
        data: fixture::requests(1, bytes),
        ..DeviceCounts::default()
    };
    Evidence {
        device: Some(counts(running).into()),
        device_after_exit: Some(counts(after).into()),
        ..evidence
    }
}

fn case(method: CopyMethod, buffer_bytes: Option<u64>) -> Case {
    Case {
        method,
        buffer_bytes,
        source: Source::Warm,
        durable: false,
        size_bytes: SIZE_BYTES,
        destination: Destination::Fresh,
    }
}

fn row(case: Case, target: &str, times_ms: &[f64], evidence: Evidence) -> CopyRow {
    let mut row = fixture::row(case, target, timing(times_ms));
    row.evidence = evidence;
    row.interference.other_requests = None;
    CopyRow::new(row, &yardsticks())
}

fn yardsticks() -> Vec<Yardstick> {
    let host = || Some("host".to_owned());
    vec![
        Yardstick::new(Measure::MemoryCopy, None, SIZE_BYTES, timing(&[20.0; 5])),
        Yardstick::new(Measure::DeviceWrite, host(), SIZE_BYTES, timing(&[80.0; 5])),
        Yardstick::new(Measure::DeviceRead, host(), SIZE_BYTES, timing(&[50.0; 5])),
        Yardstick::new(Measure::ProgramStart, None, 0, timing(&[1.5; 5])),
    ]
}

fn rows() -> Vec<CopyRow> {
    let copied = |calls_of: &[(&str, u64, u64, f64)]| writing(calls(calls_of), 0, SIZE_BYTES);
    let both = [
        ("read", 1601, SIZE_BYTES, 12.25),
        ("write", 1600, SIZE_BYTES, 30.5),
        ("openat", 2, 0, 0.02),
        ("close", 2, 0, 0.01),
        ("munmap", 1, 0, 0.01),
    ];
    let read_write = case(CopyMethod::ReadWrite, Some(64 << 10));
    let durable = Case {
        durable: true,
        ..read_write
    };
    let cold = Case {
        source: Source::Cold,
        ..read_write
    };
    let unobserved = Evidence {
        missing: vec![fixture::gap("kernel evidence", "the run was interrupted")],
        ..Evidence::default()
    };
    let shared = writing(calls(&[("ioctl", 1, 0, 0.1), ("openat", 2, 0, 0.01)]), 0, 0);
    vec![
        row(
            read_write,
            "host",
            &[42.0, 41.0, 43.0, 42.5, 41.5],
            copied(&both),
        ),
        row(
            case(CopyMethod::MmapMemcpy, None),
            "host",
            &[90.0, 91.0, 92.0, 89.0, 88.0],
            copied(&[("munmap", 2, 0, 5.0), ("mmap", 2, 0, 0.02)]),
        ),
        row(
            case(CopyMethod::ReadWrite, Some(SIZE_BYTES)),
            "host",
            &[70.0],
            copied(&both),
        ),
        row(
            durable,
            "host",
            &[120.0, 121.0, 122.0, 123.0, 124.0],
            writing(calls(&both), SIZE_BYTES, 4096),
        ),
        row(cold, "host", &[60.0; 5], unobserved),
        row(case(CopyMethod::Reflink, None), "xfs", &[0.12; 5], shared),
    ]
}

pub(super) fn result() -> LabResult {
    let target =
        |name: &str, image, filesystem: &str| fixture::measured(name, image, storage(filesystem));
    let answer = Answer {
        claim: "a copy with mmap is 4 to 5 times as fast as with read and write".to_owned(),
        verdict: Verdict::Refuted,
        because: "read_write whole file 70.0 ms, mmap_memcpy 90.0 ms, 0.78 times".to_owned(),
        rows: vec![2, 3],
        row_ids: Vec::new(),
        machine: None,
    };
    let experiment = CopyResult {
        question: QUESTION.to_owned(),
        targets: vec![target("host", false, "ext4"), target("xfs", true, "xfs")],
        rows: rows(),
        own: Yardsticks {
            yardsticks: yardsticks(),
        },
        answers: vec![answer],
        settings: None,
        caveats: vec!["virtual machine (KVM): page faults cost more".to_owned()],
        missing: vec![fixture::gap("reflink on host", "not supported")],
        method: lab::Method {
            timing_runs: (5, 5),
            warm_up_runs: 10,
            own: Verified {
                verified_copies: 42,
            },
            interrupted: false,
            planned_rows: 6,
        },
    };
    let environment = fixture::environment("6.18.44", 24, storage("ext4"));
    fixture::lab(environment, Experiment::Copy(experiment))
}

/// The only experiment.
pub(super) fn copying(result: &mut LabResult) -> &mut CopyResult {
    match result.experiments.as_mut_slice() {
        [Experiment::Copy(experiment)] => experiment,
        _ => panic!("not the fixture"),
    }
}
