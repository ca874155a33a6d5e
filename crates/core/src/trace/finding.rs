//! Findings: what is wrong, how sure that is, and what it would save.

use serde::{Deserialize, Serialize};

/// How bad it is, apart from how sure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Costs little.
    Low,
    /// Costs much, or data can be lost in rare cases.
    Medium,
    /// Most of the run, or data will be lost in a crash.
    High,
}

/// How sure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Something that was not seen could undo it.
    Likely,
    /// All that it rests on was seen.
    Certain,
}

/// One piece of evidence: calls and files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Cited {
    /// What was seen, in words, with its figures and units.
    pub what: String,
    /// The system call, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub call: Option<String>,
    /// The file, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<String>,
    /// How many calls or events.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub count: Option<u64>,
    /// When, seconds after the start.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub at_s: Option<f64>,
}

/// Where a saving comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// The same bytes were written the better way on the same file system.
    Measured,
    /// Computed from the calls' own times.
    Computed,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Finding {
    /// The rule's name; `iostrata explain RULE` prints its page.
    pub rule: String,
    /// How bad.
    pub severity: Severity,
    /// How sure.
    pub confidence: Confidence,
    /// One line.
    pub title: String,
    /// The file it is about, if it is about one.
    pub file: Option<String>,
    /// What it rests on; never empty.
    pub evidence: Vec<Cited>,
    /// Time spent on it in this run, seconds.
    pub cost_s: Option<f64>,
    /// Threads over which that is summed, where it is more than one thread can have spent.
    #[serde(default)]
    pub cost_threads: Option<u64>,
    /// Time the advice would save, seconds; `null` for a fault that costs no time.
    pub saving_s: Option<f64>,
    /// Where the saving comes from.
    pub saving_basis: Option<Basis>,
    /// What to do.
    pub advice: String,
}

/// The better way that can be tried to measure a saving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// The same bytes in larger pieces: `count` writes or reads of `piece_bytes` now.
    LargerPieces {
        /// Writing, or reading.
        write: bool,
        /// Bytes of one transfer now.
        piece_bytes: u64,
        /// Transfers now.
        count: u64,
        /// Bytes of one transfer the better way.
        better_bytes: u64,
    },
    /// The same writes with fewer or cheaper syncs: now one `fsync` or `fdatasync` after
    /// every `writes_per_sync` writes of `piece_bytes`.
    FewerSyncs {
        /// Bytes of one write.
        piece_bytes: u64,
        /// Writes between two syncs now, at least 1.
        writes_per_sync: u64,
        /// Syncs now.
        syncs: u64,
        /// Syncs that share one, the better way; 1 keeps every sync.
        group: u64,
        /// Whether now it is `fdatasync`.
        data_only_now: bool,
        /// Whether the better way is `fdatasync`.
        data_only_better: bool,
        /// Whether writes append; otherwise they overwrite.
        append: bool,
        /// Whether the better way has its blocks preallocated.
        preallocate: bool,
    },
}

impl Remedy {
    /// The share of today's calls that the better way does without; `None` when it makes as
    /// many, and cheaper ones.
    pub fn share_of_calls(&self) -> Option<f64> {
        let left = match *self {
            Self::LargerPieces {
                piece_bytes,
                better_bytes,
                ..
            } => piece_bytes as f64 / better_bytes.max(1) as f64,
            Self::FewerSyncs { group, .. } => 1.0 / group.max(1) as f64,
        };
        (left < 1.0).then_some(1.0 - left)
    }
}

/// What a replay measured: the same work both ways.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Replayed {
    /// The way it is done now, seconds.
    pub now_s: f64,
    /// The better way, seconds.
    pub better_s: f64,
}

/// A finding before its saving is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The finding; its saving is computed, or `None` until it is measured.
    pub finding: Finding,
    /// How to measure the saving, and in which directory (that of the file).
    pub remedy: Option<(Remedy, Vec<u8>)>,
    /// Durability faults speak whatever they save.
    pub is_fault: bool,
}

/// A finding is worth the reader's time from this saving on: one per cent of the run, and
/// not less than 5 ms.
pub fn worth_s(wall_s: f64) -> f64 {
    (wall_s * 0.01).max(0.005)
}
