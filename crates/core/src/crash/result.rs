//! What `iostrata crash` came to, as it is saved.

use serde::{Deserialize, Serialize};

use super::block::{On, Pressure};
use super::effect::BLOCK_BYTES;
use super::mapped::RebuiltRow;
use super::model::Model;
use super::parts::PartRow;
use super::search::FaultKind;
use super::told::{FileRow, Moment};
use crate::Environment;
use crate::gap::Gap;

/// Name and version of the format.
pub const SCHEMA: &str = "iostrata.crash/1";

/// The states that a crash of one program could leave, and which of them break its data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CrashResult {
    pub schema: String,
    /// The machine that the program ran on.
    pub environment: Environment,
    pub command: Vec<String>,
    /// The checker; `null` for the one that is built in.
    pub check: Option<String>,
    /// Whether the checker kept running and was asked about one state after another.
    pub check_keeps_running: bool,
    /// What the paths of files are like that were left out, relative to the directory.
    pub ignored: Vec<String>,
    /// Whether the loss of what was reported was left out.
    pub only_damage: bool,
    /// What the checker was kept in; `null` for the one that is built in.
    pub check_kept_in: Option<Sandbox>,
    /// How it was asked for.
    pub settings: Settings,
    /// What the states of models are of; `null` where no model was asked for.
    pub recording: Option<Recording>,
    /// The signal that ended the exploration; `null` when it came to its end.
    pub interrupted_by: Option<String>,
    /// Which part of the states was looked at, as `2/4`; `null` for all.
    pub partition: Option<String>,
    /// Of a merged result: the parts.
    pub parts: Vec<PartRow>,
    /// Of a part: what was said of each state, for `iostrata merge`.
    pub verdicts: Vec<Said>,
    /// One for each model, and one for each run on a real file system.
    pub modes: Vec<ModeRow>,
    /// Crashes of the checker itself, while it recovers from a first one; `null` where they were not asked for.
    pub again: Option<SecondCrashes>,
    /// What breaks, the most important first, and what second crashes break last.
    pub findings: Vec<Finding>,
    /// Syncs of the program with which no explored state of a first crash breaks anything; `null` where none are known.
    pub fix: Option<Vec<FixRow>>,
    /// Why none are known; `null` where they are, or nothing breaks.
    pub fix_unknown_because: Option<String>,
    /// Whether anything breaks.
    pub verdict: Verdict,
}

/// What keeps a checker from the rest of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sandbox {
    /// Namespaces for mounts, processes, IPC and the network, in which all but its copy is read-only, and users of its
    /// own. Needs root.
    Room,
    /// The same, with this user alone.
    UserNamespace,
    /// A process group only: what it starts and moves out of it is not ended.
    ProcessGroup,
}

/// How an exploration was asked for. The same settings and the same recording give the same states.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Settings {
    /// The models, in this order; empty where real file systems alone were asked.
    pub models: Vec<Model>,
    /// The runs on real file systems, in this order; empty where models alone were asked.
    pub runs: Vec<On>,
    /// The limit on states of each model.
    pub states: u64,
    /// The seed of random states.
    pub seed: u64,
    /// Of the points in the order of time one of so many was asked for, besides those after a report.
    pub every: u64,
    /// Points after this mark were asked for; `null` for all.
    pub after: Option<String>,
    /// The time for the exploration, seconds; `null` for no limit. What is found then depends on the machine.
    pub time_s: Option<f64>,
    /// What the device writes whole or not at all, bytes: less than a page of 4 KiB tears pages.
    pub sector_bytes: u64,
    /// After how long a checker fails, seconds.
    pub check_timeout_s: f64,
}

impl Settings {
    /// Whether pages are torn inside: at which sectors, bytes. btrfs and a journal of data tear none.
    pub fn torn_at(&self) -> Option<u64> {
        let whole = [Model::Btrfs, Model::Ext4Journal];
        let tears = self.models.iter().any(|model| !whole.contains(model));
        (tears && self.sector_bytes < BLOCK_BYTES).then_some(self.sector_bytes)
    }
}

/// A recording of the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Recording {
    /// Where it was kept; `null` where it was not.
    pub path: Option<String>,
    pub log_blake3: String,
}

/// How far second crashes were looked at. A checker that accepts a state may have recovered it: it wrote to the copy, and the
/// power may fail meanwhile.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SecondCrashes {
    /// Different states that the checker accepted and changed.
    pub changed: u64,
    /// Of these, those in which what the checker does was recorded.
    pub recorded: u64,
    /// Of these, recordings that differ in the calls that change files.
    pub recoveries: u64,
    /// States whose second crashes were to be explored.
    pub chosen: u64,
    /// Of these, those whose second crashes were explored.
    pub explored: u64,
    /// States in which the checker could not be recorded.
    pub not_recorded: u64,
    /// Why not the first of them; `null` where all were.
    pub not_recorded_because: Option<String>,
    /// What second crashes leave, of all models.
    pub states: States,
    /// What the recordings of the explored ones lack.
    pub incomplete_because: Vec<Gap>,
    /// Time that all of it took, seconds.
    pub seconds: f64,
}

impl SecondCrashes {
    /// Whether each way to recover that was seen was explored, at each point, and the time left enough to choose.
    pub fn are_all(&self) -> bool {
        let is_whole = self.explored == self.chosen && self.states.are_all();
        is_whole && !self.has_other_ways() && !self.states.time_over
    }

    /// Whether there are more ways to recover than are explored.
    pub fn has_other_ways(&self) -> bool {
        self.recoveries > self.chosen
    }

    fn is_complete(&self) -> bool {
        self.not_recorded == 0 && self.incomplete_because.is_empty()
    }
}

/// What a checker said of a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Said {
    /// The tree, as the exploration of this recording tells one from another.
    pub tree: String,
    /// How many times the program had printed something.
    pub printed: u64,
    /// The message; `null` where all was well.
    pub message: Option<String>,
}

/// The exploration of one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ModeRow {
    /// `syscall` or `block`.
    pub mode: String,
    /// The persistence model; `null` in block mode.
    pub model: Option<Model>,
    /// The file system that was recovered; `null` in syscall mode.
    pub filesystem: Option<Model>,
    /// How it was recorded and recovered; `null` in syscall mode.
    pub recording: Option<BlockRow>,
    /// The exit code of the program when it was recorded, 128 and the number of a signal that ended it; `null` where
    /// it is not known.
    pub exit_code: Option<i32>,
    /// Operations of the log.
    pub operations: u64,
    /// What the program changed in the directory, in pieces that reach the disk one without the other; 0 for nothing.
    pub changes: u64,
    pub states: States,
    /// Whether the log has everything that the program did, and the program did not fail.
    pub complete: bool,
    pub incomplete_because: Vec<Gap>,
    /// Files that are stored to through mappings, and of which it does not matter what a crash leaves.
    pub rebuilt: Vec<RebuiltRow>,
    /// Files that the program changed, of formats that the built-in rules do not know; empty where a checker was given.
    pub formats: Vec<FormatRow>,
    /// Time of the exploration, checks included, seconds.
    pub seconds: f64,
}

/// A file of which only the programs of its format can tell whether it is sound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FormatRow {
    /// Its path in the directory.
    pub file: String,
    /// What it is, with an article.
    pub format: String,
    /// The `--check` that knows the format.
    pub check: String,
    /// Whether that one looked at the file in each state, and the built-in rules at the other files.
    pub checked: bool,
    /// Why it did not.
    pub unchecked_because: Option<String>,
}

/// What `SQLite` keeps beside a database.
const BESIDE: [&[u8]; 3] = [b"-journal", b"-wal", b"-shm"];

impl FormatRow {
    /// Whether a path in the directory is the file, in it, or its journal.
    pub fn covers(&self, path: &[u8]) -> bool {
        let rest = path.strip_prefix(self.file.as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/") || BESIDE.contains(&rest))
    }
}

/// A run on a real file system whose device was recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct BlockRow {
    /// Who else committed.
    pub pressure: Pressure,
    /// Time that each request of the device took at least, seconds.
    pub delay_s: f64,
    /// Options of the mount besides the file system's defaults; empty for none.
    pub mount_options: String,
    /// What was done in place of a timer that the run must not set; `null` for nothing.
    pub stands_in: Option<String>,
    /// Images that were recovered by mounting them; equal ones once.
    pub images: u64,
    /// What the device got between two flushes, during the run.
    pub epochs: u64,
    /// Of these, those that write to the journal alone: none or all of their blocks stand for all subsets.
    pub journal_epochs: u64,
    /// Of these, those that leave the tree as it is: no subsets were tried.
    pub quiet_epochs: u64,
    /// Of these, those of which not all subsets were tried.
    pub sampled_epochs: u64,
    /// Of these, those that were asked for and not tried: the limit on images was reached, or the time was over, before.
    pub skipped_epochs: u64,
}

/// Recoveries that show a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RecoveredRow {
    pub filesystem: Model,
    /// Who else committed.
    pub pressure: Pressure,
    /// States that show it.
    pub states: u64,
    /// Where one of them was kept; `null` where it was not.
    pub proof: Option<String>,
}

impl ModeRow {
    /// `ext4`, or `ext4 recovered, pressure fsync`.
    pub fn name(&self) -> String {
        let of = |model: Option<Model>| model.map_or("?", Model::as_str);
        match &self.recording {
            None => of(self.model).to_owned(),
            Some(row) => {
                let filesystem = of(self.filesystem);
                format!("{filesystem} recovered, pressure {}", row.pressure.as_str())
            }
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct States {
    /// Built from the log.
    pub explored: u64,
    /// Different in the tree, or in what had been printed.
    pub distinct: u64,
    /// Of these, those that the checker refused.
    pub failing: u64,
    /// Points in time at which the power could fail, and of which the whole and the least state were explored.
    pub points: u64,
    /// Of these, points with too many combinations to try all.
    pub sampled_points: u64,
    /// Points that were not explored: the limit was reached, or the exploration ended, before.
    pub points_not_explored: u64,
    /// Whether the limit on states was reached before all was explored that is explored at any point.
    pub limit_reached: bool,
    /// Whether the time was over before.
    pub time_over: bool,
}

impl States {
    /// Whether each point was explored.
    pub fn are_all(&self) -> bool {
        self.points_not_explored == 0
    }

    /// Counts those of another exploration too.
    pub fn add(&mut self, other: &Self) {
        self.explored += other.explored;
        self.distinct += other.distinct;
        self.failing += other.failing;
        self.points += other.points;
        self.sampled_points += other.sampled_points;
        self.points_not_explored += other.points_not_explored;
        self.limit_reached |= other.limit_reached;
        self.time_over |= other.time_over;
    }
}

/// One way to break something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Finding {
    pub kind: FaultKind,
    /// The operation whose effects are lost; of a prefix the last one that is on disk.
    pub culprit: OperationRow,
    /// The operation that should have waited for it.
    pub before: Option<OperationRow>,
    /// What the checker said.
    pub message: String,
    /// The models that allow it.
    pub possible_on: Vec<Model>,
    /// How it is known: `model`, `real recovery`.
    pub proven_by: Vec<String>,
    /// Real file systems that recovered a state with this message.
    pub recovered: Vec<RecoveredRow>,
    /// States that show it, of all models.
    pub states: u64,
    /// Number of the first one, for `--state`; `null` of a real recovery.
    pub state: Option<u64>,
    /// Of a second crash: the number of the state that the checker was recovering; `null` of a first one.
    pub recovering: Option<u64>,
    /// Whether it was made as small as it gets, effect after effect; not so when the exploration was ended, where
    /// there are very many effects, nor of a real recovery.
    pub is_smallest: bool,
    /// Of a state in which a page is torn inside: what the device writes whole or not at all, bytes; `null` of others.
    pub torn_at_bytes: Option<u64>,
    /// What that state has of each operation.
    pub timeline: Vec<Moment>,
    /// Operations before the crash that the timeline leaves out; `null` where there is no timeline.
    pub timeline_left_out: Option<u64>,
    /// The files that it has damaged, and others that changed.
    pub files: Vec<FileRow>,
    /// The smallest state that shows it, told.
    pub story: String,
    /// What would prevent it.
    pub advice: String,
    /// Where the state was kept; `null` where it was not.
    pub proof: Option<String>,
}

/// An operation of the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct OperationRow {
    /// Its number in the log.
    pub op: u64,
    pub syscall: String,
    /// The path it is about.
    pub path: Option<String>,
    /// The second path of a rename or a link.
    pub other_path: Option<String>,
    /// Of a write: where it begins, bytes.
    pub offset: Option<u64>,
    /// Of a write: its length.
    pub bytes: Option<u64>,
    /// Whether it told the user something: output, which has no path.
    pub reports: bool,
    /// Whether it is a write at the end of a file that is added to, as a log is.
    pub appends: bool,
    /// The `errno` of a sync that failed; `null` for what did not.
    pub error: Option<i32>,
    /// Calling functions; empty where they are not known.
    pub stack: Vec<String>,
}

/// A sync to add.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FixRow {
    /// What is to be synced.
    pub path: String,
    pub is_directory: bool,
    /// The operation that it belongs before; `null` for the end of the program.
    pub before: Option<OperationRow>,
}

/// Whether anything breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing: each point was explored.
    Clean,
    /// Nothing that was explored, and the limit on states, or a signal, came before the rest.
    Partial,
    /// Something.
    Failing,
    /// The log lacks something, or the program failed, so that nothing can be promised.
    Incomplete,
}

impl Verdict {
    pub fn of(
        findings: &[Finding],
        modes: &[ModeRow],
        again: Option<&SecondCrashes>,
        is_interrupted: bool,
    ) -> Self {
        let are = |is: fn(&ModeRow) -> bool| modes.iter().all(is);
        if !findings.is_empty() {
            Self::Failing
        } else if !are(|mode| mode.complete) || !again.is_none_or(SecondCrashes::is_complete) {
            Self::Incomplete
        } else if is_interrupted
            || !are(|mode| mode.states.are_all())
            || !again.is_none_or(SecondCrashes::are_all)
        {
            Self::Partial
        } else {
            Self::Clean
        }
    }
}
