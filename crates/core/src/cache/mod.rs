//! The result of `iostrata cache`: `iostrata.cache/1`.

mod held;
mod map;

use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::gap::Gap;

pub use held::{
    Absent, Hold, HoldKind, Process, Stayed, is_in_memory, named, why_absent, why_resident,
};
pub use map::{MapRange, RANGES_AT_MOST, ResidencyMap};

/// The schema name written into every cache result.
pub const SCHEMA: &str = "iostrata.cache/1";

/// The page-cache residency of some files, and what was done about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CacheResult {
    pub schema: String,
    /// Machine, and the storage of the first path that was named.
    pub environment: Environment,
    pub action: Action,
    /// The paths in the arguments, lossily decoded.
    pub paths: Vec<String>,
    /// Bytes of a page: all counts are in whole pages.
    pub page_bytes: u64,
    /// Regular files, most resident bytes first.
    pub files: Vec<CacheFile>,
    /// Sums over all of them.
    pub totals: Totals,
    /// Found besides regular files, and left alone.
    pub skipped: Skipped,
    /// Signal that ended it before all files were done; `null` if none did.
    pub interrupted_by: Option<i32>,
    /// Paths that could not be examined, and other missing information, with the cause.
    pub missing: Vec<Gap>,
}

impl CacheResult {
    /// Whether every requested change took effect and was verified.
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
        Show = "show",
        Warm = "warm",
        Evict = "evict",
    }
}

/// The outcome for one file, as verified afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing was to be changed, and its residency is known.
    Shown,
    /// It is fully warmed, or fully evicted, as requested.
    Done,
    /// Partly as requested.
    Partly,
    /// Not at all as requested.
    NotDone,
    /// Its residency is unknown.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// `cachestat(2)`.
    Cachestat,
    /// `mincore(2)` for a file that the caller owns or may write to: for others it reports every
    /// page as resident (`can_do_mincore`, `mm/mincore.c`). It does not report dirty pages.
    Mincore,
    /// No interface is permitted.
    None,
}

/// One regular file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CacheFile {
    /// Path as typed or found; invalid bytes are replaced.
    pub path: String,
    /// The path in hexadecimal, when `path` has replaced bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_hex: Option<String>,
    /// Device of its file system (`s_dev`), `major:minor`.
    pub device: String,
    pub inode: u64,
    pub filesystem: String,
    /// Length, bytes, at the last check.
    pub size_bytes: u64,
    /// Allocated storage, bytes: less than its length when it has holes.
    pub allocated_bytes: u64,
    pub source: Source,
    /// In the page cache when the file was found; `null` when no interface is permitted.
    pub before: Option<Cached>,
    /// In the page cache after warming or evicting; `null` for `show`, and when no interface is
    /// permitted.
    pub after: Option<Cached>,
    /// The resident ranges at the end; `null` for empty files and when no interface is permitted.
    pub map: Option<ResidencyMap>,
    pub outcome: Outcome,
    /// Why it is not as requested, or unknown; what keeps it so.
    pub reasons: Vec<Hold>,
}

impl CacheFile {
    /// The residency at the end, as far as known.
    pub fn now(&self) -> Option<Cached> {
        self.after.or(self.before)
    }

    /// Bytes of its pages, including the whole last one: the maximum that can be resident.
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
    /// Resident and newer than the storage; `null` when the source does not report it.
    pub dirty_bytes: Option<u64>,
    /// Resident and under write-back; `null` as above.
    pub writeback_bytes: Option<u64>,
    /// Were resident before, and the kernel remembers their eviction; `null` as above.
    pub evicted_bytes: Option<u64>,
    /// Bytes of these evicted so recently that their return would indicate memory pressure; `null`
    /// as above.
    pub recently_evicted_bytes: Option<u64>,
}

/// Found entries that are not separate regular files.
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

/// All files of a result. Files with unknown residency are counted, and are in no sum of resident
/// bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Totals {
    pub files: u64,
    /// Those whose residency is unknown.
    pub unknown_files: u64,
    /// Those that are not, or not fully, in the requested state.
    pub failed_files: u64,
    /// Lengths, bytes, of all files.
    pub size_bytes: u64,
    /// Bytes of the pages of files with known residency: the maximum that can be resident.
    pub known_bytes: u64,
    /// When the files were found; `null` when no residency is known.
    pub before: Option<Cached>,
    /// After warming or evicting; `null` for `show`.
    pub after: Option<Cached>,
}

/// Sums files with pages of `page_bytes`.
pub fn totals(files: &[CacheFile], page_bytes: u64) -> Totals {
    let count = |chosen: &dyn Fn(&CacheFile) -> bool| {
        files.iter().filter(|file| chosen(file)).count() as u64
    };
    Totals {
        files: files.len() as u64,
        unknown_files: count(&|file| file.now().is_none()),
        failed_files: count(&|file| matches!(file.outcome, Outcome::Partly | Outcome::NotDone)),
        size_bytes: files
            .iter()
            .fold(0, |sum, file| file.size_bytes.saturating_add(sum)),
        known_bytes: files
            .iter()
            .filter(|file| file.now().is_some())
            .fold(0, |sum, file| {
                file.whole_bytes(page_bytes).saturating_add(sum)
            }),
        before: sum(files.iter().filter_map(|file| file.before)),
        after: sum(files.iter().filter_map(|file| file.after)),
    }
}

/// A value unknown for one file is unknown for all.
fn sum(counts: impl Iterator<Item = Cached>) -> Option<Cached> {
    let add = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    counts.reduce(|a, b| Cached {
        resident_bytes: a.resident_bytes.saturating_add(b.resident_bytes),
        dirty_bytes: add(a.dirty_bytes, b.dirty_bytes),
        writeback_bytes: add(a.writeback_bytes, b.writeback_bytes),
        evicted_bytes: add(a.evicted_bytes, b.evicted_bytes),
        recently_evicted_bytes: add(a.recently_evicted_bytes, b.recently_evicted_bytes),
    })
}

#[cfg(test)]
mod tests;
