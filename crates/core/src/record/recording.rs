//! The begin and the end of a recording.

use serde::{Deserialize, Serialize};

use crate::gap::{Gap, Reason};

/// How a recording began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    pub command: Vec<Vec<u8>>,
    pub directory: Vec<u8>,
    /// `CLOCK_MONOTONIC`.
    pub started_ns: u64,
    /// Whether reads are recorded too.
    pub reads: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
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
    Compared {
        /// Nodes whose logged state was compared completely.
        nodes: u64,
        differing: u64,
        /// Nodes that could not be compared: unreachable, or with unknown contents.
        skipped: u64,
    },
    /// They were not compared.
    Skipped {
        #[serde(with = "crate::gap::as_text")]
        because: Reason,
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
    pub fn from_gaps(gaps: Vec<Gap>) -> Self {
        if gaps.is_empty() {
            Self::Complete
        } else {
            Self::Incomplete { because: gaps }
        }
    }
}
