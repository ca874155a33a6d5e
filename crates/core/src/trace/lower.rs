//! Information about the lower strata from a back end without kernel events.

use serde::{Deserialize, Serialize};

use crate::op::FileId;

/// Bytes of a file in the page cache, before and after, from `cachestat(2)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Residency {
    pub file: FileId,
    /// Bytes in the page cache, in whole pages, when the program first used the file; `None` when
    /// the kernel did not report them.
    pub before_bytes: Option<u64>,
    /// The same at the end; also `None` when the file had another name, or none, then.
    pub after_bytes: Option<u64>,
}

/// What a run left of a file that it had dirtied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AtExit {
    /// Bytes dirty or under write-back, those of others as well; `None` where the file could not be asked.
    pub dirty_bytes: Option<u64>,
    /// Whether it has blocks on a disk (`st_blocks`).
    pub has_blocks: bool,
}

/// The kernel's accounting for processes (`/proc/PID/io`, `proc_pid_io(5)`), summed over those that
/// have ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ProcessIo {
    pub processes: u64,
    /// Bytes returned by reads, including pipes and terminals.
    pub read_bytes: u64,
    /// Bytes accepted by writes.
    pub written_bytes: u64,
    pub read_calls: u64,
    pub write_calls: u64,
    /// Bytes fetched from storage for them.
    pub device_read_bytes: u64,
    /// Bytes that they dirtied, to be written to storage later.
    pub dirtied_bytes: u64,
    /// Of these, bytes no longer to be written, because their file was truncated or removed.
    pub cancelled_bytes: u64,
}

impl ProcessIo {
    /// Adds the figures of another process.
    pub fn add(&mut self, other: &Self) {
        self.processes = self.processes.saturating_add(other.processes);
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.written_bytes = self.written_bytes.saturating_add(other.written_bytes);
        self.read_calls = self.read_calls.saturating_add(other.read_calls);
        self.write_calls = self.write_calls.saturating_add(other.write_calls);
        self.device_read_bytes = self
            .device_read_bytes
            .saturating_add(other.device_read_bytes);
        self.dirtied_bytes = self.dirtied_bytes.saturating_add(other.dirtied_bytes);
        self.cancelled_bytes = self.cancelled_bytes.saturating_add(other.cancelled_bytes);
    }
}

/// The lower strata as far as they are visible from outside.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lower {
    /// Page cache, by file.
    pub residency: Vec<Residency>,
    /// Accounting of the processes that have ended; `None` when none could be read.
    pub io: Option<ProcessIo>,
}
