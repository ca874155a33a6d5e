//! The result of `iostrata cache`: `iostrata.cache/1`.

mod held;
mod map;
mod totals;

use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::op::Gap;

pub use held::{
    Absent, Hold, HoldKind, Process, Stayed, is_in_memory, named, why_absent, why_resident,
};
pub use map::{MapRange, RANGES_AT_MOST, ResidencyMap};
pub use totals::{Totals, totals};

/// The schema name written into every cache result.
pub const SCHEMA: &str = "iostrata.cache/1";

/// What of some files is in the page cache, and what was done about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CacheResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Machine, and the storage of the first path that was named.
    pub environment: Environment,
    /// What was asked for.
    pub action: Action,
    /// The paths that were named, lossily decoded.
    pub paths: Vec<String>,
    /// Bytes of a page: every count is in whole pages.
    pub page_bytes: u64,
    /// Regular files, most resident bytes first.
    pub files: Vec<CacheFile>,
    /// All of them.
    pub totals: Totals,
    /// What was found beside regular files, and left alone.
    pub skipped: Skipped,
    /// Signal that ended it before all files were done; `null` when they were.
    pub interrupted_by: Option<i32>,
    /// Paths that could not be asked, and what else could not be had, with the cause.
    pub missing: Vec<Gap>,
}

impl CacheResult {
    /// Whether everything that was asked for came about, and could be verified.
    pub fn is_as_asked(&self) -> bool {
        let failed = |file: &CacheFile| match file.outcome {
            Outcome::Shown | Outcome::Done => false,
            Outcome::Partly | Outcome::NotDone | Outcome::Unknown => true,
        };
        self.missing.is_empty() && self.interrupted_by.is_none() && !self.files.iter().any(failed)
    }
}

names! {
    /// What `iostrata cache` is asked to do.
    pub enum Action {
        /// Tell what is resident.
        Show = "show",
        /// Bring files in.
        Warm = "warm",
        /// Let files go.
        Evict = "evict",
    }
}

/// What became of one file, as verified afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing was to be done, and its residency is known.
    Shown,
    /// All of it is in, or nothing of it, as asked.
    Done,
    /// A part of what was asked for.
    Partly,
    /// Nothing of what was asked for.
    NotDone,
    /// Its residency cannot be known.
    Unknown,
}

/// What told the counts of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// `cachestat(2)`.
    Cachestat,
    /// `mincore(2)` of a file that the caller owns or may write to: of others it says that
    /// everything is resident (`can_do_mincore`, `mm/mincore.c`). It knows nothing of dirty pages.
    Mincore,
    /// Nothing may tell.
    None,
}

/// One regular file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CacheFile {
    /// Path as it was named or found; bytes that are no text are replaced.
    pub path: String,
    /// The path in hexadecimal, when `path` has replaced bytes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path_hex: Option<String>,
    /// Device of its file system (`s_dev`), `major:minor`.
    pub device: String,
    /// Inode number.
    pub inode: u64,
    /// Type of its file system.
    pub filesystem: String,
    /// Length, bytes, when it was last looked at.
    pub size_bytes: u64,
    /// Storage that it takes, bytes: less than its length when it has holes.
    pub allocated_bytes: u64,
    /// What told the counts.
    pub source: Source,
    /// What was in the page cache when the file was found; `null` when nothing may tell.
    pub before: Option<Cached>,
    /// What was there after it was to be warmed or evicted; `null` for `show`, and when
    /// nothing may tell.
    pub after: Option<Cached>,
    /// Where in the file it is, at the end; `null` for empty files and when nothing may tell.
    pub map: Option<ResidencyMap>,
    /// What became of it.
    pub outcome: Outcome,
    /// Why it is not as asked, or not known; what keeps it so.
    pub reasons: Vec<Hold>,
}

impl CacheFile {
    /// What is there at the end, as far as anything tells.
    pub fn now(&self) -> Option<Cached> {
        self.after.or(self.before)
    }

    /// Bytes of its pages, the last one whole: what is resident when all of it is.
    pub fn whole_bytes(&self, page_bytes: u64) -> u64 {
        let whole = self.size_bytes.checked_next_multiple_of(page_bytes.max(1));
        whole.unwrap_or(u64::MAX)
    }
}

/// Bytes of a file in the page cache, in whole pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Cached {
    /// In the page cache.
    pub resident_bytes: u64,
    /// Resident and newer than the storage; `null` when the source does not tell.
    pub dirty_bytes: Option<u64>,
    /// Resident and being written to the storage; `null` as above.
    pub writeback_bytes: Option<u64>,
    /// Were resident once, and the kernel remembers that it took them out; `null` as above.
    pub evicted_bytes: Option<u64>,
    /// Bytes of these evicted so recently that their return would mean too little memory; `null` as
    /// above.
    pub recently_evicted_bytes: Option<u64>,
}

/// What was found and is not a regular file of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Skipped {
    /// Symbolic links in trees: not followed.
    pub symbolic_links: u64,
    /// Further names of files that are listed under another name.
    pub hard_links: u64,
    /// FIFOs, sockets and devices: not opened.
    pub special_files: u64,
    /// Directories on other file systems: not entered.
    pub other_file_systems: u64,
}

#[cfg(test)]
mod tests;
