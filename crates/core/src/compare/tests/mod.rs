//! Results made by hand, compared.

mod conditions;
mod descent;
mod laws;
mod limits;
mod rows;
mod simulated;
mod traces;

use super::{Comparison, Pair, Sides, lab};
use crate::buffering::{BufferingResult, BufferingRow, Case, Mode, Seen};
use crate::environment::{Backend, Device, Environment, Storage};
use crate::evidence::{CallStats, DeviceCounts, Evidence, RequestCount};
use crate::lab::{Experiment, Interference, LabResult, MeasuredTarget, Method, Row, SCHEMA};
use crate::stats;
use crate::timing::Timing;

fn names() -> Sides<String> {
    Sides {
        base: "base.json".to_owned(),
        new: "new.json".to_owned(),
    }
}

fn target() -> Storage {
    Storage {
        path: "/srv".to_owned(),
        filesystem: "ext4".to_owned(),
        mount_options: "rw,relatime".to_owned(),
        journal: Some(true),
        devices: vec![Device {
            name: "vda".to_owned(),
            model: None,
            rotational: Some(false),
            write_cache: Some("write back".to_owned()),
            fua: Some(false),
            scheduler: Some("none".to_owned()),
        }],
    }
}

fn environment() -> Environment {
    Environment {
        machine: "vda-2cpu-79c2".to_owned(),
        kernel: "6.18.0".to_owned(),
        cpus: 2,
        cpu_model: None,
        memory_bytes: 24 << 30,
        virtualization: None,
        target: target(),
        backend: Backend::Ebpf,
        iostrata_version: "0.1.0".to_owned(),
        ways: Vec::new(),
    }
}

/// A row of `mode` with records of `size_bytes` that took these times. It made one `write`.
fn row(mode: Mode, size_bytes: u64, times_s: &[f64]) -> BufferingRow {
    // The interval of a row is not used here, and computing it takes time.
    let timing = stats::median(times_s).map(|median_s| Timing {
        samples_s: times_s.to_vec(),
        median_s,
        low_s: median_s,
        high_s: median_s,
        user_s: 0.0,
        system_s: 0.0,
    });
    let write = CallStats {
        count: 1,
        errors: 0,
        bytes: size_bytes,
        time_s: 1e-6,
    };
    let row = Row {
        case: Case {
            mode,
            size_bytes,
            count: 1,
        },
        target: "host".to_owned(),
        timing,
        evidence: Evidence {
            syscalls: Some([("write".to_owned(), write)].into_iter().collect()),
            device: Some(
                DeviceCounts {
                    data: RequestCount {
                        count: 1,
                        bytes: 4096,
                        time_s: 0.0,
                    },
                    ..DeviceCounts::default()
                }
                .into(),
            ),
            ..Evidence::default()
        },
        interference: Interference {
            steal_s: Some(0.0),
            other_cpu_s: Some(0.0),
            other_requests: Some(0),
        },
        notes: Vec::new(),
    };
    BufferingRow::new(row, None)
}

/// A result of `lab buffering` with these rows.
fn result(rows: Vec<BufferingRow>) -> LabResult {
    LabResult {
        schema: SCHEMA.to_owned(),
        environment: environment(),
        parts: Vec::new(),
        experiments: vec![Experiment::Buffering(BufferingResult {
            question: String::new(),
            targets: vec![MeasuredTarget {
                name: "host".to_owned(),
                image: false,
                storage: target(),
            }],
            rows,
            own: Seen::default(),
            answers: Vec::new(),
            settings: None,
            caveats: Vec::new(),
            missing: Vec::new(),
            method: Method {
                timing_runs: (5, 5),
                ..Method::default()
            },
        })],
    }
}

/// The rows of a result from [`result`].
fn rows_of(result: &mut LabResult) -> &mut Vec<BufferingRow> {
    match &mut result.experiments[0] {
        Experiment::Buffering(buffering) => &mut buffering.rows,
        _ => unreachable!("made by `result`"),
    }
}

fn pair<'a>(base: &'a LabResult, new: &'a LabResult) -> Pair<'a> {
    Pair {
        names: names(),
        results: Sides { base, new },
    }
}

fn compared(base: &LabResult, new: &LabResult) -> Comparison {
    lab(&pair(base, new), &[])
}

/// Compares rows of one size each, by their times.
fn times(base: &[&[f64]], new: &[&[f64]]) -> Comparison {
    compared(&timed(base), &timed(new))
}

/// A result with rows of one size each that took these times.
fn timed(times: &[&[f64]]) -> LabResult {
    let sized = (1..).zip(times);
    let rows = sized.map(|(size, times)| row(Mode::Flush, size, times));
    result(rows.collect())
}
