//! Rows made by hand for the tests of the judges.

use super::view::TargetRows;
use super::{BufferingResult, Judge};
use crate::buffering::{BufferingRow, Case, Method, Mode, QUESTION, Step, Timeline};
use crate::evidence::{DeviceCounts, Evidence, RequestCount};
use crate::judge::{Finding, Missing};
use crate::lab::{Interference, Row};
use crate::op::Gap;
use crate::timing::{Sample, Timing};

/// A row in the making: by default 1,000 records on `host`, not timed, device
/// requests not seen.
#[derive(Clone)]
pub(in crate::buffering) struct Made {
    case: Case,
    target: &'static str,
    times_us: Vec<f64>,
    evidence: Evidence,
}

impl Made {
    pub(in crate::buffering) fn new(mode: Mode, size_bytes: u64) -> Self {
        let missing = vec![Gap::new("device requests", "not permitted")];
        Self {
            case: Case {
                mode,
                size_bytes,
                count: 1000,
            },
            target: "host",
            times_us: Vec::new(),
            evidence: Evidence {
                missing,
                ..Evidence::default()
            },
        }
    }

    pub(super) fn on(mut self, target: &'static str) -> Self {
        self.target = target;
        self
    }

    pub(in crate::buffering) fn records(mut self, count: u64) -> Self {
        self.case.count = count;
        self
    }

    /// Microseconds per record of every run.
    pub(in crate::buffering) fn timed(mut self, times_us: &[f64]) -> Self {
        self.times_us = times_us.to_vec();
        self
    }

    /// Data, journal, commit and metadata writes of 4096 bytes, and flushes, per record.
    pub(in crate::buffering) fn asking(mut self, per_record: [u64; 5]) -> Self {
        self.evidence.device = Some(self.counts(per_record));
        self.evidence.missing.clear();
        self
    }

    /// The same after the program's end.
    pub(in crate::buffering) fn after_exit(mut self, per_record: [u64; 5]) -> Self {
        self.evidence.device_after_exit = Some(self.counts(per_record));
        self
    }

    pub(super) fn flushes_in_all(mut self, flushes: u64) -> Self {
        self.evidence.device.as_mut().unwrap().flushes = flushes;
        self
    }

    pub(super) fn losing(mut self, events: u64) -> Self {
        self.evidence.lost_events = events;
        self
    }

    fn counts(&self, per_record: [u64; 5]) -> DeviceCounts {
        let [data, journal, commit, metadata, flushes] =
            per_record.map(|each| each * self.case.count);
        let request = |count| RequestCount {
            count,
            bytes: count * 4096,
            time_s: 0.0,
        };
        DeviceCounts {
            data: request(data),
            journal: request(journal),
            commit: request(commit),
            metadata: request(metadata),
            flushes,
            ..DeviceCounts::default()
        }
    }

    fn row(self) -> BufferingRow {
        let run = |time_us: &f64| Sample {
            real_s: time_us * 1e-6 * self.case.count as f64,
            user_s: 0.0,
            system_s: 0.0,
        };
        let samples: Vec<Sample> = self.times_us.iter().map(run).collect();
        let row = Row {
            case: self.case,
            target: self.target.to_owned(),
            timing: Timing::from_samples(&samples),
            evidence: self.evidence,
            interference: Interference::default(),
            notes: Vec::new(),
        };
        BufferingRow::new(row, None)
    }
}

/// A result of these rows.
pub(in crate::buffering) fn result(made: Vec<Made>) -> BufferingResult {
    BufferingResult {
        question: QUESTION.to_owned(),
        targets: Vec::new(),
        rows: made.into_iter().map(Made::row).collect(),
        timelines: Vec::new(),
        runtimes: Vec::new(),
        answers: Vec::new(),
        caveats: Vec::new(),
        missing: Vec::new(),
        method: Method::default(),
    }
}

/// What a judge says of these rows, all of the first row's target.
pub(super) fn judge(judge: Judge, made: Vec<Made>) -> Result<Finding, Missing> {
    judge(&TargetRows::of(&result(made))[0])
}

/// A timeline on `host` of (action, bytes written, bytes visible).
pub(super) fn timeline(mode: Mode, size_bytes: u64, steps: &[(&str, u64, u64)]) -> Timeline {
    let step = |(action, written_bytes, visible_bytes): &(&str, u64, u64)| Step {
        action: (*action).to_owned(),
        written_bytes: *written_bytes,
        visible_bytes: *visible_bytes,
        durable_bytes: None,
    };
    let steps = steps.iter().map(step).collect();
    Timeline {
        mode,
        target: "host".to_owned(),
        size_bytes,
        steps,
    }
}
