//! What a syncing workload process is asked to do, and what it reports.

use std::ffi::OsString;

use iostrata_core::sync::{Bucket, Case};
use serde::{Deserialize, Serialize};

use crate::engine::Work;

/// Writes and syncs, a stretch for each `go`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SyncJob {
    /// How, how large, how many at a time.
    pub case: Case,
    /// One file for each writer, to create. None may exist.
    pub paths: Vec<OsString>,
    /// Most bytes of each file.
    pub file_bytes: u64,
    /// Most syncs of each writer and stretch.
    pub syncs: u64,
    /// Nanoseconds of a stretch after which no further write begins.
    pub duration_ns: u64,
}

/// One stretch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SyncReport {
    /// Times of the stretch, all writers together.
    pub work: Work,
    /// Syncs, all writers together.
    pub syncs: u64,
    /// Latencies from one sync's end to the next one's.
    pub latencies: Vec<Bucket>,
    /// The longest of them, nanoseconds.
    pub max_ns: u64,
    /// Whether a writer has reached the end of its file and can do no more.
    pub full: bool,
    /// In what the files were not as the case's name says before the first write.
    pub not_as_asked: Option<String>,
}
