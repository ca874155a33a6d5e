//! Rows made by hand, for the tests of verdicts and figures.

use crate::copy::{
    Case, CopyResult, CopyRow, Destination, Measure, Method, Procedure, QUESTION, Source, Yardstick,
};
use crate::evidence::{CallCount, DeviceCounts, Evidence, RequestCount};
use crate::judge::{Finding, Missing};
use crate::lab::{Interference, Row};
use crate::op::Gap;
use crate::timing::{Sample, Timing};

use super::Judge;
use super::view::TargetRows;

/// Bytes every fixture row copies.
pub(in crate::copy) const SIZE_BYTES: u64 = 100_000_000;

/// A row in the making: on `host`, warm, not durable, not timed, nothing observed.
#[derive(Clone)]
pub(in crate::copy) struct Made {
    case: Case,
    target: &'static str,
    times_ms: Vec<f64>,
    evidence: Evidence,
}

impl Made {
    pub(in crate::copy) fn new(method: Method) -> Self {
        Self {
            case: Case {
                method,
                buffer_bytes: method.has_buffer().then_some(1 << 20),
                source: Source::Warm,
                durable: false,
                size_bytes: SIZE_BYTES,
                destination: Destination::Fresh,
            },
            target: "host",
            times_ms: Vec::new(),
            evidence: Evidence {
                missing: vec![Gap::new("system calls", "not permitted")],
                ..Evidence::default()
            },
        }
    }

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

    pub(in crate::copy) fn on(mut self, target: &'static str) -> Self {
        self.target = target;
        self
    }

    /// Milliseconds of every run.
    pub(in crate::copy) fn timed(mut self, times_ms: &[f64]) -> Self {
        self.times_ms = times_ms.to_vec();
        self
    }

    pub(in crate::copy) fn calling(self, name: &str, count: u64, bytes: u64) -> Self {
        self.call(
            name,
            CallCount {
                count,
                bytes,
                ..CallCount::default()
            },
        )
    }

    pub(in crate::copy) fn failing(self, name: &str, errors: u64) -> Self {
        self.call(
            name,
            CallCount {
                count: errors,
                errors,
                ..CallCount::default()
            },
        )
    }

    fn call(mut self, name: &str, call: CallCount) -> Self {
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
        let counts = |bytes| DeviceCounts {
            data: RequestCount {
                count: 1,
                bytes,
                time_s: 0.0,
            },
            ..DeviceCounts::default()
        };
        self.evidence.device = Some(counts(running));
        self.evidence.device_after_exit = Some(counts(after));
        self
    }

    pub(in crate::copy) fn losing(mut self, events: u64) -> Self {
        self.evidence.lost_events = events;
        self
    }

    fn row(self, yardsticks: &[Yardstick]) -> CopyRow {
        let row = Row {
            case: self.case,
            target: self.target.to_owned(),
            timing: timing(&self.times_ms),
            evidence: self.evidence,
            interference: Interference::default(),
            notes: Vec::new(),
        };
        CopyRow::new(row, yardsticks)
    }
}

fn timing(times_ms: &[f64]) -> Option<Timing> {
    let run = |time_ms: &f64| Sample {
        real_s: time_ms * 1e-3,
        user_s: 0.0,
        system_s: 0.0,
    };
    Timing::from_samples(&times_ms.iter().map(run).collect::<Vec<_>>())
}

/// One of the host, for [`SIZE_BYTES`].
pub(in crate::copy) fn yardstick(measure: Measure, time_ms: f64) -> Yardstick {
    let target = measure.is_of_target().then(|| "host".to_owned());
    let timing = timing(&[time_ms; 5]).unwrap();
    Yardstick::new(measure, target, SIZE_BYTES, timing)
}

/// A result of these rows.
pub(in crate::copy) fn result(made: Vec<Made>) -> CopyResult {
    let yardsticks = vec![
        yardstick(Measure::MemoryCopy, 20.0),
        yardstick(Measure::CachedCopy, 10.0),
        yardstick(Measure::FreshMemory, 30.0),
        yardstick(Measure::DeviceWrite, 80.0),
        yardstick(Measure::DeviceRead, 50.0),
    ];
    CopyResult {
        question: QUESTION.to_owned(),
        targets: Vec::new(),
        rows: made.into_iter().map(|made| made.row(&yardsticks)).collect(),
        yardsticks,
        answers: Vec::new(),
        caveats: Vec::new(),
        missing: Vec::new(),
        method: Procedure::default(),
    }
}

/// Times around a median that no reader would call apart.
pub(super) fn around(median_ms: f64) -> [f64; 5] {
    [0.98, 0.99, 1.0, 1.01, 1.02].map(|factor| factor * median_ms)
}

/// Times so far apart that nothing can be told.
pub(super) fn noisy(median_ms: f64) -> [f64; 5] {
    [0.2, 0.5, 1.0, 2.0, 5.0].map(|factor| factor * median_ms)
}

/// What a judge says of these rows, all of the first row's target.
pub(super) fn judge(judge: Judge, made: Vec<Made>) -> Result<Finding, Missing> {
    judge(&TargetRows::of(&result(made))[0])
}
