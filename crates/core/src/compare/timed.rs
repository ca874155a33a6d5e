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
        _ => {
            return (None, gap(Reason::OneTimed));
        }
    };
    let cpus = base.environment.cpus.max(new.environment.cpus).max(1);
    let time = time(&base_runs, &new_runs, f64::from(cpus));
    let found = Timed {
        median_s: Sides {
            base: base.takes_s(),
            new: new.takes_s(),
        },
        min_s: ends(&base_runs, &new_runs, |times| times.min),
        max_s: ends(&base_runs, &new_runs, |times| times.max),
        runs: Sides {
            base: base_runs.each.len(),
            new: new_runs.each.len(),
        },
        others_cpus: Sides {
            base: base_runs.others_cpus,
            new: new_runs.others_cpus,
        },
        judgement: time.map_or(Judgement::NotJudged, |time| time.judgement()),
        time,
    };
    let too_few = || gap(Reason::TwoRunsEach);
    let missing = time.map_or_else(too_few, |_| None);
    (Some(found), missing)
}

fn ends(base: &TimedRuns, new: &TimedRuns, end: fn(Spread) -> f64) -> Sides<f64> {
    let of = |runs: &TimedRuns| runs.wall_s.map_or(0.0, end);
    Sides {
        base: of(base),
        new: of(new),
    }
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
