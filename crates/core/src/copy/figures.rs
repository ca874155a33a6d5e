//! Figures derived from a row's times and counts.

use serde::{Deserialize, Serialize};

use super::{Case, CopyMethod, Measure, Source, Yardstick};
use crate::evidence::Evidence;
use crate::lab::Row;

/// Figures of a row. `null` where the times or the evidence are missing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "CopyFigures"))]
pub struct Figures {
    /// Bytes copied per second, from the median time.
    pub bytes_per_s: Option<f64>,
    /// System calls of the copy.
    pub calls: Option<u64>,
    /// Those of them that failed.
    pub errors: Option<u64>,
    /// Time inside them under observation, seconds.
    pub in_calls_s: Option<f64>,
    /// Minor and major page faults.
    pub faults: Option<u64>,
    /// Bytes that went into the program's memory or out of it.
    pub user_bytes: Option<u64>,
    /// Bytes written to the device while the program ran.
    pub device_bytes: Option<u64>,
    /// Bytes written to the device after the program had ended.
    pub unpaid_bytes: Option<u64>,
    /// File contents among both.
    pub data_bytes: Option<u64>,
    /// Whether the device took less than half of the file, although all of it was written
    /// back: blocks are shared, deduplicated or compressed, and the row is no copy of the data.
    pub is_shared: Option<bool>,
    /// What the row is set beside. `null` too where the row took less time than the step alone: a
    /// step that is slower than a copy that needs it is no limit.
    pub limit: Option<Limit>,
}

/// The slowest step that a copy of this kind cannot leave out, done alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Limit {
    pub measure: Measure,
    /// Its median time for as many bytes, seconds.
    pub time_s: f64,
    /// That time over the row's, at most 1: as fast as the limit.
    pub share: f64,
}

/// Computes them.
pub fn figures(row: &Row<Case>, yardsticks: &[Yardstick]) -> Figures {
    let evidence = &row.evidence;
    let median_s = row.timing.as_ref().map(|timing| timing.median_s);
    let calls = evidence.syscalls.as_ref();
    let sum = |pick: fn(&crate::evidence::CallStats) -> u64| {
        calls.map(|calls| calls.values().map(pick).sum())
    };
    let device = evidence.exact_device();
    let after = evidence.exact_device_after_exit();
    let data_bytes = device
        .zip(after)
        .map(|(running, after)| running.data.bytes + after.data.bytes);
    let is_shared = data_bytes
        .filter(|_| evidence.lost_events == 0)
        .map(|bytes| bytes < row.case.size_bytes / 2);
    Figures {
        bytes_per_s: median_s
            .filter(|time_s| *time_s > 0.0)
            .map(|time_s| row.case.size_bytes as f64 / time_s),
        calls: sum(|call| call.count),
        errors: sum(|call| call.errors),
        in_calls_s: calls.map(|calls| calls.values().map(|call| call.time_s).sum()),
        faults: evidence
            .faults
            .minor
            .zip(evidence.faults.major)
            .map(|(minor, major)| minor + major),
        user_bytes: user_bytes(&row.case, evidence),
        device_bytes: device.map(|counts| counts.writes().bytes),
        unpaid_bytes: after.map(|counts| counts.writes().bytes),
        data_bytes,
        is_shared,
        // A method that copies no data has no lower bound.
        limit: median_s
            .filter(|_| is_shared != Some(true))
            .and_then(|time_s| limit(row, time_s, yardsticks)),
    }
}

/// Bytes that calls moved to or from user memory, by their return values. Two methods move
/// bytes without such a call: a copy between mappings reads and writes the page cache's
/// own pages, once for each byte, and the requests of `io_uring` each end in a completion
/// that no call returns.
fn user_bytes(case: &Case, evidence: &Evidence) -> Option<u64> {
    match case.method {
        CopyMethod::MmapMemcpy => return Some(case.size_bytes),
        CopyMethod::IoUring => return Some(2 * case.size_bytes),
        _ => {}
    }
    let calls = evidence.syscalls.as_ref()?;
    let moving = calls.iter().filter(|(name, _)| {
        matches!(
            name.as_str(),
            "read" | "pread64" | "readv" | "preadv" | "write" | "pwrite64" | "writev" | "pwritev"
        )
    });
    Some(moving.map(|(_, call)| call.bytes).sum())
}

fn limit(row: &Row<Case>, time_s: f64, yardsticks: &[Yardstick]) -> Option<Limit> {
    let case = &row.case;
    if time_s <= 0.0 {
        return None;
    }
    needed(case)
        .into_iter()
        .filter_map(|measure| Some((measure, median_s(row, measure, yardsticks)?)))
        .max_by(|(_, one), (_, other)| one.total_cmp(other))
        .filter(|(_, limit_s)| *limit_s <= time_s)
        .map(|(measure, limit_s)| Limit {
            measure,
            time_s: limit_s,
            share: limit_s / time_s,
        })
}

/// Steps that a copy of this kind cannot leave out.
fn needed(case: &Case) -> Vec<Measure> {
    match case.method {
        // Nothing is moved.
        CopyMethod::Reflink => Vec::new(),
        // Direct I/O in both directions, whatever the page cache holds.
        CopyMethod::Direct => vec![Measure::DeviceRead, Measure::DeviceWrite],
        _ => {
            let mut needed = vec![Measure::MemoryCopy];
            if case.durable {
                needed.push(Measure::DeviceWrite);
            }
            if case.source == Source::Cold {
                needed.push(Measure::DeviceRead);
            }
            needed
        }
    }
}

fn median_s(row: &Row<Case>, measure: Measure, yardsticks: &[Yardstick]) -> Option<f64> {
    let of_row = |yardstick: &&Yardstick| {
        yardstick.measure == measure
            && yardstick.size_bytes == row.case.size_bytes
            && (!measure.is_of_target() || yardstick.target.as_deref() == Some(&row.target))
    };
    Some(yardsticks.iter().find(of_row)?.timing.median_s)
}

#[cfg(test)]
mod tests {
    use super::super::answers::fixture::{SIZE_BYTES, made, result, yardstick};
    use super::*;

    #[test]
    fn a_row_is_set_beside_the_slowest_step_it_needs() {
        let limits = |row: Row<Case>| {
            let limited = result(vec![row.timed(&[100.0; 5])]);
            let limit = limited.rows[0].figures.limit;
            limit.map(|limit| (limit.measure, (limit.share * 100.0).round()))
        };
        let warm = made(CopyMethod::Sendfile);
        assert_eq!(limits(warm.clone()), Some((Measure::MemoryCopy, 20.0)));
        assert_eq!(
            limits(warm.clone().durable()),
            Some((Measure::DeviceWrite, 80.0))
        );
        assert_eq!(
            limits(warm.clone().cold()),
            Some((Measure::DeviceRead, 50.0))
        );
        assert_eq!(
            limits(warm.durable().on("xfs")),
            Some((Measure::MemoryCopy, 20.0)),
            "another file system's device says nothing"
        );
        assert_eq!(limits(made(CopyMethod::Reflink)), None);
        let sharing = made(CopyMethod::CopyFileRange).writing(0, 4096);
        assert_eq!(limits(sharing), None, "nothing was copied");
        assert_eq!(
            limits(made(CopyMethod::Direct)),
            Some((Measure::DeviceWrite, 80.0))
        );
    }

    #[test]
    fn a_row_faster_than_the_step_has_no_limit() {
        let limit = |took_ms: f64| {
            let mut limited = result(vec![made(CopyMethod::Sendfile).timed(&[took_ms; 5])]);
            limited.rows.remove(0).figures.limit
        };
        // One copy in memory takes 20 ms.
        assert_eq!(limit(20.0).map(|limit| limit.share), Some(1.0));
        assert_eq!(limit(11.4), None, "175 % of a limit is not one");
    }

    #[test]
    fn a_yardstick_of_another_size_is_none() {
        let mut result = result(vec![made(CopyMethod::Sendfile).timed(&[100.0; 5])]);
        let mut other = yardstick(Measure::MemoryCopy, 20.0);
        other.size_bytes = SIZE_BYTES * 2;
        let row = result.rows.remove(0).row;
        assert_eq!(figures(&row, &[other]).limit, None);
    }

    #[test]
    fn bytes_through_user_memory_are_what_the_calls_moved() {
        let all = |method| {
            made(method)
                .calling("read", (10, 0, SIZE_BYTES))
                .calling("write", (10, 0, SIZE_BYTES))
                .calling("sendfile", (1, 0, 7))
        };
        let bytes = |row: Row<Case>| result(vec![row]).rows[0].figures.user_bytes;
        assert_eq!(bytes(all(CopyMethod::ReadWrite)), Some(2 * SIZE_BYTES));
        assert_eq!(
            bytes(made(CopyMethod::Sendfile).calling("sendfile", (1, 0, SIZE_BYTES))),
            Some(0)
        );
        assert_eq!(bytes(made(CopyMethod::MmapMemcpy)), Some(SIZE_BYTES));
        assert_eq!(bytes(made(CopyMethod::IoUring)), Some(2 * SIZE_BYTES));
        assert_eq!(bytes(made(CopyMethod::ReadWrite)), None, "not observed");
    }

    #[test]
    fn what_was_not_seen_is_not_zero() {
        let row = result(vec![made(CopyMethod::ReadWrite)]).rows.remove(0);
        assert_eq!(row.figures, Figures::default());
    }

    #[test]
    fn calls_faults_and_bytes_are_summed() {
        let row = made(CopyMethod::ReadWrite)
            .calling("read", (11, 0, SIZE_BYTES))
            .calling("ioctl", (1, 1, 0))
            .faults(24_000)
            .writing(1000, 200)
            .timed(&[50.0; 5]);
        let figures = result(vec![row]).rows.remove(0).figures;
        assert_eq!((figures.calls, figures.errors), (Some(12), Some(1)));
        assert_eq!(figures.faults, Some(24_000));
        assert_eq!(
            (figures.device_bytes, figures.unpaid_bytes),
            (Some(1000), Some(200))
        );
        assert_eq!(figures.data_bytes, Some(1200));
        let rate = SIZE_BYTES as f64 / 0.05;
        assert!(
            figures
                .bytes_per_s
                .is_some_and(|seen| (seen - rate).abs() < 1.0)
        );
    }
}
