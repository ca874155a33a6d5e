//! What a workload process can be asked to do, and what it reports.
//!
//! Paths travel as [`OsString`]: they are bytes, and need not be UTF-8.

use std::ffi::OsString;

use iostrata_core::atime::Reading;
use iostrata_core::buffering::{Case, Mode};
use iostrata_core::timing::Sample;
use serde::{Deserialize, Serialize};

use crate::copy::{CopyJob, YardstickJob};
use crate::page_cache::{ReadFileJob, ReadFileReport};
use crate::replay::{ReplayJob, ReplayReport};
use crate::sync::{DirectJob, DirectReport, SyncJob, SyncReport};

/// The work of one child.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Job {
    /// Writes a case of `lab buffering`.
    Write(WriteJob),
    /// The same loop with a write that does nothing: what measuring itself costs.
    Null(NullJob),
    /// Writes a few records, one for each `go`.
    Steps(StepsJob),
    /// Reads a file of records and says how many bytes of it are right.
    Read(ReadJob),
    /// Reads a file of `lab page-cache`, one step for each `go`.
    ReadFile(ReadFileJob),
    /// Reads files in a loop and syncs their file system.
    ReadLoop(ReadLoopJob),
    /// Copies a file for `lab copy`.
    Copy(CopyJob),
    /// What the machine does at best, for `lab copy`.
    Yardstick(YardstickJob),
    /// Becomes another program at `go`.
    Exec(ExecJob),
    /// Writes and syncs as a case of `lab sync`.
    Sync(SyncJob),
    /// Times direct writes.
    Direct(DirectJob),
    /// Does what a program did again, and the better way.
    Replay(ReplayJob),
}

/// See [`Job::Write`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WriteJob {
    /// How, how large, how many.
    pub case: Case,
    /// File to create. It must not exist.
    pub path: OsString,
}

/// See [`Job::Null`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NullJob {
    /// Bytes per record.
    pub size_bytes: u64,
    /// Records.
    pub count: u64,
}

/// See [`Job::Steps`].
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

/// See [`Job::Read`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReadJob {
    /// Bytes per record of the writer.
    pub size_bytes: u64,
    /// File to read.
    pub path: OsString,
}

/// See [`Job::ReadLoop`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadLoopJob {
    /// Directory of the files.
    pub directory: OsString,
    /// Files, named by their numbers from 0.
    pub files: u64,
    /// Opens, reads and closes in all; more than there are files begins anew.
    pub reads: u64,
    /// Whether they are read once before.
    pub reading: Reading,
}

/// See [`Job::Exec`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExecJob {
    /// Program and arguments; a program without `/` is looked up in `PATH`.
    pub argv: Vec<OsString>,
    /// Variables added to the environment.
    pub environment: Vec<(OsString, OsString)>,
    /// File that takes standard error. Standard input and output are `/dev/null`.
    pub stderr: OsString,
}

/// What a step gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// A job that only works is done: [`Job::Write`], [`Job::Null`], [`Job::Copy`],
    /// [`Job::Yardstick`].
    Work(Work),
    /// A step of [`Job::Steps`] is done.
    Step(StepReport),
    /// [`Job::Read`] is done.
    Read(ReadReport),
    /// A step of [`Job::ReadFile`] is done.
    ReadFile(ReadFileReport),
    /// A stretch of [`Job::Sync`] is done.
    Sync(SyncReport),
    /// [`Job::Direct`] is done.
    Direct(DirectReport),
    /// [`Job::ReadLoop`] is done.
    Loop(LoopReport),
    /// [`Job::Replay`] is done.
    Replay(ReplayReport),
}

/// Times and faults of the work alone, without its preparation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// `CLOCK_MONOTONIC` and `getrusage(2)` around the work.
    pub sample: Sample,
    /// Minor page faults.
    pub minor_faults: u64,
    /// Major page faults.
    pub major_faults: u64,
}

impl Work {
    /// This work and another after it.
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self {
            sample: Sample {
                real_s: self.sample.real_s + other.sample.real_s,
                user_s: self.sample.user_s + other.sample.user_s,
                system_s: self.sample.system_s + other.sample.system_s,
            },
            minor_faults: self.minor_faults + other.minor_faults,
            major_faults: self.major_faults + other.major_faults,
        }
    }
}

/// One step of [`Job::Steps`].
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

/// What [`Job::ReadLoop`] took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LoopReport {
    /// The reading.
    pub reading: Work,
    /// The `syncfs` after it.
    pub sync: Work,
}

/// What [`Job::Read`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadReport {
    /// Bytes from the start of the file up to the first wrong one.
    pub right_bytes: u64,
    /// Bytes the file has.
    pub length_bytes: u64,
}
