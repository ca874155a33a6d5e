//! Findings of two traced runs: gone, new, and in both.

use serde::{Deserialize, Serialize};

use super::Sides;
use crate::gap::{Gap, Missing, Reason};
use crate::trace::{Finding, Severity, TraceResult};

/// Findings of two runs, most severe first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Findings {
    /// In `base` only.
    pub gone: Vec<Found>,
    /// In `new` only.
    pub came: Vec<Found>,
    /// In both: the same rule, of the same file.
    pub stayed: Vec<Found>,
}

/// A finding of either run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Found {
    pub rule: String,
    /// The severity; for one in both runs, that in `new`.
    pub severity: Severity,
    /// One line; for one in both runs, that of `new`.
    pub title: String,
    pub file: Option<String>,
    /// Time spent on it, seconds; `null` if it costs none, and in the run without it.
    pub cost_s: Sides<Option<f64>>,
}

impl Found {
    fn of(finding: &Finding, cost_s: Sides<Option<f64>>) -> Self {
        Self {
            rule: finding.rule.clone(),
            severity: finding.severity,
            title: finding.title.clone(),
            file: finding.file.clone(),
            cost_s,
        }
    }
}

/// Compares the findings of two runs; returns the reason if either run's findings are incomplete.
pub(super) fn findings(base: &TraceResult, new: &TraceResult) -> Result<Findings, Gap> {
    for (side, result) in [("base", base), ("new", new)] {
        let mut gaps = result.missing.iter();
        if let Some(gap) = gaps.find(|gap| gap.what == Missing::Findings) {
            let why = Reason::IncompleteSide {
                side: side.to_owned(),
                why: Box::new(gap.why.clone()),
            };
            return Err(Gap::new(Missing::ChangedFindings, why));
        }
    }
    let mut theirs: Vec<&Finding> = new.findings.iter().collect();
    let mut found = Findings::default();
    for ours in &base.findings {
        let is_same = |one: &&Finding| one.rule == ours.rule && one.file == ours.file;
        let base = ours.cost_s;
        match theirs.iter().position(is_same) {
            Some(at) => {
                let new = theirs.remove(at);
                let cost_s = Sides {
                    base,
                    new: new.cost_s,
                };
                found.stayed.push(Found::of(new, cost_s));
            }
            None => found.gone.push(Found::of(ours, Sides { base, new: None })),
        }
    }
    let came = theirs.into_iter().map(|one| {
        let new = one.cost_s;
        Found::of(one, Sides { base: None, new })
    });
    found.came.extend(came);
    Ok(found)
}
