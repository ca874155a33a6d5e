//! The begin and the end of a recording.

use serde::{Deserialize, Serialize};

use crate::op::Gap;

/// Why the earlier contents of a file are not in a log that has those of some directories.
pub const NOT_STORED: &str = "before: not stored, as they are in none of the requested directories; also name \
     their directory with --record-before";

/// The same where it is not even known whether there was a file.
pub const NOT_KNOWN: &str = "before: not stored, and it is unknown whether a file existed; also name the \
     directory with --record-before";

/// Why writable shared mappings leave a gap in a log.
pub const NOT_IN_ORDER: &str =
    "stores are seen only in their state at msync and at the end, not in order";

/// How a recording began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// The program and its arguments.
    pub command: Vec<Vec<u8>>,
    /// Working directory at the start.
    pub directory: Vec<u8>,
    /// Its time, nanoseconds of `CLOCK_MONOTONIC`.
    pub started_ns: u64,
    /// Whether reads are recorded too.
    pub reads: bool,
}

/// The end of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Operations of this recording.
    pub operations: u64,
    /// Number of times that a process was stopped until its payload had been read.
    pub stops: u64,
    /// Whether every change is in the log.
    pub completeness: Completeness,
    /// The result of comparing the log with the real files.
    pub check: Check,
}

/// Whether the files rebuilt from a log equal those at the end of its recording. Each difference is
/// also a gap, with its path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Check {
    /// They were compared.
    Compared {
        /// Nodes whose logged state was compared completely.
        nodes: u64,
        /// Nodes that differed.
        differing: u64,
        /// Nodes that could not be compared: unreachable, or with unknown contents.
        skipped: u64,
    },
    /// They were not compared.
    Skipped {
        /// The reason.
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
        /// The missing parts, and why; never empty.
        because: Vec<Gap>,
    },
}

impl Completeness {
    /// Complete if there are no gaps.
    pub fn from_gaps(gaps: Vec<Gap>) -> Self {
        if gaps.is_empty() {
            Self::Complete
        } else {
            Self::Incomplete { because: gaps }
        }
    }
}
