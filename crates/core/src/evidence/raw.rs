//! An observer's output before attribution: rows as the kernel side counted them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{CallStats, Cause};
use crate::gap::{Countable, Gap, Reason};
use crate::op::FileId;
use crate::timing::seconds;
use crate::trace::{Shape, direction};

/// When a request was issued, relative to the observed program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Between the start of the program and its end.
    Running,
    /// After its end, while write-back settled.
    AfterExit,
}

/// One system call on one file, aggregated over the tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SyscallRow {
    pub name: &'static str,
    /// File of the call; `None` when it has none or the table was full.
    pub file: Option<FileId>,
    pub count: u64,
    /// Calls that failed.
    pub errors: u64,
    /// Sum of the bytes that calls returned as moved; 0 for calls with another result, such as an
    /// address or an offset ([`crate::trace::direction`]).
    pub returned: u64,
    pub time_ns: u64,
    /// Part of the time the thread was blocked (not runnable).
    pub blocked_ns: u64,
    /// Part of the time in which no other thread of the tree ran, waited for a CPU, or slept for a
    /// time that it had set. At most, where the call is an operation of io_uring.
    pub alone_ns: u64,
    /// Number of calls by the power of two of their nanoseconds.
    pub histogram: Vec<u64>,
    /// Position of the transfers in the file; `None` without history, and for calls that move no
    /// bytes of a regular file.
    pub shape: Option<Box<Shape>>,
    /// Begin of the first and end of the last, nanoseconds of `CLOCK_MONOTONIC`; `None` where that
    /// is not known of all.
    pub span_ns: Option<(u64, u64)>,
    /// Whether the file is the one that the call read from while it is counted at another
    /// row, that of the file it wrote to (`copy_file_range`, `sendfile`, `splice`).
    pub is_source: bool,
}

impl SyscallRow {
    pub fn stats(&self) -> CallStats {
        CallStats {
            count: self.count,
            errors: self.errors,
            bytes: match direction(self.name) {
                Some(_) => self.returned,
                None => 0,
            },
            time_s: seconds(self.time_ns),
        }
    }
}

/// Page-cache events of one file caused by the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheRow {
    /// The file; metadata pages belong to the block device's inode.
    pub file: FileId,
    /// Whether the pages belong to a block device, i.e. are metadata.
    pub metadata: bool,
    /// Pages requested.
    pub lookups_pages: u64,
    pub missed_pages: u64,
    /// Pages brought in during reads, including missed ones.
    pub filled_pages: u64,
    /// Bytes turned dirty, in folios.
    pub dirtied_bytes: u64,
}

/// Block requests of one cause, file and device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockRow {
    /// Disk (not partition), kernel `dev_t`.
    pub disk: u32,
    pub phase: Phase,
    pub cause: Cause,
    /// File the first page belongs to, if it is file contents.
    pub file: Option<FileId>,
    pub submitter: Submitter,
    /// Of file contents that are written.
    pub pages: Pages,
    pub count: u64,
    pub bytes: u64,
    /// Time from issue to completion, summed.
    pub time_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Submitter {
    /// A task of the observed tree, a worker of io_uring for it, or a commit or flush that serves it alone.
    Run,
    /// For whom is unknown: a worker that queued a read or a direct write which a limit of a control group had delayed, or
    /// the thread of a journal for a transaction that others may have taken part in.
    Worker,
    /// What serves others alone.
    Others,
    /// Another task, which may do it for any.
    #[default]
    Unknown,
}

/// Where written file contents come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Pages {
    /// From the page cache, of a file that the run had not opened to write by then.
    #[default]
    Others,
    /// From the page cache, of a file that the run had opened to write, or written to.
    WrittenByRun,
    /// Not from the page cache.
    Direct,
}

/// What others did with the pages of one file that the run writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Life {
    /// All its pages, if one was dirty when the run opened it to write, or wrote, else 0.
    pub before_bytes: u64,
    /// Turned dirty by others since, in folios.
    pub dirtied_bytes: u64,
    /// Whether the run has a shared mapping that it may write to.
    pub is_mapped: bool,
}

impl Life {
    /// Whether nobody else has dirtied pages.
    pub fn is_alone(&self) -> bool {
        (self.before_bytes, self.dirtied_bytes) == (0, 0)
    }
}

/// Sums over the tasks of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    pub on_cpu_ns: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub tasks: u64,
    /// What calls have moved by the kernel's own accounting (`rchar` and `wchar`); `None` where a task is unknown.
    pub accounted_bytes: Option<u64>,
}

/// Events that could not be recorded, counted by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Losses {
    /// Calls that found no room for their file and were counted under "other".
    pub unattributed_calls: u64,
    /// Page-cache events without room.
    pub cache: u64,
    /// Block requests without room in the tables.
    pub block: u64,
    /// Streamed events without room in the ring.
    pub stream: u64,
    /// Files whose name found no room in the ring.
    pub names: u64,
    /// Entries of the history without room in the ring.
    pub history: u64,
    /// Tasks without a state: all their events are missing.
    pub tasks: u64,
    /// Calls of 32-bit programs, and calls that 64-bit programs make with the 32-bit convention:
    /// their numbers mean other calls, which are not decoded.
    pub foreign_calls: u64,
    /// Threads and queues whose calls were not seen at all, for the reason in `missing`.
    pub uncounted: u64,
    /// Events that were not read, since the observer's own reader had failed.
    pub unread: u64,
    /// Events that the kernel did not pass on, because it skips a program that would interrupt
    /// itself.
    pub skipped: u64,
}

impl Losses {
    /// Whether an unknown number of calls is missing.
    pub fn hide_calls(&self) -> bool {
        self.tasks > 0 || self.uncounted > 0
    }

    /// Each kind except `uncounted`: how many, of what, and why they were lost.
    pub(super) fn kinds(&self) -> [(u64, Countable, Reason); 10] {
        [
            (
                self.unattributed_calls,
                Countable::SystemCallsWithoutFile,
                Reason::FileTableFullByName,
            ),
            (self.cache, Countable::CacheEvents, Reason::FileTableFull),
            (
                self.block,
                Countable::BlockRequests,
                Reason::RequestTableFull,
            ),
            (self.stream, Countable::StreamedEvents, Reason::RingFull),
            (self.names, Countable::FileNames, Reason::RingFull),
            (self.history, Countable::HistorySteps, Reason::RingFull),
            (self.tasks, Countable::Tasks, Reason::MemoryFull),
            (
                self.foreign_calls,
                Countable::ForeignCalls,
                Reason::ForeignNumbers,
            ),
            (self.unread, Countable::Events, Reason::ReaderFailed),
            (self.skipped, Countable::Events, Reason::Overtaken),
        ]
    }

    pub fn total(&self) -> u64 {
        let counts = self.kinds().map(|(count, ..)| count);
        counts.into_iter().fold(self.uncounted, u64::saturating_add)
    }
}

/// The users of each device in one session. A file system is identified by its `s_dev`, a disk by
/// its `dev_t`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sharing {
    /// Types of file systems whose changes and syncs are all observed.
    pub told: Vec<&'static str>,
    /// File systems that a task of the tree changed or synced.
    pub tree_changed: BTreeSet<u32>,
    /// File systems that another task changed or synced.
    pub others_changed: BTreeSet<u32>,
    /// Disks to which another task sent requests other than reads.
    pub others_wrote: BTreeSet<u32>,
}

/// Files beyond the number with rows of their own. Only the file is lost: their calls are in rows
/// without a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summed {
    /// Number of files, as far as remembered.
    pub files: HashSet<FileId>,
    pub calls: u64,
}

/// Everything that an observer saw in one session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RawEvidence {
    /// System calls; `None` when the stratum was not observed.
    pub syscalls: Option<Vec<SyscallRow>>,
    /// Page cache; `None` when the stratum was not observed.
    pub cache: Option<Vec<CacheRow>>,
    /// Block requests of the whole machine; `None` when not observed.
    pub block: Option<Vec<BlockRow>>,
    /// Files that the run writes to.
    pub lives: HashMap<FileId, Life>,
    /// Files of an overlay that were copied to its upper layer, and their copies, which have their pages.
    pub copies: HashMap<FileId, FileId>,
    /// Loop devices that got requests, and which attachment of their number that was (`diskseq`); 0
    /// for several.
    pub attachments: BTreeMap<u32, u64>,
    /// Who used which device; `None` when that was not observed.
    pub sharing: Option<Sharing>,
    /// Task sums; `None` when not observed.
    pub totals: Option<Totals>,
    /// Whether blocked times are valid.
    pub blocked_seen: bool,
    /// Files whose calls are in rows without a file.
    pub summed: Summed,
    pub losses: Losses,
    /// Strata that were not observed, and why.
    pub missing: Vec<Gap>,
}
