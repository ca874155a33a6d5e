//! Whether two results differ: `iostrata.compare/1`.
//!
//! Times of two runs are judged with the noise of their samples; counts are compared exactly. This
//! module decides what is paired, and the conditions under which a pair is meaningful;
//! docs/compare.md has the reasons.

mod changed;
mod condition;
mod count;
mod findings;
mod lab;
mod limit;
mod strata;
#[cfg(test)]
mod tests;
mod time;
mod timed;
mod trace;
mod verdict;

use serde::{Deserialize, Serialize};

use crate::evidence::CallStats;
use crate::gap::Gap;

pub use changed::{ChangedFile, FileWork};
pub use condition::{Condition, Weight};
pub use count::{Count, Part};
pub use findings::{Findings, Found};
pub use lab::{Pair, lab};
pub use limit::{Exceeded, FailOn, Limit, LimitError, Undecided};
pub use strata::Measure;
pub use time::TimeRatio;
pub use timed::Timed;
pub use trace::{PAGE_CACHE, trace};
pub use verdict::{USUAL_LIMIT, Verdict};

/// The schema name written into every comparison.
pub const SCHEMA: &str = "iostrata.compare/1";

/// One value of either result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
pub struct Sides<T> {
    pub base: T,
    pub new: T,
}

impl<T> Sides<T> {
    fn of<S>(base: &S, new: &S, value: impl Fn(&S) -> T) -> Self {
        Self {
            base: value(base),
            new: value(new),
        }
    }
}

/// The judgement of the times, without a limit. [`Verdict`] is the word for readers; this one is
/// `no_difference` even where almost nothing was detectable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// `new` takes longer, beyond the noise.
    Slower,
    /// `new` takes less time, beyond the noise.
    Faster,
    /// Some parts take longer and some take less time.
    Mixed,
    /// Nothing beyond the noise was found.
    NoDifference,
    /// There is too little data.
    NotJudged,
}

/// Two results, compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Comparison {
    pub schema: String,
    /// Version of iostrata that made the comparison.
    pub iostrata_version: String,
    /// Names of the two files, as typed.
    pub names: Sides<String>,
    /// Names of the further pairs, when several pairs of runs are compared.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub further: Vec<Sides<String>>,
    /// Conditions that differ between the two runs, most serious first.
    pub conditions: Vec<Condition>,
    pub judgement: Judgement,
    /// The verdict for the limit: the word for readers. `null` where nothing can be judged.
    pub verdict: Option<Verdict>,
    /// The limit of all verdicts, per cent: that of `fail_on`, or 10 %.
    pub limit_percent: f64,
    /// Whether any calls, or the bytes they moved, differ; `null` when they were not observed.
    pub calls_differ: Option<bool>,
    /// Two results of `lab`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lab: Option<Rows>,
    /// Two results of `trace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Runs>,
    /// Entries of only one result.
    pub unpaired: Sides<Vec<String>>,
    /// The requested failure limit and its outcome; `null` without one.
    pub fail_on: Option<FailOn>,
    /// Parts that could not be compared, and why.
    pub missing: Vec<Gap>,
}

impl Comparison {
    /// Conditions that make a difference meaningless.
    pub fn unlike(&self) -> impl Iterator<Item = &Condition> {
        let weighty = |condition: &&Condition| condition.weight != Weight::Note;
        self.conditions.iter().filter(weighty)
    }

    /// Whether any entry of one was found in the other.
    pub fn has_pairs(&self) -> bool {
        self.trace.is_some() || self.lab.as_ref().is_some_and(|rows| !rows.rows.is_empty())
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Rows {
    pub experiments: Vec<Whole>,
    /// Every pair, in the order of `base`.
    pub rows: Vec<Row>,
}

/// The times of an experiment, all its pairs together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Whole {
    /// Name of the experiment.
    pub id: String,
    /// Pairs with times.
    pub timed: usize,
    /// Ratio of the times, `new` over `base`; `null` when there is too little data.
    pub time: Option<TimeRatio>,
    pub judgement: Judgement,
    /// Its verdict for the limit; `null` when there is too little data.
    pub verdict: Option<Verdict>,
    /// CPUs kept busy by other processes during the timing runs, on average; `null` when unknown.
    pub others_cpus: Sides<Option<f64>>,
}

/// One pair of rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Row {
    pub experiment: String,
    /// The case, as in the results.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub case: serde_json::Value,
    /// The case as text.
    pub label: String,
    pub target: String,
    /// Numbers of the rows in their experiments, from 1.
    pub numbers: Sides<usize>,
    /// What is timed: a `run` of the case, or one `sync` of it.
    pub per: String,
    /// Median times of all runs, seconds; `null` when a row has none.
    pub median_s: Sides<Option<f64>>,
    /// Timing runs.
    pub runs: Sides<usize>,
    /// Ratio of the times, `new` over `base`; `null` when there is too little data.
    pub time: Option<TimeRatio>,
    pub judgement: Judgement,
    /// Its verdict for the limit; `null` when there is too little data.
    pub verdict: Option<Verdict>,
    /// Counts that differ, in the first pair.
    pub counts: Vec<Count>,
    /// Counts that were compared and are equal, in the first pair.
    pub equal_counts: usize,
    /// Requests of other programs on the same disk during the observed runs: flushes, journal and
    /// metadata requests may include theirs. `null` when unknown.
    pub others_requests: Sides<Option<u64>>,
}

impl Row {
    /// Whether the device requests may include those of other programs.
    pub fn is_disturbed(&self) -> bool {
        let Sides { base, new } = self.others_requests;
        base != Some(0) || new != Some(0)
    }
}

/// Two traced runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Runs {
    /// Wall time, seconds. From one run each: shown, not judged.
    pub wall_s: Sides<f64>,
    /// The programs and their arguments.
    pub commands: Sides<String>,
    /// Lost events: counts may be too low by this many.
    pub lost_events: Sides<u64>,
    /// The work of each run at each stratum, from the program down to the device.
    pub strata: Vec<Measure>,
    /// Findings that went, came and stayed; `null` when either run's findings are incomplete.
    pub findings: Option<Findings>,
    /// Files whose opens, reads, writes or syncs differ, largest difference in time first.
    pub changed: Vec<ChangedFile>,
    /// The unobserved timed runs; `null` unless both have some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed: Option<Timed>,
    /// Counts of the whole run that differ.
    pub counts: Vec<Count>,
    /// Counts of the whole run that are equal.
    pub equal_counts: usize,
    /// Calls that are in both, largest difference in time first.
    pub calls: Vec<Calls>,
    /// Files that are in both, in the same order.
    pub files: Vec<Files>,
}

/// One system call, over all files of two runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Calls {
    pub name: String,
    /// Calls, errors, bytes and seconds inside.
    #[serde(flatten)]
    pub sides: Sides<CallStats>,
}

impl Calls {
    /// Whether calls, errors or bytes differ.
    pub fn differ(&self) -> bool {
        let counts = |call: CallStats| (call.count, call.errors, call.bytes);
        counts(self.sides.base) != counts(self.sides.new)
    }
}

/// One path of two runs: all files that had this name, one after the other or at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Files {
    pub path: String,
    /// The path in hexadecimal, where `path` has replaced bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_hex: Option<String>,
    /// Seconds in calls on it. From one run each: shown, not judged.
    pub time_s: Sides<f64>,
    pub counts: Vec<Count>,
    pub equal_counts: usize,
}
