//! Rows built by hand for the tests of the judges.

use super::{Claim, Finding, Judged, Missing, TargetRows};
use crate::environment::{Device, Storage};
use crate::evidence::{DeviceCounts, Evidence, RequestCount};
use crate::gap::{self, Gap, Reason, Stratum};
use crate::lab::{ExperimentResult, Interference, MeasuredTarget, Method, Row};
use crate::timing::{Sample, Timing};

pub(crate) const FAST: [f64; 5] = [1.0, 1.1, 1.2, 1.3, 1.4];
pub(crate) const SLOW: [f64; 5] = [70.0, 71.0, 72.0, 73.0, 74.0];
/// Lies within [`SLOW`].
pub(crate) const SLOW_TOO: [f64; 5] = [69.5, 70.5, 72.5, 73.5, 74.5];
/// Around [`SLOW`], but wider than any margin.
pub(crate) const WIDE: [f64; 5] = [50.0, 60.0, 72.0, 90.0, 110.0];

/// Times around a median that no reader would distinguish.
pub(crate) fn around(median: f64) -> [f64; 5] {
    [0.98, 0.99, 1.0, 1.01, 1.02].map(|factor| factor * median)
}

/// Times so scattered that nothing can be concluded.
pub(crate) fn noisy(median: f64) -> [f64; 5] {
    [0.2, 0.5, 1.0, 2.0, 5.0].map(|factor| factor * median)
}

/// The timing of runs with these microseconds.
pub(crate) fn timing(times_us: &[f64]) -> Option<Timing> {
    let sample = |us: &f64| Sample {
        real_s: us * 1e-6,
        user_s: 0.0,
        system_s: 0.0,
    };
    Timing::from_samples(&times_us.iter().map(sample).collect::<Vec<_>>())
}

/// Requests with this many bytes in total.
pub(crate) fn request(count: u64, bytes: u64) -> RequestCount {
    RequestCount {
        count,
        bytes,
        time_s: 0.0,
    }
}

/// A row on `host` without times and without observed device requests.
pub(crate) fn row<C>(case: C) -> Row<C> {
    Row {
        case,
        target: "host".to_owned(),
        timing: None,
        evidence: Evidence {
            missing: vec![Gap::new(
                gap::Missing::Stratum(Stratum::Device),
                Reason::Error("not permitted".into()),
            )],
            ..Evidence::default()
        },
        interference: Interference::default(),
        notes: Vec::new(),
    }
}

/// A case for which rows are built.
pub trait Made {
    /// Microseconds per time unit of its tests.
    const TIME_US: f64 = 1.0;

    /// Records or syncs of a run: times and requests are given per unit.
    fn units(&self) -> u64 {
        1
    }
}

impl<C: Made> Row<C> {
    pub(crate) fn on(mut self, target: &str) -> Self {
        target.clone_into(&mut self.target);
        self
    }

    /// The times of every run, for one of [`Made::units`].
    pub(crate) fn timed(mut self, times: &[f64]) -> Self {
        let run_us = |time: &f64| time * C::TIME_US * self.case.units() as f64;
        self.timing = timing(&times.iter().map(run_us).collect::<Vec<_>>());
        self
    }

    /// Data, journal, commit and metadata writes of 4096 bytes, and flushes, for one of
    /// [`Made::units`].
    pub(crate) fn asking(mut self, each: [u64; 5]) -> Self {
        self.evidence.device = Some(self.counts(each).into());
        self.evidence.missing.clear();
        self
    }

    /// The same after the program's end.
    pub(crate) fn after_exit(mut self, each: [u64; 5]) -> Self {
        self.evidence.device_after_exit = Some(self.counts(each).into());
        self
    }

    fn counts(&self, each: [u64; 5]) -> DeviceCounts {
        let [data, journal, commit, metadata, flushes] = each.map(|each| each * self.case.units());
        let request = |count| request(count, count * 4096);
        DeviceCounts {
            data: request(data),
            journal: request(journal),
            commit: request(commit),
            metadata: request(metadata),
            flushes,
            ..DeviceCounts::default()
        }
    }

    /// Changes the counts of [`Self::asking`].
    pub(crate) fn change_device(&mut self, change: impl FnOnce(&mut DeviceCounts)) {
        let mut counts = *self.evidence.exact_device().unwrap();
        change(&mut counts);
        self.evidence.device = Some(counts.into());
    }

    pub(crate) fn losing(mut self, events: u64) -> Self {
        self.evidence.lost_events = events;
        self
    }
}

/// A measured file system, with the write cache of its only disk.
pub(crate) fn target(name: &str, filesystem: &str, write_cache: Option<&str>) -> MeasuredTarget {
    let device = |write_cache: &str| Device {
        name: "vda".to_owned(),
        model: None,
        rotational: None,
        write_cache: Some(write_cache.to_owned()),
        fua: None,
        scheduler: None,
    };
    MeasuredTarget {
        name: name.to_owned(),
        image: false,
        storage: Storage {
            path: "/data".to_owned(),
            filesystem: filesystem.to_owned(),
            mount_options: String::new(),
            journal: None,
            devices: write_cache.map(device).into_iter().collect(),
        },
    }
}

/// A result of these rows on a host with ext4.
pub(crate) fn result<R, O, M: Default>(rows: Vec<R>, own: O) -> ExperimentResult<R, O, M> {
    ExperimentResult {
        question: "which?".to_owned(),
        targets: vec![target("host", "ext4", None)],
        rows,
        own,
        answers: Vec::new(),
        settings: None,
        caveats: Vec::new(),
        missing: Vec::new(),
        method: Method::default(),
    }
}

/// The verdict on a claim, found by a part of its text, on the first target.
#[track_caller]
pub(crate) fn judge<R: Judged, X>(
    claims: &[Claim<R, X>],
    part_of_text: &str,
    targets: &[TargetRows<'_, R, X>],
) -> Result<Finding, Missing> {
    let mut found = claims
        .iter()
        .filter(|claim| claim.text.contains(part_of_text));
    let claim = found.next().unwrap();
    assert!(found.next().is_none(), "{part_of_text:?} is not one claim");
    claim.judge(&targets[0])
}

impl Missing {
    #[track_caller]
    pub(crate) fn into_why(self) -> String {
        match self {
            Self::Rows => panic!("the rows were not measured"),
            Self::Evidence(why) => why,
        }
    }
}
