//! Rows made by hand for the tests of the judges.

use super::{
    AtimeResult, AtimeRow, ClockState, Loop, LoopCase, LoopRow, Mount, Moved, Operation, Reading,
    Rules, TouchCase, TouchRow, expected, expected_of_directory,
};
use crate::evidence::{DeviceCounts, DeviceRange};
use crate::judge::fixture::{self, Made, request, row, target, timing};

impl Made for TouchCase {}
impl Made for LoopCase {}

/// Reads of every loop made here.
pub(crate) const READS: u64 = 1000;

/// A row as the kernel's rules have it.
pub(crate) fn touch(operation: Operation, mount: Mount, filesystem: &str) -> TouchRow {
    let moved = |state| expected(operation, mount, filesystem, state);
    let directory = |state| expected_of_directory(operation, mount, state);
    TouchRow {
        row: row(TouchCase {
            operation,
            mount,
            filesystem: filesystem.to_owned(),
        })
        .on(filesystem),
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
    let case = LoopCase {
        files,
        reading,
        mount,
        filesystem: filesystem.to_owned(),
        reads: READS,
        size_bytes: 4096,
    };
    let mut row = row(case).on(filesystem).timed(times_us);
    let counts = |sectors: u64| {
        DeviceRange::from(DeviceCounts {
            metadata: request(sectors.min(1), sectors * 512),
            ..DeviceCounts::default()
        })
    };
    row.evidence.device = sectors.map(|_| counts(0));
    row.evidence.device_after_exit = sectors.map(counts);
    let with_sync = timing(times_us);
    AtimeRow::Loop(Box::new(LoopRow::new(row, with_sync)))
}

/// A result with these rows, its comparisons and its answers.
pub(crate) fn result(rows: Vec<AtimeRow>) -> AtimeResult {
    let mut result: AtimeResult = fixture::result(rows, Rules::default());
    result.targets = ["ext4", "tmpfs"]
        .map(|name| target(name, name, None))
        .to_vec();
    result.own.comparisons = super::comparisons(&result);
    result.answers = super::answers(&result);
    result
}
