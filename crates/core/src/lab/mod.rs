//! The result of `iostrata lab`: `iostrata.lab/1`.

/// Does the same with the result of an experiment of any kind.
macro_rules! each {
    ($experiment:expr, $result:ident => $does:expr) => {
        match $experiment {
            Experiment::Buffering($result) => $does,
            Experiment::PageCache($result) => $does,
            Experiment::Sync($result) => $does,
            Experiment::Atime($result) => $does,
            Experiment::Copy($result) => $does,
        }
    };
}

mod facts;
mod merge;

use std::any::Any;

use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::answer::Answer;
use crate::atime::{self, AtimeResult};
use crate::buffering::{self, BufferingResult};
use crate::copy::{self, CopyResult};
use crate::doctor::Setting;
use crate::environment::{Environment, Storage};
use crate::evidence::Evidence;
use crate::gap::Gap;
use crate::page_cache::{self, PageCacheResult};
use crate::reply::Reply;
use crate::sync::{self, SyncResult};
use crate::timing::Timing;
pub use facts::Facts;
pub(crate) use facts::HasFacts;
pub use merge::{Input, MergeError, merge};
pub(crate) use merge::{Joined, Stamp, Stamped};

/// The schema name written into every lab result.
pub const SCHEMA: &str = "iostrata.lab/1";

/// A whole lab run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct LabResult {
    pub schema: String,
    /// Machine and storage; those of the first machine where there are several.
    pub environment: Environment,
    /// The machines whose results were merged into this one; empty in a result of one machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// Experiments in the order they ran.
    pub experiments: Vec<Experiment>,
}

impl LabResult {
    /// Machine and storage of each part by its name; without a name of a result of one machine.
    pub fn environments(&self) -> impl Iterator<Item = (Option<&str>, &Environment)> {
        let whole = self.parts.is_empty().then_some((None, &self.environment));
        let parts = self.parts.iter();
        let parts = parts.map(|part| (Some(part.machine.as_str()), &part.environment));
        whole.into_iter().chain(parts)
    }
}

/// One machine of a merged result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Part {
    /// The name of it in its rows, targets and answers.
    pub machine: String,
    pub environment: Environment,
}

/// One experiment's result, told apart by `id`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "id", rename_all = "kebab-case")]
pub enum Experiment {
    Buffering(BufferingResult),
    PageCache(PageCacheResult),
    Sync(SyncResult),
    Atime(AtimeResult),
    Copy(CopyResult),
}

impl Experiment {
    /// Its common parts.
    pub fn shared(&self) -> Shared<'_> {
        match self {
            Self::Buffering(result) => result.shared("buffering", "writes"),
            Self::PageCache(result) => result.shared("page-cache", "reads"),
            Self::Sync(result) => result.shared("sync", "syncs"),
            Self::Atime(result) => result.shared("atime", "access times"),
            Self::Copy(result) => result.shared("copy", "copies"),
        }
    }

    /// The user's questions, answered by rows of one machine.
    pub fn replies(&self) -> Vec<Reply> {
        match self {
            Self::Buffering(result) => buffering::replies(result),
            Self::PageCache(result) => page_cache::replies(result),
            Self::Sync(result) => sync::replies(result),
            Self::Atime(result) => atime::replies(result),
            Self::Copy(result) => copy::replies(result),
        }
    }

    /// Judges its rows again, those of each machine by themselves.
    pub fn judge(&mut self) {
        match self {
            Self::Buffering(result) => result.answers = buffering::answers(result),
            Self::PageCache(result) => result.answers = page_cache::answers(result),
            Self::Sync(result) => result.answers = sync::answers(result),
            Self::Atime(result) => result.answers = atime::answers(result),
            Self::Copy(result) => result.answers = copy::answers(result),
        }
    }

    /// The common parts of each row.
    pub fn facts(&self) -> Vec<Facts<'_>> {
        each!(self, result => {
            let rows = result.numbered();
            rows.map(|(number, row)| row.facts(number)).collect()
        })
    }

    /// Its rows, if they have this type; otherwise none.
    pub fn rows_of<R: 'static>(&self) -> &[R] {
        let rows: &dyn Any = each!(self, result => &result.rows);
        rows.downcast_ref::<Vec<R>>().map_or(&[], Vec::as_slice)
    }

    pub fn rows(&self) -> usize {
        self.shared().rows
    }

    pub fn missing_mut(&mut self) -> &mut Vec<Gap> {
        each!(self, result => &mut result.missing)
    }
}

/// The result of an experiment: rows `R`, and what only this experiment has, `O`. `M` is what
/// only its [`Method`] has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "ResultOf{R}s"))]
pub struct ExperimentResult<R, O, M = ()> {
    pub question: String,
    /// File systems measured.
    pub targets: Vec<MeasuredTarget>,
    /// One row per case and target.
    pub rows: Vec<R>,
    #[serde(flatten)]
    pub own: O,
    pub answers: Vec<Answer>,
    /// Settings of the storage under the directory that decide what is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<Vec<Setting>>,
    /// Properties of this machine that limit the meaning of the rows.
    pub caveats: Vec<String>,
    /// Cases and other parts of the experiment that are not there, and why.
    pub missing: Vec<Gap>,
    /// How the timing runs were made.
    pub method: Method<M>,
}

/// How the figures of an experiment were made.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
pub struct Method<M = ()> {
    /// Timing runs per case: fewest and most.
    pub timing_runs: (usize, usize),
    /// Runs made before those, one a case, that are not among the samples.
    pub warm_up_runs: usize,
    /// The parts that only this experiment has.
    #[serde(flatten)]
    pub own: M,
    /// Whether the run ended before all rows were done.
    pub interrupted: bool,
    /// Rows that were asked for: every case on every target. Fewer are there when
    /// the run was interrupted.
    pub planned_rows: usize,
}

/// The cost of the measuring itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct OwnCost {
    /// Nanoseconds per operation that the measuring loop itself costs, measured with an
    /// empty operation.
    pub own_cost_ns: Option<f64>,
}

/// The common parts of every experiment's result.
#[derive(Debug, Clone, Copy)]
pub struct Shared<'a> {
    pub id: &'static str,
    /// Its subject, in a word or two.
    pub about: &'static str,
    pub question: &'a str,
    pub targets: &'a [MeasuredTarget],
    pub rows: usize,
    pub answers: &'a [Answer],
    /// Properties of this machine that limit the meaning of the rows.
    pub caveats: &'a [String],
    pub missing: &'a [Gap],
    /// Timing runs per case: fewest and most.
    pub timing_runs: (usize, usize),
    /// Runs before those.
    pub warm_up_runs: usize,
    /// Whether the run ended before all rows were done.
    pub interrupted: bool,
    pub planned_rows: usize,
}

impl<R, O, M> ExperimentResult<R, O, M> {
    fn shared(&self, id: &'static str, about: &'static str) -> Shared<'_> {
        Shared {
            id,
            about,
            question: &self.question,
            targets: &self.targets,
            rows: self.rows.len(),
            answers: &self.answers,
            caveats: &self.caveats,
            missing: &self.missing,
            timing_runs: self.method.timing_runs,
            warm_up_runs: self.method.warm_up_runs,
            interrupted: self.method.interrupted,
            planned_rows: self.method.planned_rows,
        }
    }

    /// The rows with their 1-based numbers.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &R)> {
        (1..).zip(&self.rows)
    }
}

/// A file system that was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct MeasuredTarget {
    /// Name used in rows: `host`, `ext4`, `xfs` ..., and `host@web1` in a result of several
    /// machines.
    pub name: String,
    /// Whether iostrata made it, on a loop device that nobody else uses.
    pub image: bool,
    /// Directory, mount and devices.
    #[serde(flatten)]
    pub storage: Storage,
}

impl MeasuredTarget {
    /// Whether its file system is in memory, without device requests.
    pub fn is_in_memory(&self) -> bool {
        matches!(self.storage.filesystem.as_str(), "tmpfs" | "ramfs")
    }
}

/// One case on one target.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(transform = crate::schema::with_id))]
pub struct Row<C> {
    pub case: C,
    pub target: String,
    /// Times, from runs with no probe attached. `null` when no run finished.
    pub timing: Option<Timing>,
    /// Counts, from a separate observed run.
    pub evidence: Evidence,
    pub interference: Interference,
    pub notes: Vec<String>,
}

impl<C: Case> Row<C> {
    /// `sync/fsync/append/1024/1/ext4`: the experiment, the values of the case in their order,
    /// and the target. It is the same in every run and on every machine; in a result of several
    /// machines the machine stands behind it, `sync/fsync/append/1024/1/ext4@web1`. Rows that were
    /// found in another state than they were asked for may share it with others.
    pub fn id(&self) -> String {
        let mut parts = vec![C::EXPERIMENT.to_owned()];
        // Cases are structures of names and numbers, which all can be written as JSON.
        if let Ok(Value::Object(case)) = serde_json::to_value(&self.case) {
            parts.extend(case.into_iter().map(|(_, value)| match value {
                Value::String(name) => name,
                other => other.to_string(),
            }));
        }
        parts.push(self.target.clone());
        parts.join("/")
    }
}

/// With its id and machine, which follow from the rest and are not read back.
impl<C: Case> Serialize for Row<C> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_struct("Row", 8)?;
        row.serialize_field("id", &self.id())?;
        row.serialize_field("case", &self.case)?;
        row.serialize_field("target", &self.target)?;
        match machine_of(&self.target) {
            Some(machine) => row.serialize_field("machine", machine)?,
            None => row.skip_field("machine")?,
        }
        row.serialize_field("timing", &self.timing)?;
        row.serialize_field("evidence", &self.evidence)?;
        row.serialize_field("interference", &self.interference)?;
        row.serialize_field("notes", &self.notes)?;
        row.end()
    }
}

/// Other activity of the machine while a row was measured.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Interference {
    /// CPU seconds the hypervisor took away during the timing runs.
    pub steal_s: Option<f64>,
    /// CPU seconds other processes used during the timing runs.
    pub other_cpu_s: Option<f64>,
    /// Block requests of other files on the same disk during the observed run.
    pub other_requests: Option<u64>,
}

/// The case of one row of an experiment.
pub trait Case: Serialize {
    /// Name of the experiment, as in the JSON.
    const EXPERIMENT: &'static str;

    /// The case in words, without its target.
    fn label(&self) -> String;
}

/// Separator of a target and its machine, `host@web1`, in a result of several machines; no other name
/// has one. So rows of two machines never have the same target, nor the same id.
const AT: char = '@';

/// Name of the target that is the measured directory's own file system.
pub const HOST: &str = "host";

/// The target as the machine's own result names it.
pub fn target_of(name: &str) -> &str {
    name.rsplit_once(AT).map_or(name, |(target, _)| target)
}

/// The machine, in a result of several.
pub fn machine_of(name: &str) -> Option<&str> {
    Some(name.rsplit_once(AT)?.1)
}
