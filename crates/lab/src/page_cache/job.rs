//! The job of the reading process, and its report.

use std::ffi::OsString;

use iostrata_core::page_cache::Case;
use serde::{Deserialize, Serialize};

use crate::engine::Work;

/// Reads a file, one step for each `go`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReadFileJob {
    /// The reader. The state decides how the file is opened and read; the parent has brought it
    /// into that state before it sends `go`.
    pub case: Case,
    pub path: OsString,
    /// Number of reads of `pread_random`.
    pub random_reads: u64,
    /// The work of each `go`.
    pub steps: Vec<FileStep>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileStep {
    /// Opens, reads, parses and closes the file.
    Read,
    /// Copies as many bytes as the file has from memory to memory.
    Copy,
    /// The loop of `pread_random` around a read that does nothing.
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReadFileReport {
    /// Times and faults of the whole step.
    pub work: Work,
    /// Bytes read, or copied.
    pub read_bytes: u64,
    /// Seconds from before the open until the bytes were there, or with a parser, until they were
    /// parsed.
    pub reading_s: Option<f64>,
    pub parsing_s: Option<f64>,
    /// Bytes fetched from storage for this process (`read_bytes` of `/proc/self/io`); `None` where
    /// the kernel does not count them.
    pub storage_read_bytes: Option<u64>,
    /// Latencies of the single reads of `pread_random`: nanoseconds and count.
    pub latencies: Vec<(u64, u64)>,
}
