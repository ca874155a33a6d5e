//! What an observer hands back before it is attributed: rows as the kernel counted them.

use std::collections::{BTreeSet, HashSet};

use serde::{Deserialize, Serialize};

use crate::op::{FileId, Gap};
use crate::trace::Shape;

/// When a request was issued, relative to the observed program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Between the start of the program and its end.
    Running,
    /// After its end, while write-back settled.
    AfterExit,
}

/// Why a block request was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Any read.
    #[serde(rename = "reads")]
    Read,
    /// File contents.
    Data,
    /// Journal or log blocks.
    Journal,
    /// The block that makes a transaction valid.
    Commit,
    /// Metadata in its place.
    Metadata,
    /// A cache flush without data.
    Flush,
    /// Discard, secure erase or write-zeroes.
    Discard,
    /// A write whose cause could not be told.
    Unknown,
}

/// One system call on one file, aggregated over the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyscallRow {
    /// System-call name.
    pub name: &'static str,
    /// File it acted on; `None` when it names none or the table was full.
    pub file: Option<FileId>,
    /// Calls.
    pub count: u64,
    /// Calls that failed.
    pub errors: u64,
    /// Sum of the bytes that calls said they moved; 0 for calls that return something else,
    /// as an address or an offset ([`crate::trace::direction`]).
    pub returned: u64,
    /// Time inside.
    pub time_ns: u64,
    /// Part of the time the thread was blocked (not runnable).
    pub blocked_ns: u64,
    /// Calls by the power of two of their nanoseconds.
    pub histogram: Vec<u64>,
    /// How the transfers lay in the file; `None` unless history was asked for, and for
    /// calls that move no bytes of a regular file.
    pub shape: Option<Shape>,
    /// Begin of the first and end of the last, nanoseconds of `CLOCK_MONOTONIC`; `None` where that
    /// is not known of all.
    pub span_ns: Option<(u64, u64)>,
    /// Whether the file is the one that the call read from while it is counted at another
    /// row, that of the file it wrote to (`copy_file_range`, `sendfile`, `splice`).
    pub is_source: bool,
}

/// Page-cache events of one file caused by the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheRow {
    /// The file; metadata pages belong to the block device's inode.
    pub file: FileId,
    /// Whether the pages belong to a block device, i.e. are metadata.
    pub metadata: bool,
    /// Pages asked for.
    pub lookups_pages: u64,
    /// Pages waited for.
    pub missed_pages: u64,
    /// Pages brought in while reading, missed ones included.
    pub filled_pages: u64,
    /// Bytes turned dirty, in folios.
    pub dirtied_bytes: u64,
}

/// Block requests of one cause, file and device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockRow {
    /// Disk (not partition), kernel `dev_t`.
    pub disk: u32,
    /// When.
    pub phase: Phase,
    /// Why.
    pub cause: Cause,
    /// File the first page belongs to, if it is file contents.
    pub file: Option<FileId>,
    /// Whether a task of the observed tree submitted it.
    pub submitted_by_tree: bool,
    /// Requests issued.
    pub count: u64,
    /// Bytes they carried.
    pub bytes: u64,
    /// Issue to completion, summed.
    pub time_ns: u64,
}

/// Sums over the tasks of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// CPU time of the tree's tasks.
    pub on_cpu_ns: u64,
    /// Minor faults.
    pub minor_faults: u64,
    /// Major faults.
    pub major_faults: u64,
    /// Tasks (threads) seen.
    pub tasks: u64,
}

/// What could not be recorded, counted per kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Losses {
    /// Calls that found no room for their file and were counted under "other".
    pub unattributed_calls: u64,
    /// Page-cache events without room.
    pub cache: u64,
    /// Block requests without room.
    pub block: u64,
    /// Streamed events without room in the ring.
    pub stream: u64,
    /// Files whose name found no room in the ring.
    pub names: u64,
    /// Entries of the history without room in the ring.
    pub history: u64,
    /// Tasks whose state could not be made: all their events are missing.
    pub tasks: u64,
    /// Calls of 32-bit programs, and those that 64-bit ones make the 32-bit way: their numbers
    /// mean other calls, which are not decoded.
    pub foreign_calls: u64,
    /// Threads and queues whose calls were not seen at all, for a reason that is in `missing`.
    pub uncounted: u64,
    /// Events that nobody has read, since the observer's own reader had failed.
    pub unread: u64,
    /// Events the kernel did not hand over, because the program that counts them had
    /// been interrupted by another of the same kind.
    pub skipped: u64,
}

impl Losses {
    /// Whether calls are missing, nobody knows how many.
    pub fn hide_calls(&self) -> bool {
        self.tasks > 0 || self.uncounted > 0
    }

    /// Each kind but `uncounted`: how many, of what, and why they were lost.
    pub(super) fn kinds(&self) -> [(u64, &'static str, &'static str); 10] {
        const NO_ROOM: &str = "the ring buffer was full";
        [
            (
                self.unattributed_calls,
                "system calls without their file",
                "the table of files was full; they are counted by name only",
            ),
            (
                self.cache,
                "page-cache events",
                "the table of files was full",
            ),
            (
                self.block,
                "block requests",
                "the table of requests was full",
            ),
            (self.stream, "streamed events", NO_ROOM),
            (self.names, "names of files", NO_ROOM),
            (self.history, "steps of the history", NO_ROOM),
            (
                self.tasks,
                "tasks",
                "out of memory for their state; their calls are not counted",
            ),
            (
                self.foreign_calls,
                "system calls of 32-bit programs",
                "their numbers mean other calls; they are not decoded",
            ),
            (self.unread, "events", "their reader had failed"),
            (
                self.skipped,
                "events",
                "one arrived while another of the same kind was being counted",
            ),
        ]
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        let counts = self.kinds().map(|(count, ..)| count);
        counts.into_iter().fold(self.uncounted, u64::saturating_add)
    }
}

/// Who used which device in one session. A file system is named by its `s_dev`, a disk by its
/// `dev_t`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sharing {
    /// Types of file systems of which every change and sync is seen.
    pub told: Vec<&'static str>,
    /// File systems that a task of the tree changed or synced.
    pub tree_changed: BTreeSet<u32>,
    /// File systems that another task changed or synced.
    pub others_changed: BTreeSet<u32>,
    /// Disks to which another task sent requests that are no reads.
    pub others_wrote: BTreeSet<u32>,
    /// Disks from which another task read.
    pub others_read: BTreeSet<u32>,
}

/// Files of which more were used than are kept apart. Nothing is lost of them but which file it was:
/// their calls are in rows without a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summed {
    /// The files, as far as they are remembered.
    pub files: HashSet<FileId>,
    /// Their calls.
    pub calls: u64,
}

/// Everything an observer saw in one session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RawEvidence {
    /// System calls; `None` when that stratum could not be observed.
    pub syscalls: Option<Vec<SyscallRow>>,
    /// Page cache; `None` when that stratum could not be observed.
    pub cache: Option<Vec<CacheRow>>,
    /// Block requests of the whole machine; `None` when not observed.
    pub block: Option<Vec<BlockRow>>,
    /// Who used which device; `None` when that was not observed.
    pub sharing: Option<Sharing>,
    /// Task sums; `None` when not observed.
    pub totals: Option<Totals>,
    /// Blocked times are valid.
    pub blocked_seen: bool,
    /// Files whose calls are in rows without a file.
    pub summed: Summed,
    /// Losses.
    pub losses: Losses,
    /// Strata that are not there, and why.
    pub missing: Vec<Gap>,
}
