//! What the process that reads is asked to do, and what it reports.

use std::ffi::OsString;

use iostrata_core::atime::Reading;
use serde::{Deserialize, Serialize};

use crate::engine::Work;

/// Reads files in a loop and syncs their file system.
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

/// What a [`ReadLoopJob`] took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LoopReport {
    /// The reading.
    pub reading: Work,
    /// The `syncfs` after it.
    pub sync: Work,
}
