//! Rows made by hand for the tests of the judges.

use super::{
    AtimeResult, AtimeRow, ClockState, Loop, LoopCase, LoopRow, Method, Mount, Moved, Operation,
    QUESTION, Reading, TouchCase, TouchRow, expected, expected_of_directory,
};
use crate::evidence::{DeviceCounts, Evidence, RequestCount};
use crate::lab::{Interference, Row};
use crate::timing::{Sample, Timing};

/// Reads of every loop made here.
pub(crate) const READS: u64 = 1000;

/// A row as the kernel's rules have it.
pub(crate) fn touch(operation: Operation, mount: Mount, filesystem: &str) -> TouchRow {
    let moved = |state| expected(operation, mount, filesystem, state);
    let directory = |state| expected_of_directory(operation, mount, state);
    TouchRow {
        row: row(
            TouchCase {
                operation,
                mount,
                filesystem: filesystem.to_owned(),
            },
            filesystem,
        ),
        subject: operation.subject(),
        atime_changed: moved(ClockState::Due),
        atime_changed_when_fresh: moved(ClockState::Fresh),
        directory: directory(ClockState::Due)
            .zip(directory(ClockState::Fresh))
            .map(|(due, fresh)| Moved { due, fresh }),
    }
}

/// Every operation under every mount on these file systems, as the rules have it.
pub(crate) fn matrix(filesystems: &[&str]) -> Vec<AtimeRow> {
    let mut rows = Vec::new();
    for filesystem in filesystems {
        for mount in Mount::ALL {
            for operation in Operation::ALL {
                rows.push(AtimeRow::Touch(Box::new(touch(
                    operation, mount, filesystem,
                ))));
            }
        }
    }
    rows
}

/// A loop on ext4 with its samples, microseconds, and the sectors it wrote.
pub(crate) fn looped(
    (files, reading, mount): (Loop, Reading, Mount),
    times_us: &[f64],
    sectors: Option<u64>,
) -> AtimeRow {
    looped_on("ext4", (files, reading, mount), times_us, sectors)
}

/// The same on a file system of this type.
pub(crate) fn looped_on(
    filesystem: &str,
    (files, reading, mount): (Loop, Reading, Mount),
    times_us: &[f64],
    sectors: Option<u64>,
) -> AtimeRow {
    let mut row = row(
        LoopCase {
            files,
            reading,
            mount,
            filesystem: filesystem.to_owned(),
            reads: READS,
            size_bytes: 4096,
        },
        filesystem,
    );
    row.timing = timing(times_us);
    let counts = |sectors: u64| DeviceCounts {
        metadata: RequestCount {
            count: sectors.min(1),
            bytes: sectors * 512,
            time_s: 0.0,
        },
        ..DeviceCounts::default()
    };
    row.evidence.device = sectors.map(|_| counts(0));
    row.evidence.device_after_exit = sectors.map(counts);
    let with_sync = timing(times_us);
    AtimeRow::Loop(Box::new(LoopRow::new(row, with_sync)))
}

fn row<C>(case: C, target: &str) -> Row<C> {
    Row {
        case,
        target: target.to_owned(),
        timing: None,
        evidence: Evidence::default(),
        interference: Interference::default(),
        notes: Vec::new(),
    }
}

fn timing(times_us: &[f64]) -> Option<Timing> {
    let sample = |us: &f64| Sample {
        real_s: us * 1e-6,
        user_s: 0.0,
        system_s: 0.0,
    };
    Timing::from_samples(&times_us.iter().map(sample).collect::<Vec<_>>())
}

/// A result with these rows, its comparisons and its answers.
pub(crate) fn result(rows: Vec<AtimeRow>) -> AtimeResult {
    let mut result = AtimeResult {
        question: QUESTION.to_owned(),
        targets: Vec::new(),
        rows,
        relatime: Vec::new(),
        comparisons: Vec::new(),
        answers: Vec::new(),
        caveats: Vec::new(),
        missing: Vec::new(),
        method: Method::default(),
    };
    result.comparisons = super::comparisons(&result);
    result.answers = super::answers(&result);
    result
}
