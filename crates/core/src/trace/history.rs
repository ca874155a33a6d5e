//! The history of each file, followed event by event in bounded memory.

use serde::{Deserialize, Serialize};

use crate::op::Call;
use crate::timing::seconds;

/// Moments kept for each kind of occurrence: enough to find it in a log.
pub const MOMENTS: usize = 3;

/// Start and end, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) started_ns: u64,
    pub(crate) ended_ns: u64,
}

impl Span {
    pub(super) fn of(call: &Call) -> Self {
        Self {
            started_ns: call.started_ns,
            ended_ns: call.ended_ns.max(call.started_ns),
        }
    }

    pub(super) fn at(moment_ns: u64) -> Self {
        Self {
            started_ns: moment_ns,
            ended_ns: moment_ns,
        }
    }

    fn took_ns(self) -> u64 {
        self.ended_ns.saturating_sub(self.started_ns)
    }
}

/// Occurrences of one kind, and the times of the first ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Happened {
    pub count: u64,
    /// Total time of the calls, nanoseconds.
    pub took_ns: u64,
    /// Starts of the first [`MOMENTS`], nanoseconds of `CLOCK_MONOTONIC`, in order. Fewer when one
    /// of them turned out to be of another kind.
    pub first_ns: Vec<u64>,
}

impl Happened {
    pub(crate) fn add(&mut self, span: Span) {
        self.count = self.count.saturating_add(1);
        self.took_ns = self.took_ns.saturating_add(span.took_ns());
        let is_before = |moment: &u64| *moment <= span.started_ns;
        let place = self.first_ns.partition_point(is_before);
        if place < MOMENTS {
            self.first_ns.insert(place, span.started_ns);
            self.first_ns.truncate(MOMENTS);
        }
    }

    /// Removes one that turned out to be of another kind.
    pub(super) fn take_back(&mut self, span: Span) {
        self.count = self.count.saturating_sub(1);
        self.took_ns = self.took_ns.saturating_sub(span.took_ns());
        let mut moments = self.first_ns.iter();
        if let Some(place) = moments.position(|&moment| moment == span.started_ns) {
            self.first_ns.remove(place);
        }
    }

    /// Adds the occurrences of another file.
    pub fn merge(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.took_ns = self.took_ns.saturating_add(other.took_ns);
        self.first_ns.extend(&other.first_ns);
        self.first_ns.sort_unstable();
        self.first_ns.truncate(MOMENTS);
    }

    pub fn is_any(&self) -> bool {
        self.count > 0
    }

    /// Total seconds of the calls.
    pub fn took_s(&self) -> f64 {
        seconds(self.took_ns)
    }
}

/// The previous owner of a name that a file took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum NameHolder {
    /// No file had that name.
    Vacant,
    /// A file that the run itself had created had that name.
    Own,
    /// Unknown from the run.
    Unknown,
    /// An older file had that name, and lost it.
    Existing,
}

/// How a file got its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Naming {
    /// It was created with it.
    Created,
    /// It was renamed to it.
    Renamed,
    /// It was linked to it.
    Linked,
}

/// A run's effects on one file, in the order that matters for durability.
///
/// Filled by [`super::follow::Follower`]. "Durable" means: written, and then covered by a
/// successful sync that began after the write had ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, named in JSON"
)]
pub struct FileHistory {
    pub created: bool,
    /// Opened for writing, or truncated by the open.
    pub opened_to_write: u64,
    /// Opened with `O_TRUNC`, or truncated to zero, though it existed before this and may have had
    /// contents on disk.
    pub emptied: Happened,
    /// Those followed by another write of contents.
    pub rewritten: Happened,
    /// Write calls that succeeded.
    pub writes: u64,
    pub written_bytes: u64,
    /// Writes that extended the file, as far as its length was known.
    pub appends: u64,
    /// Whether space was reserved for it (`fallocate`).
    pub allocated: bool,
    /// Process that last wrote to it, or mapped it writable.
    pub written_by: Option<u32>,
    /// Start of the first write, nanoseconds of `CLOCK_MONOTONIC`.
    pub first_written_ns: Option<u64>,
    /// Runs of writes over contents older than the run.
    pub overwritten: Happened,
    /// Bytes of these contents that were overwritten, at most.
    pub overwritten_bytes: u64,
    /// Reports to the outside (standard output, answers on a socket) by a process that had written to it,
    /// while its writes were not durable.
    pub acknowledged: Happened,
    /// Those that were answers, by the thread that had written to it since it last received
    /// something from a socket.
    pub answered: Happened,
    /// Written bytes that were not durable at the first of these.
    pub answered_bytes: u64,
    /// From the end of the thread's last write to the start of the first, nanoseconds.
    pub answered_after_ns: Option<u64>,
    /// From the start of the first to the end of the next sync that covers that write, nanoseconds;
    /// `null` for none.
    pub answer_synced_after_ns: Option<u64>,
    /// `fsync`, `fdatasync` and `msync(MS_SYNC)` calls that succeeded.
    pub syncs: Happened,
    /// Process that made the last of them.
    pub synced_by: Option<u32>,
    /// Those that were `fdatasync` or `msync`.
    pub data_syncs: u64,
    /// Those that were `msync` with `MS_SYNC`.
    pub msyncs: u64,
    /// Syncs of a file that the run had not changed since the previous sync.
    pub syncs_of_nothing: Happened,
    /// `fsync`s of a file that had changed, but whose length was the same as at the previous sync:
    /// `fdatasync` would have been enough.
    pub steady_syncs: Happened,
    /// Syncs of a file that had grown since the previous sync.
    pub growing_syncs: Happened,
    /// Syncs that failed with an error of the storage (`EIO`, `ENOSPC`, `EDQUOT`).
    pub failed_syncs: Happened,
    /// Writes after a sync had failed, without opening the file again.
    pub writes_after_failed_sync: u64,
    /// Syncs that succeeded after one had failed, without opening the file again.
    pub syncs_after_failed_sync: Happened,
    /// `sync_file_range` calls: write-back started or awaited, and nothing made durable.
    pub hints: Happened,
    /// Written bytes that were not durable at the end of the run.
    pub unsynced_bytes: u64,
    /// Closed while it had bytes that were not durable.
    pub closed_unsynced: Happened,
    /// Whether every write was durable by itself (`O_SYNC`, `O_DSYNC`, `RWF_DSYNC`).
    pub synchronous: bool,
    /// Mapped so that stores change it.
    pub mapped_to_write: Happened,
    /// Whether it was mapped writable, and `msync`ed or synced meanwhile.
    pub mapping_synced: bool,
    /// Renamed or linked, itself or through its directory, while it had bytes that were not
    /// durable.
    pub renamed_unsynced: Happened,
    /// The previous owner of the new name in these renames: of several the worst, `null` for none.
    pub renamed_over: Option<NameHolder>,
    /// Took the name of a file that was removed before the contents of this one were durable. The
    /// moments are those of the removal.
    pub took_removed_name: Happened,
    /// Created under a name that the run had removed from an older file. The moments are those of
    /// the removal.
    pub recreated: Happened,
    /// How it got its last name, if neither its directory nor its whole file system was synced
    /// afterwards; `null` for a name older than the run.
    pub name_unsynced: Option<Naming>,
    /// Whether the file itself was synced after it got that name. This does not make a name durable
    /// (`fsync(2)`), though journals often do.
    pub synced_since_named: bool,
    /// Whether the process that gave it this name reported something to the outside while
    /// [`FileHistory::name_unsynced`] was set.
    pub name_acknowledged: bool,
    /// Whether a sync of any file of the same file system, changed after that, wrote its journal:
    /// on ext4 and xfs the journal then includes the name.
    pub name_journalled: bool,
    /// Whether it was removed, or replaced by a rename, before the end.
    pub unlinked: bool,
    /// Time of its removal, if it is older than the run.
    pub removed: Happened,
    /// Process that removed it.
    pub removed_by: Option<u32>,
    /// Whether it was removed, and neither its directory nor its whole file system was synced
    /// afterwards.
    pub removal_unsynced: bool,
    /// Whether the last sync overlapped with writes in time, so that the bytes it covered are
    /// unknown: [`FileHistory::unsynced_bytes`] is then an upper limit.
    pub uncertain: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::fixture::span;

    #[test]
    fn the_first_moments_are_kept_in_whatever_order_they_come() {
        let mut happened = Happened::default();
        for moment in [50, 10, 40, 30, 20] {
            happened.add(span(moment, moment + 2));
        }
        assert_eq!((happened.count, happened.took_ns), (5, 10));
        assert_eq!(happened.first_ns, [10, 20, 30]);
        happened.take_back(span(20, 22));
        assert_eq!((happened.count, happened.took_ns), (4, 8));
        assert_eq!(happened.first_ns, [10, 30]);
        let mut sum = Happened::default();
        sum.add(span(20, 21));
        sum.merge(&happened);
        assert_eq!((sum.count, sum.took_ns), (5, 9));
        assert_eq!(sum.first_ns, [10, 20, 30]);
    }

    #[test]
    fn a_history_without_mapping_says_so_in_json() {
        let json = serde_json::to_value(FileHistory::default()).unwrap();
        assert_eq!(json["mapped_to_write"]["count"], 0);
        assert_eq!(json["name_unsynced"], serde_json::Value::Null);
        assert_eq!(json["renamed_over"], serde_json::Value::Null);
    }
}
