//! What a workload process is asked to do, and what it reports.

use std::ffi::OsString;

use iostrata_core::buffering::{Case, Mode};
use serde::{Deserialize, Serialize};

/// Writes a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WriteJob {
    /// How, how large, how many.
    pub case: Case,
    /// File to create. It must not exist.
    pub path: OsString,
}

/// The same loop with a write that does nothing: what measuring itself costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NullJob {
    /// Bytes per record.
    pub size_bytes: u64,
    /// Records.
    pub count: u64,
}

/// Writes a few records, one for each `go`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepsJob {
    /// How each record is handed over.
    pub mode: Mode,
    /// Bytes per record.
    pub size_bytes: u64,
    /// Records.
    pub count: u64,
    /// File to create. It must not exist.
    pub path: OsString,
}

/// One step of a [`StepsJob`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepReport {
    /// What was done: `open`, `write 1`, `close` ...
    pub action: String,
    /// Bytes handed over so far.
    pub written_bytes: u64,
    /// `CLOCK_MONOTONIC` at the end of the step, nanoseconds.
    pub ended_ns: u64,
    /// Whether it was the last.
    pub last: bool,
}

/// Reads a file of records and says how many bytes of it are right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReadJob {
    /// Bytes per record of the writer.
    pub size_bytes: u64,
    /// File to read.
    pub path: OsString,
}

/// What a [`ReadJob`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadReport {
    /// Bytes from the start of the file up to the first wrong one.
    pub right_bytes: u64,
    /// Bytes the file has.
    pub length_bytes: u64,
}
