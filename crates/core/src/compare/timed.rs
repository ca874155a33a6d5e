//! Times of two traces with unobserved runs: judged like a row of the lab, with one run of each as
//! a round.

use serde::{Deserialize, Serialize};

use super::time::{Among, Basis, Estimate, FALSE_ALARM, Load, rounds};
use super::{Judgement, Limit, Sides, TimeRatio, Verdict};
use crate::gap::{Gap, Missing, Reason};
use crate::trace::{Spread, TimedRuns, TraceResult};

/// The timed runs of two traces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Timed {
    /// Median elapsed times, seconds.
    pub median_s: Sides<f64>,
    /// The shortest, seconds.
    pub min_s: Sides<f64>,
    /// The longest, seconds.
    pub max_s: Sides<f64>,
    /// Timed runs.
    pub runs: Sides<usize>,
    /// CPUs kept busy by other processes meanwhile, on average; `null` when unknown.
    pub others_cpus: Sides<Option<f64>>,
    /// Ratio of the times, `new` over `base`; `null` when there is too little data.
    pub time: Option<TimeRatio>,
    pub judgement: Judgement,
}

impl Timed {
    /// The verdict for a limit; `None` when there is too little data.
    pub fn verdict(&self, limit: Limit) -> Option<Verdict> {
        self.time.map(|time| Verdict::of(&time, limit))
    }
}

/// The times of two traces, or why they are not judged; both if only the number of runs is too
/// small.
pub(super) fn timed(base: &TraceResult, new: &TraceResult) -> (Option<Timed>, Option<Gap>) {
    let gap = |why| Some(Gap::new(Missing::Times, why));
    let with = |result: &'_ TraceResult| result.runs.clone().filter(|runs| !runs.each.is_empty());
    let (base_runs, new_runs) = match (with(base), with(new)) {
        (None, None) => return (None, gap(Reason::OneRunEach { remedy: true })),
        (Some(base), Some(new)) => (base, new),
        _ => return (None, gap(Reason::OneTimed)),
    };
    let cpus = base.environment.cpus.max(new.environment.cpus).max(1);
    let time = time(&base_runs, &new_runs, f64::from(cpus));
    let found = Timed {
        median_s: Sides::of(base, new, TraceResult::takes_s),
        min_s: Sides::of(&base_runs, &new_runs, |runs| end(runs, |times| times.min)),
        max_s: Sides::of(&base_runs, &new_runs, |runs| end(runs, |times| times.max)),
        runs: Sides::of(&base_runs, &new_runs, |runs| runs.each.len()),
        others_cpus: Sides::of(&base_runs, &new_runs, |runs| runs.others_cpus),
        judgement: time.map_or(Judgement::NotJudged, |time| time.judgement()),
        time,
    };
    let too_few = || gap(Reason::TwoRunsEach);
    let missing = time.map_or_else(too_few, |_| None);
    (Some(found), missing)
}

fn end(runs: &TimedRuns, of: fn(Spread) -> f64) -> f64 {
    runs.wall_s.map_or(0.0, of)
}

fn time(base: &TimedRuns, new: &TimedRuns, cpus: f64) -> Option<TimeRatio> {
    let times_s =
        |runs: &TimedRuns| -> Vec<f64> { runs.each.iter().map(|run| run.wall_s).collect() };
    let logs = rounds(&times_s(base), &times_s(new))?;
    // Unknown activity of others is assumed to be none, as in the lab.
    let busy = base.others_cpus.zip(new.others_cpus);
    let load = busy.map_or_else(Load::default, |(base, new)| {
        Load::of(base.min(cpus), new.min(cpus), cpus)
    });
    let among = Among::of(std::slice::from_ref(&logs));
    let estimate = Estimate::row(&logs, &among, Basis::Rounds(load))?;
    Some(estimate.change(FALSE_ALARM))
}
