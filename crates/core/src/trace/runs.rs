//! Unobserved runs of the program: its duration without tracing.

use serde::{Deserialize, Serialize};

use super::TraceResult;
use crate::stats::{self, Ends};

/// A run is an outlier when its modified z-score exceeds this (Iglewicz and Hoaglin 1993 use 3.5,
/// for samples of the normal distribution; times have a longer tail).
const OUTLIER: f64 = 14.8;

/// Runs closer to the median than this share of it are not outliers, however close the others are.
const NEAR: f64 = 0.1;

/// Converts the median absolute deviation of a normal sample into its standard deviation.
const DEVIATION: f64 = 1.4826;

/// Fewer runs show no outliers.
const SHOWS_OUTLIERS: usize = 3;

/// Runs without an observer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct TimedRuns {
    /// Warm-up runs, whose times were discarded.
    pub warmup: u64,
    /// The files that were evicted from the page cache before each timed run and before the
    /// observed one; `null` when that was not requested.
    pub cold: Option<Cold>,
    /// The timed runs, in their order.
    pub each: Vec<TimedRun>,
    /// Their elapsed times; `null` when there are none.
    pub wall_s: Option<Spread>,
    /// Median CPU seconds in user mode.
    pub user_s: Option<f64>,
    /// Median CPU seconds in the kernel.
    pub system_s: Option<f64>,
    /// CPUs kept busy by other processes during the timed runs, on average; `null` when unknown.
    pub others_cpus: Option<f64>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct TimedRun {
    /// From the program's exec to its end, seconds.
    pub wall_s: f64,
    /// CPU time in user mode, of the program and all children it waited for, seconds.
    pub user_s: f64,
    /// The same in the kernel.
    pub system_s: f64,
    /// Peak resident memory of one of its processes. `null` when it is no more than a new process
    /// inherits from iostrata before its exec: the kernel counts that too.
    pub max_resident_bytes: Option<u64>,
    /// Exit code; `null` when a signal ended it.
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
}

impl TimedRun {
    /// Whether it ended with an exit code other than 0, or by a signal.
    pub fn has_failed(&self) -> bool {
        self.exit_code != Some(0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Spread {
    pub median: f64,
    /// Lower end of its 95 % bootstrap interval; for five runs or fewer, the shortest.
    pub low: f64,
    /// Upper end of it; for five runs or fewer, the longest.
    pub high: f64,
    pub min: f64,
    pub max: f64,
    pub n: usize,
}

impl Spread {
    fn of(values: &[f64]) -> Option<Self> {
        let interval = stats::median_interval(values)?;
        Some(Self {
            median: interval.median,
            low: interval.low,
            high: interval.high,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(0.0, f64::max),
            n: values.len(),
        })
    }

    /// Whether `low` and `high` are the range of the runs instead of an interval of the median.
    pub fn is_range(&self) -> bool {
        Ends::of(self.n) == Ends::Range
    }
}

/// Files that were evicted before every run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Cold {
    /// Regular files used by an observed run before all others.
    pub files: u64,
    /// Bytes evicted before the observed run.
    pub evicted_bytes: u64,
    /// Bytes that stayed resident, in the run with the most of them.
    pub left_bytes: u64,
    /// Files that stayed, completely or partly, or with unknown residency; most bytes first.
    pub left: Vec<Stayed>,
}

/// A file that stayed after an eviction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Stayed {
    pub path: String,
    /// Maximum bytes of it that stayed resident; `null` when unknown.
    pub bytes: Option<u64>,
    pub why: String,
}

/// Reasons to doubt the times of runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Doubt {
    /// Number of runs that ended with an exit code other than 0, or by a signal.
    Failed(usize),
    /// Ratio of the first run to the median.
    FirstSlower(f64),
    Outliers(usize),
}

impl TimedRuns {
    /// From runs, with `warmup` runs before them.
    pub fn of(warmup: u64, each: Vec<TimedRun>, cold: Option<Cold>) -> Self {
        let all = |of: fn(&TimedRun) -> f64| -> Vec<f64> { each.iter().map(of).collect() };
        Self {
            warmup,
            cold,
            wall_s: Spread::of(&all(|run| run.wall_s)),
            user_s: stats::median(&all(|run| run.user_s)),
            system_s: stats::median(&all(|run| run.system_s)),
            others_cpus: None,
            each,
        }
    }

    /// Reasons to doubt them.
    pub fn doubts(&self) -> Vec<Doubt> {
        let mut doubts = Vec::new();
        let failed = self.each.iter().filter(|run| run.has_failed()).count();
        if failed > 0 {
            doubts.push(Doubt::Failed(failed));
        }
        let times_s: Vec<f64> = self.each.iter().map(|run| run.wall_s).collect();
        let far = outliers(&times_s);
        match (far.first(), self.wall_s) {
            (Some(0), Some(wall)) if times_s[0] > wall.median => {
                doubts.push(Doubt::FirstSlower(times_s[0] / wall.median));
            }
            _ => {}
        }
        if !far.is_empty() && !matches!((&*far, doubts.last()), ([0], Some(Doubt::FirstSlower(_))))
        {
            doubts.push(Doubt::Outliers(far.len()));
        }
        doubts
    }
}

fn outliers(values: &[f64]) -> Vec<usize> {
    let (true, Some(middle)) = (values.len() >= SHOWS_OUTLIERS, stats::median(values)) else {
        return Vec::new();
    };
    let distance = |value: &f64| (value - middle).abs();
    let distances: Vec<f64> = values.iter().map(distance).collect();
    let deviation = DEVIATION * stats::median(&distances).unwrap_or_default();
    let is_far = |distance: f64| distance > OUTLIER * deviation && distance > NEAR * middle;
    let far = distances.iter().enumerate();
    far.filter(|(_, distance)| is_far(**distance))
        .map(|(place, _)| place)
        .collect()
}

impl TraceResult {
    pub fn timed(&self) -> Option<Spread> {
        self.runs.as_ref()?.wall_s
    }

    /// The duration of the program, seconds: the median of the timed runs, or the observed run.
    pub fn takes_s(&self) -> f64 {
        self.timed().map_or(self.wall_s, |timed| timed.median)
    }

    /// Upper bound of every saving, seconds: the observed run, or the median of the timed ones if
    /// that is less.
    pub fn least_s(&self) -> f64 {
        self.takes_s().min(self.wall_s)
    }

    /// Ratio of the observed run to the median of the timed ones.
    pub fn slowdown(&self) -> Option<f64> {
        let median = self.timed()?.median;
        (median > 0.0).then(|| self.wall_s / median)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::result;
    use super::*;

    fn runs(times_s: &[f64]) -> TimedRuns {
        let run = |wall_s: &f64| TimedRun {
            wall_s: *wall_s,
            user_s: wall_s / 2.0,
            system_s: wall_s / 4.0,
            exit_code: Some(0),
            ..TimedRun::default()
        };
        TimedRuns::of(1, times_s.iter().map(run).collect(), None)
    }

    #[test]
    fn five_runs_have_a_range_and_six_an_interval() {
        let five = runs(&[1.5, 1.0, 3.0, 2.0, 1.25]);
        let wall = five.wall_s.unwrap();
        assert_eq!((wall.median, wall.low, wall.high), (1.5, 1.0, 3.0));
        assert_eq!((wall.min, wall.max, wall.n), (1.0, 3.0, 5));
        assert!(wall.is_range());
        assert_eq!((five.user_s, five.system_s), (Some(0.75), Some(0.375)));
        let six = runs(&[1.0, 1.1, 1.2, 1.3, 1.4, 9.0]).wall_s.unwrap();
        assert!(!six.is_range() && six.high < six.max, "{six:?}");
        assert_eq!(runs(&[]).wall_s, None);
    }

    #[test]
    fn a_first_run_that_is_slower_is_told_as_that() {
        let first = runs(&[3.0, 1.0, 1.01, 1.02, 1.0]);
        assert_eq!(first.doubts(), [Doubt::FirstSlower(3.0 / 1.01)]);
        let later = runs(&[1.0, 1.01, 3.0, 1.02, 0.2]);
        assert_eq!(later.doubts(), [Doubt::Outliers(2)]);
        let both = runs(&[3.0, 1.0, 1.0, 1.0, 3.0]);
        assert_eq!(both.doubts(), [Doubt::FirstSlower(3.0), Doubt::Outliers(2)]);
    }

    #[test]
    fn runs_near_the_median_are_no_outliers() {
        // The others agree to the nanosecond.
        assert_eq!(runs(&[1.0, 1.0, 1.0, 1.0, 1.09]).doubts(), []);
        assert_eq!(runs(&[1.0, 2.0]).doubts(), [], "of two, which one?");
    }

    #[test]
    fn runs_that_failed_are_counted() {
        let mut two = runs(&[1.0, 1.0]);
        two.each[0].exit_code = Some(3);
        two.each[1].exit_code = None;
        two.each[1].signal = Some(9);
        assert_eq!(two.doubts(), [Doubt::Failed(2)]);
    }

    #[test]
    fn the_observed_run_is_held_against_the_median() {
        let mut run = result();
        run.wall_s = 3.0;
        assert_eq!((run.takes_s(), run.slowdown()), (3.0, None));
        run.runs = Some(runs(&[2.0, 2.5, 1.0]));
        assert_eq!((run.takes_s(), run.slowdown()), (2.0, Some(1.5)));
        let bounds = [3.0, 1.5].map(|wall_s| {
            run.wall_s = wall_s;
            Some(run.least_s())
        });
        assert_eq!(bounds, [Some(2.0), Some(1.5)]);
        run.wall_s = 3.0;
        run.runs = Some(runs(&[]));
        assert_eq!((run.takes_s(), run.slowdown()), (3.0, None));
    }
}
