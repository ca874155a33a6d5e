//! How a recording begins and ends.

use serde::{Deserialize, Serialize};

use crate::op::Gap;

/// Why the earlier contents of a file are not in a log that has those of some directories.
pub const NOT_STORED: &str = "before: not stored, as they are in none of the requested directories; also name \
     their directory with --record-before";

/// The same where it is not even known whether there was a file.
pub const NOT_KNOWN: &str = "before: not stored, and it is unknown whether a file existed; also name the \
     directory with --record-before";

/// How a recording began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// The program and its arguments.
    pub command: Vec<Vec<u8>>,
    /// Working directory at the start.
    pub directory: Vec<u8>,
    /// When, nanoseconds of `CLOCK_MONOTONIC`.
    pub started_ns: u64,
    /// Whether reads are recorded too.
    pub reads: bool,
}

/// How a recording ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Operations of this recording.
    pub operations: u64,
    /// Times that a process was stopped until its payload had been read.
    pub stops: u64,
    /// Whether every change is in the log.
    pub completeness: Completeness,
    /// What came of comparing the log with the files that were really there.
    pub check: Check,
}

/// Whether the files that a log makes are those that were there at the end of its recording.
/// What differs is a gap too, with its path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Check {
    /// They were compared.
    Compared {
        /// Nodes of which all that the log knows was compared.
        nodes: u64,
        /// Those that differed.
        differing: u64,
        /// Nodes that could not be compared: out of reach, or of unknown contents.
        skipped: u64,
    },
    /// They were not.
    Skipped {
        /// Why.
        because: String,
    },
}

/// Whether every change is in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Completeness {
    /// Every change, with its payload.
    Complete,
    /// Something is missing.
    Incomplete {
        /// What, and why; never empty.
        because: Vec<Gap>,
    },
}

impl Completeness {
    /// Complete when nothing is missing.
    pub fn from_gaps(gaps: Vec<Gap>) -> Self {
        if gaps.is_empty() {
            Self::Complete
        } else {
            Self::Incomplete { because: gaps }
        }
    }
}
