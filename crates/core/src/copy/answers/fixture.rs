//! Rows made by hand, for the tests of verdicts and figures.

use super::{CLAIMS, targets};
use crate::copy::{
    Case, CopyMethod, CopyResult, CopyRow, Destination, Measure, Source, Yardstick, Yardsticks,
};
use crate::evidence::{CallStats, DeviceCounts, DeviceRange};
use crate::judge::fixture::{self, Made, request, row, timing};
use crate::judge::{Finding, Missing};
use crate::lab::Row;

/// Bytes every fixture row copies.
pub(in crate::copy) const SIZE_BYTES: u64 = 100_000_000;

impl Made for Case {
    /// Times are written in milliseconds.
    const TIME_US: f64 = 1000.0;
}

/// A row that is warm and not durable.
pub(in crate::copy) fn made(method: CopyMethod) -> Row<Case> {
    row(Case {
        method,
        buffer_bytes: method.has_buffer().then_some(1 << 20),
        source: Source::Warm,
        durable: false,
        size_bytes: SIZE_BYTES,
        destination: Destination::Fresh,
    })
}

impl Row<Case> {
    pub(in crate::copy) fn buffer(mut self, bytes: u64) -> Self {
        self.case.buffer_bytes = Some(bytes);
        self
    }

    pub(in crate::copy) fn durable(mut self) -> Self {
        self.case.durable = true;
        self
    }

    pub(in crate::copy) fn cold(mut self) -> Self {
        self.case.source = Source::Cold;
        self
    }

    /// A system call, with how often it was made, how often it failed, and its bytes.
    pub(in crate::copy) fn calling(mut self, name: &str, of: (u64, u64, u64)) -> Self {
        let (count, errors, bytes) = of;
        let call = CallStats {
            count,
            errors,
            bytes,
            ..CallStats::default()
        };
        let calls = self.evidence.syscalls.get_or_insert_default();
        calls.insert(name.to_owned(), call);
        self.evidence.missing.clear();
        self
    }

    pub(in crate::copy) fn faults(mut self, minor: u64) -> Self {
        self.evidence.faults.minor = Some(minor);
        self.evidence.faults.major = Some(0);
        self
    }

    /// Bytes of data written while it ran, and after.
    pub(in crate::copy) fn writing(mut self, running: u64, after: u64) -> Self {
        let counts = |bytes| {
            DeviceRange::from(DeviceCounts {
                data: request(1, bytes),
                ..DeviceCounts::default()
            })
        };
        self.evidence.device = Some(counts(running));
        self.evidence.device_after_exit = Some(counts(after));
        self
    }
}

/// One of the host, for [`SIZE_BYTES`].
pub(in crate::copy) fn yardstick(measure: Measure, time_ms: f64) -> Yardstick {
    let target = measure.is_of_target().then(|| "host".to_owned());
    let timing = timing(&[time_ms * 1000.0; 5]).unwrap();
    Yardstick::new(measure, target, SIZE_BYTES, timing)
}

/// A result of these rows.
pub(in crate::copy) fn result(made: Vec<Row<Case>>) -> CopyResult {
    let yardsticks = vec![
        yardstick(Measure::MemoryCopy, 20.0),
        yardstick(Measure::CachedCopy, 10.0),
        yardstick(Measure::FreshMemory, 30.0),
        yardstick(Measure::DeviceWrite, 80.0),
        yardstick(Measure::DeviceRead, 50.0),
    ];
    let rows = made.into_iter().map(|row| CopyRow::new(row, &yardsticks));
    fixture::result(rows.collect(), Yardsticks { yardsticks })
}

/// The verdict of these rows on a claim, named by a part of its text.
pub(super) fn judge(claim: &str, made: Vec<Row<Case>>) -> Result<Finding, Missing> {
    fixture::judge(&CLAIMS, claim, &targets(&result(made)))
}
