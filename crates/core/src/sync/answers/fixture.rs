//! Rows made by hand for the tests of the judges.

use super::Judge;
use super::view::TargetRows;
use crate::environment::{Device, Target};
use crate::evidence::{DeviceCounts, Evidence, RequestCount};
use crate::judge::{Finding, Missing};
use crate::lab::{Interference, MeasuredTarget, Row};
use crate::op::Gap;
use crate::sync::{Call, Case, Counted, Method, QUESTION, Second, SyncResult, SyncRow, Write};
use crate::timing::{Sample, Timing};

/// Syncs of every run.
const SYNCS: u64 = 1000;

/// A row in the making: by default one writer's 1,000 syncs of 1 KiB on `host`, not
/// timed, device requests not seen.
#[derive(Clone)]
pub(in crate::sync) struct Made {
    case: Case,
    times_us: Vec<f64>,
    evidence: Evidence,
    seconds: Vec<Second>,
    write_cache: Option<&'static str>,
    other_requests: Option<u64>,
}

impl Made {
    pub(in crate::sync) fn new(call: Call, write: Write) -> Self {
        let missing = vec![Gap::new("device requests", "not permitted")];
        Self {
            case: Case {
                call,
                write,
                ..Case::ARTICLE
            },
            times_us: Vec::new(),
            evidence: Evidence {
                missing,
                ..Evidence::default()
            },
            seconds: Vec::new(),
            write_cache: None,
            other_requests: None,
        }
    }

    pub(in crate::sync) fn writers(mut self, writers: u64) -> Self {
        self.case.writers = writers;
        self
    }

    /// Microseconds per sync of every run.
    pub(in crate::sync) fn timed(mut self, times_us: &[f64]) -> Self {
        self.times_us = times_us.to_vec();
        self
    }

    /// Data, journal, commit and metadata writes of 4096 bytes, and flushes, per sync.
    pub(in crate::sync) fn asking(mut self, per_sync: [u64; 5]) -> Self {
        let [data, journal, commit, metadata, flushes] = per_sync.map(|each| each * SYNCS);
        let request = |count| RequestCount {
            count,
            bytes: count * 4096,
            time_s: 0.0,
        };
        self.evidence.device = Some(DeviceCounts {
            data: request(data),
            journal: request(journal),
            commit: request(commit),
            metadata: request(metadata),
            flushes,
            ..DeviceCounts::default()
        });
        self.evidence.missing.clear();
        self
    }

    /// The counts of [`Self::asking`].
    pub(super) fn counts(&mut self) -> &mut DeviceCounts {
        self.evidence.device.as_mut().unwrap()
    }

    pub(super) fn losing(mut self, events: u64) -> Self {
        self.evidence.lost_events = events;
        self
    }

    /// Requests of others on the same disk during the observed run.
    pub(in crate::sync) fn among(mut self, other_requests: u64) -> Self {
        self.other_requests = Some(other_requests);
        self
    }

    /// Syncs of every second.
    pub(super) fn seconds(mut self, rates: &[u64]) -> Self {
        let second = |&syncs: &u64| Second {
            lasted_s: 1.0,
            syncs,
            ..Second::default()
        };
        self.seconds = rates.iter().map(second).collect();
        self
    }

    /// The cache of the only disk.
    pub(super) fn on_device(mut self, write_cache: &'static str) -> Self {
        self.write_cache = Some(write_cache);
        self
    }

    fn row(self) -> SyncRow {
        let run = |time_us: &f64| Sample {
            real_s: time_us * 1e-6 * SYNCS as f64,
            user_s: 0.0,
            system_s: 0.0,
        };
        let samples: Vec<Sample> = self.times_us.iter().map(run).collect();
        let row = Row {
            case: self.case,
            target: "host".to_owned(),
            timing: Timing::from_samples(&samples),
            evidence: self.evidence,
            interference: Interference {
                other_requests: self.other_requests,
                ..Interference::default()
            },
            notes: Vec::new(),
        };
        let counted = Counted {
            syncs_per_run: SYNCS,
            observed_syncs: SYNCS,
            seconds: self.seconds,
            ..Counted::default()
        };
        SyncRow::new(row, counted)
    }
}

/// A result of these rows on a host with one disk.
pub(in crate::sync) fn result(made: Vec<Made>) -> SyncResult {
    let device = |write_cache: &str| Device {
        name: "vda".to_owned(),
        model: None,
        rotational: None,
        write_cache: Some(write_cache.to_owned()),
        fua: None,
        scheduler: None,
    };
    let cache = made.iter().find_map(|row| row.write_cache);
    SyncResult {
        question: QUESTION.to_owned(),
        targets: vec![MeasuredTarget {
            name: "host".to_owned(),
            image: false,
            storage: Target {
                path: "/data".to_owned(),
                filesystem: "ext4".to_owned(),
                mount_options: String::new(),
                journal: Some(true),
                devices: cache.map(device).into_iter().collect(),
            },
        }],
        rows: made.into_iter().map(Made::row).collect(),
        calibrations: Vec::new(),
        projections: Vec::new(),
        answers: Vec::new(),
        settings: Vec::new(),
        caveats: Vec::new(),
        missing: Vec::new(),
        method: Method::default(),
    }
}

/// What a judge says of these rows.
pub(super) fn judge(judge: Judge, made: Vec<Made>) -> Result<Finding, Missing> {
    judge(&TargetRows::of(&result(made))[0])
}
