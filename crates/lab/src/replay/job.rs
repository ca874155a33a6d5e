//! The job of a replaying workload process, and its report.

use std::ffi::OsString;

use iostrata_core::trace::Remedy;
use serde::{Deserialize, Serialize};

/// Does a piece of work both ways in turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayJob {
    /// The work.
    pub remedy: Remedy,
    /// The file that it is done with.
    pub file: ReplayFile,
    /// `CLOCK_MONOTONIC` after which nothing more begins, nanoseconds.
    pub deadline_ns: u64,
}

/// A file to create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplayFile {
    /// In this directory, without a name from its beginning: nothing is left of it, whoever is
    /// killed.
    Nameless {
        /// The directory.
        directory: OsString,
    },
    /// With a name, for file systems that sync a file without one otherwise. It must not exist.
    Named {
        /// Its path.
        path: OsString,
    },
}

/// What one way did in every run, and how long it took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WayReport {
    /// Elapsed times of the runs, seconds. Empty when there was no time for one.
    pub samples_s: Vec<f64>,
    /// Reads or writes of one run.
    pub transfers: u64,
    /// Syncs of one run.
    pub syncs: u64,
}

/// Both ways.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplayReport {
    /// Pieces of one run.
    pub pieces: u64,
    /// Pieces of the program.
    pub all_pieces: u64,
    /// The current way.
    pub now: WayReport,
    /// The better way.
    pub better: WayReport,
}
