//! Findings: the problem, the confidence, and the saving.

use serde::{Deserialize, Serialize};

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

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Something unobserved could contradict it.
    Likely,
    /// All its evidence was observed.
    Certain,
}

/// One piece of evidence: calls and files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Cited {
    /// The observation as text, with its figures and units.
    pub what: String,
    /// The system call, if it concerns one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The file, if it concerns one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// How many calls or events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Its time, seconds after the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_s: Option<f64>,
}

/// The source of a saving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Measured: the same bytes were written in the improved way on the same file system.
    Measured,
    /// Computed from the times of the calls.
    Computed,
}

/// A problem of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Finding {
    /// The rule's name; `iostrata explain RULE` prints its page.
    pub rule: String,
    pub severity: Severity,
    pub confidence: Confidence,
    /// One line.
    pub title: String,
    pub file: Option<String>,
    /// Its evidence; never empty.
    pub evidence: Vec<Cited>,
    /// Time spent on it in this run, seconds.
    pub cost_s: Option<f64>,
    /// Number of threads over which that is summed, if one thread alone cannot have spent it.
    pub cost_threads: Option<u64>,
    /// Time of such calls in which no other thread of the run ran, waited for a CPU, or slept for a
    /// time that it had set, seconds; `null` when not observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alone_s: Option<f64>,
    /// Saving of the advice, seconds; `null` for a fault that costs no time.
    pub saving_s: Option<f64>,
    /// The source of the saving.
    pub saving_basis: Option<Basis>,
    pub advice: String,
    /// The `iostrata crash` command line that shows it, for a shell; `null` for what is not about a crash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crash_command: Option<String>,
    /// Why no command shows a finding about a crash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_crash_command_because: Option<String>,
}

impl Finding {
    /// Its cost, as far as no other thread moved meanwhile, seconds; all of it where that was not
    /// observed.
    pub fn worth_s(&self) -> Option<f64> {
        let cost_s = self.cost_s?;
        Some(self.alone_s.map_or(cost_s, |alone| alone.min(cost_s)))
    }
}

/// The improved variant, which can be tried to measure a saving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// The same bytes in larger pieces: currently `count` writes or reads of `piece_bytes`.
    LargerPieces {
        /// Writing, or reading.
        write: bool,
        /// Current bytes of one transfer.
        piece_bytes: u64,
        /// Current number of transfers.
        count: u64,
        /// Improved bytes of one transfer.
        better_bytes: u64,
    },
    /// The same writes with fewer or cheaper syncs: currently one `fsync` or `fdatasync` after
    /// every `writes_per_sync` writes of `piece_bytes`.
    FewerSyncs {
        /// Bytes of one write.
        piece_bytes: u64,
        /// Current number of writes between two syncs, at least 1.
        writes_per_sync: u64,
        /// Current number of syncs.
        syncs: u64,
        /// Syncs replaced by one in the improved variant; 1 keeps every sync.
        group: u64,
        /// Whether the current call is `fdatasync`.
        data_only_now: bool,
        /// Whether the improved call is `fdatasync`.
        data_only_better: bool,
        /// Whether writes append; otherwise they overwrite.
        append: bool,
        /// Whether the improved variant preallocates its blocks.
        preallocate: bool,
    },
}

impl Remedy {
    /// The share of the current calls that the improved variant avoids; `None` when it makes as
    /// many, but cheaper ones.
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

/// The measurement of a replay: the same work in both variants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Replayed {
    /// The current variant, seconds.
    pub now_s: f64,
    /// The improved variant, seconds.
    pub better_s: f64,
}

/// A finding before its saving is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The finding; its saving is computed, or `None` until it is measured.
    pub finding: Finding,
    /// How to measure the saving, and in which directory (that of the file).
    pub remedy: Option<(Remedy, Vec<u8>)>,
    /// Durability faults are reported whatever they save.
    pub is_fault: bool,
}

/// The minimum saving of a reported finding: one per cent of the run, and at least 5 ms.
pub fn worth_s(wall_s: f64) -> f64 {
    (wall_s * 0.01).max(0.005)
}
