//! `lab atime`: which operations update a file's access time, and what does that cost?

mod answers;
mod comparison;
mod operation;
mod rule;

use serde::{Deserialize, Serialize};

use crate::bytes;
use crate::evidence::{DeviceCounts, Evidence};
use crate::gap::Missing;
use crate::judge::Judged;
use crate::lab::{self, ExperimentResult, Facts, HasFacts, Joined, Row, Stamp, Stamped};
use crate::timing::Timing;
pub use answers::{answers, replies};
pub use comparison::{Comparison, Saving, Spread, comparisons};
pub use operation::{Mount, Operation, Subject};
pub use rule::{ClockState, expected, expected_of_directory};

/// The question the experiment answers.
pub const QUESTION: &str =
    "which operations update a file's access time, what does that cost, and does noatime help?";

/// Bytes of a sector, the unit in which the kernel counts what a device writes.
pub const SECTOR_BYTES: u64 = 512;

/// One operation under one mount option on one file system.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct TouchCase {
    pub operation: Operation,
    pub mount: Mount,
    /// File-system type, as in `/proc/self/mountinfo`.
    pub filesystem: String,
}

impl lab::Case for TouchCase {
    const EXPERIMENT: &'static str = "atime";

    fn label(&self) -> String {
        let (operation, mount) = (self.operation.as_str(), self.mount.as_str());
        format!("{operation} under {mount}")
    }
}

/// Whether an access time moved, in the two states in which relatime differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Moved {
    /// While it was not newer than mtime: [`ClockState::Due`].
    pub due: bool,
    /// While it was newer than mtime and ctime and no day old: [`ClockState::Fresh`].
    pub fresh: bool,
}

/// Whether an operation updated the access time of its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct TouchRow {
    /// Case and target; no times and no requests, since one operation is not timed.
    #[serde(flatten)]
    pub row: Row<TouchCase>,
    /// The file whose access time is meant.
    pub subject: Subject,
    /// Whether it moved while it was due ([`Moved::due`]).
    pub atime_changed: bool,
    /// Whether it moved although it was fresh ([`Moved::fresh`]).
    pub atime_changed_when_fresh: bool,
    /// For programs that walk a tree: the same of the directory that holds the file.
    pub directory: Option<Moved>,
}

names! {
    /// Which files a loop reads.
    pub enum Loop {
        /// One file, repeatedly: the article's loop.
        OneFile = "one_file",
        /// Many files, each once.
        ManyFiles = "many_files",
    }
}

names! {
    /// How often the files had been read since they were changed.
    pub enum Reading {
        /// Not once.
        First = "first",
        /// Once.
        Second = "second",
    }
}

/// A loop of open, read and close under one mount option on one file system.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct LoopCase {
    #[serde(rename = "loop")]
    pub files: Loop,
    /// First or second reading of them.
    pub reading: Reading,
    /// Under which mount option.
    pub mount: Mount,
    /// File-system type, as in `/proc/self/mountinfo`.
    pub filesystem: String,
    /// Opens, reads and closes.
    pub reads: u64,
    /// Bytes of each file.
    pub size_bytes: u64,
}

impl lab::Case for LoopCase {
    const EXPERIMENT: &'static str = "atime";

    fn label(&self) -> String {
        let (files, reading) = (self.files.as_str(), self.reading.as_str());
        let (mount, reads) = (self.mount.as_str(), bytes::grouped(self.reads));
        format!("{files}, {reading} reading, {mount}, {reads} reads")
    }
}

/// The time of a loop and the bytes it made the device write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct LoopRow {
    /// Case, times of the reading alone, evidence. Requests after the program's end are
    /// those of the `syncfs` that followed.
    #[serde(flatten)]
    pub row: Row<LoopCase>,
    /// Times of the reading and the `syncfs` after it.
    pub with_sync: Option<Timing>,
    /// Mean and standard deviation of `timing`, as the article gives them.
    pub spread: Option<Spread>,
    /// Sectors of [`SECTOR_BYTES`] that the device wrote for the reading and the `syncfs`.
    pub sectors: Option<u64>,
}

impl LoopRow {
    /// Computes the derived figures of a row.
    pub fn new(row: Row<LoopCase>, with_sync: Option<Timing>) -> Self {
        let spread = row.timing.as_ref().and_then(Spread::of);
        let sectors = sectors(&row.evidence);
        Self {
            row,
            with_sync,
            spread,
            sectors,
        }
    }
}

/// Sectors written during the run and the sync after it; `None` where either is unknown
/// or events were lost.
fn sectors(evidence: &Evidence) -> Option<u64> {
    if evidence.lost_events > 0 {
        return None;
    }
    let bytes = |device: Option<&DeviceCounts>| Some(device?.writes().bytes);
    let running = bytes(evidence.exact_device())?;
    let after = bytes(evidence.exact_device_after_exit())?;
    Some((running + after) / SECTOR_BYTES)
}

/// A row of either kind, told apart by its case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(untagged)]
pub enum AtimeRow {
    /// Whether an operation moved an access time.
    Touch(Box<TouchRow>),
    /// The time of reading.
    Loop(Box<LoopRow>),
}

impl HasFacts for AtimeRow {
    fn facts(&self, number: usize) -> Facts<'_> {
        match self {
            Self::Touch(row) => Facts::of(number, &row.row),
            Self::Loop(row) => Facts::of(number, &row.row),
        }
    }
}

/// Which part of relatime's rule a probe isolates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Probe {
    /// atime before mtime, and after ctime.
    BeforeMtime,
    /// atime before ctime, and after mtime.
    BeforeCtime,
    /// atime after both.
    AfterBoth,
    /// atime after both, and 25 hours ago.
    DayOld,
    /// atime after both, and 23 hours ago.
    NotDayOld,
}

impl Probe {
    /// Those that can be set by `utimensat`(2) on any file system.
    pub const BY_CALL: [Self; 3] = [Self::BeforeMtime, Self::BeforeCtime, Self::AfterBoth];

    /// Those that need a ctime in the past, which no system call can set.
    pub const BY_IMAGE: [Self; 2] = [Self::DayOld, Self::NotDayOld];

    /// The setting, in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BeforeMtime => "older than mtime, newer than ctime",
            Self::BeforeCtime => "older than ctime, newer than mtime",
            Self::AfterBoth => "newer than both",
            Self::DayOld => "newer than both, 25 hours old",
            Self::NotDayOld => "newer than both, 23 hours old",
        }
    }
}

/// One read under relatime, after the times were set as a probe wants them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RelatimeProbe {
    pub filesystem: String,
    pub probe: Probe,
    /// Whether the read moved the access time.
    pub atime_changed: bool,
    /// The machine it was found on, in a result of several machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
}

/// The result of the experiment. Its rows tell first whether each operation moves an access
/// time, then what reading costs.
pub type AtimeResult = ExperimentResult<AtimeRow, Rules>;

/// The parts of the result besides rows and answers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Rules {
    /// relatime's rule, part by part.
    pub relatime: Vec<RelatimeProbe>,
    /// Every mount option's loop against the same loop under noatime.
    pub comparisons: Vec<Comparison>,
}

impl AtimeResult {
    /// Rows of operations, with their 1-based numbers.
    pub fn touches(&self) -> impl Iterator<Item = (usize, &TouchRow)> {
        self.numbered().filter_map(|(number, row)| match row {
            AtimeRow::Touch(row) => Some((number, &**row)),
            AtimeRow::Loop(_) => None,
        })
    }

    /// Rows of loops, with their 1-based numbers.
    pub fn loops(&self) -> impl Iterator<Item = (usize, &LoopRow)> {
        self.numbered().filter_map(|(number, row)| match row {
            AtimeRow::Loop(row) => Some((number, &**row)),
            AtimeRow::Touch(_) => None,
        })
    }
}

impl Judged for LoopRow {
    type Case = LoopCase;
    type Kind = (Loop, Reading, Mount);

    fn row(&self) -> &Row<LoopCase> {
        &self.row
    }

    fn kind(&self) -> Self::Kind {
        let case = &self.row.case;
        (case.files, case.reading, case.mount)
    }

    fn size_bytes(&self) -> u64 {
        self.row.case.size_bytes
    }
}

impl Stamped for AtimeRow {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        match self {
            Self::Touch(row) => row.row.put_on(stamp),
            Self::Loop(row) => row.row.put_on(stamp),
        }
    }
}

impl Stamped for Rules {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        for probe in &mut self.relatime {
            stamp.machine(&mut probe.machine);
        }
        for comparison in &mut self.comparisons {
            stamp.target(&mut comparison.target);
            for row in &mut comparison.rows {
                stamp.number(row);
            }
        }
    }
}

impl Joined for Rules {
    fn join(&mut self, other: Self) -> Option<Missing> {
        self.relatime.extend(other.relatime);
        self.comparisons.extend(other.comparisons);
        None
    }
}

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
