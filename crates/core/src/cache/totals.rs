//! Sums over files.

use serde::{Deserialize, Serialize};

use super::{CacheFile, Cached, Outcome};

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
