//! The common data of every experiment's rows, for a comparison.

use super::super::Sides;
use super::super::count::{Counts, Part, Scale};
use crate::atime::AtimeRow;
use crate::evidence::Evidence;
use crate::lab::{Experiment, Facts, Interference};
use crate::sync;

/// A row of any experiment.
pub(super) struct Measured<'a> {
    /// Number in its experiment, from 1.
    pub(super) number: usize,
    pub(super) case: serde_json::Value,
    pub(super) label: String,
    pub(super) target: &'a str,
    /// Seconds of each timing run; with `syncs`, per sync.
    pub(super) samples_s: Vec<f64>,
    /// Elapsed seconds of all timing runs.
    pub(super) timed_s: f64,
    pub(super) interference: Interference,
    evidence: &'a Evidence,
    /// Syncs of the observed run, if it had a fixed duration instead of fixed work.
    syncs: Option<u64>,
    /// Whether the access time changed: while it was due, and while it was fresh.
    moved: Option<[bool; 2]>,
}

impl<'a> Measured<'a> {
    fn of(facts: Facts<'a>) -> Self {
        let samples_s: &[f64] = facts.timing.map_or(&[], |timing| &timing.samples_s);
        Self {
            number: facts.number,
            case: facts.case().into(),
            label: facts.label(),
            target: facts.target,
            timed_s: samples_s.iter().sum(),
            samples_s: samples_s.to_vec(),
            interference: *facts.interference,
            evidence: facts.evidence,
            syncs: None,
            moved: None,
        }
    }

    /// Whether both are the same case on the same target.
    pub(super) fn is_pair_of(&self, other: &Self) -> bool {
        self.target == other.target && self.case == other.case
    }

    /// What is timed.
    pub(super) fn unit(&self) -> &'static str {
        if self.syncs.is_some() { "sync" } else { "run" }
    }

    /// Counts of this row and its pair.
    pub(super) fn counts(&self, new: &Self) -> Counts {
        let mut counts = Counts::default();
        let scale = match (self.syncs, new.syncs) {
            (Some(base), Some(new)) => Scale {
                by: Sides {
                    base: base.max(1) as f64,
                    new: new.max(1) as f64,
                },
                within: sync::DISTURBED,
            },
            _ => Scale::RUN,
        };
        counts.evidence(scale, self.evidence, new.evidence);
        if let (Some(base), Some(new)) = (self.moved, new.moved) {
            for (state, base, new) in [("due", base[0], new[0]), ("fresh", base[1], new[1])] {
                let what = || format!("access times moved while {state}");
                let (base, new) = (Some(u64::from(base)), Some(u64::from(new)));
                counts.hold(Part::Filesystem, Scale::RUN, what, base, new);
            }
        }
        counts
    }
}

pub(super) fn rows(experiment: &Experiment) -> Vec<Measured<'_>> {
    let mut rows: Vec<Measured<'_>> = experiment.facts().into_iter().map(Measured::of).collect();
    match experiment {
        Experiment::Sync(result) => {
            for (measured, row) in rows.iter_mut().zip(&result.rows) {
                measured.samples_s = row.times_s();
                measured.syncs = Some(row.observed_syncs);
            }
        }
        Experiment::Atime(result) => {
            for (measured, row) in rows.iter_mut().zip(&result.rows) {
                if let AtimeRow::Touch(row) = row {
                    measured.moved = Some([row.atime_changed, row.atime_changed_when_fresh]);
                }
            }
        }
        _ => {}
    }
    rows
}
