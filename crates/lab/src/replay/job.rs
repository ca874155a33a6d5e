//! The job of a replaying workload process, and its report.

use std::ffi::OsString;

use iostrata_core::trace::Remedy;
use serde::{Deserialize, Serialize};

/// Runs a piece of work in both variants, interleaved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayJob {
    pub remedy: Remedy,
    pub file: ReplayFile,
    /// `CLOCK_MONOTONIC` time after which no run starts, nanoseconds.
    pub deadline_ns: u64,
}

/// A file to create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplayFile {
    /// In this directory, without a name from the start: nothing of it remains, whichever process
    /// is killed.
    Nameless { directory: OsString },
    /// With a name, for file systems that sync nameless files differently. It must not exist.
    Named { path: OsString },
}

/// The work of one variant in every run, and its times.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WayReport {
    /// Elapsed times of the runs, seconds. Empty when the time was too short for one.
    pub samples_s: Vec<f64>,
    /// Reads or writes of one run.
    pub transfers: u64,
    /// Syncs of one run.
    pub syncs: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplayReport {
    /// Pieces of one run.
    pub pieces: u64,
    /// Pieces of the whole program.
    pub all_pieces: u64,
    pub now: WayReport,
    pub better: WayReport,
}
