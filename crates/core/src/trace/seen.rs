//! What a back end returns besides counts: names, tasks.

use super::timeline::Moments;
use super::{Followed, SiteRow};
use crate::gap::Gap;
use crate::op::{FileId, FileKind};

/// Whether the kernel generates the files of this file-system type: a write to one of them stores
/// nothing. The kernel side knows them by number (`is_answer`, `bpf/offsets.h`).
pub fn answers(filesystem: &str) -> bool {
    matches!(
        filesystem,
        "proc"
            | "sysfs"
            | "debugfs"
            | "tracefs"
            | "securityfs"
            | "cgroup"
            | "cgroup2"
            | "configfs"
            | "selinuxfs"
            | "smackfs"
            | "efivarfs"
            | "binfmt_misc"
            | "fusectl"
    )
}

/// Whether bytes of such a file are stored: they have pages in the cache, and a device under them unless
/// that is memory.
pub fn stores(kind: FileKind, filesystem: &str) -> bool {
    matches!(kind, FileKind::Regular | FileKind::BlockDevice) && !answers(filesystem)
}

/// A file that the program used, by its name at first use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    pub file: FileId,
    /// Absolute path; for a file without one, the text in `/proc/PID/fd` (`pipe:[7]`).
    pub path: Vec<u8>,
    pub kind: FileKind,
    /// Type of its file system: `ext4`, `tmpfs`, `proc`.
    pub filesystem: String,
    /// Length at first use, bytes.
    pub size_bytes: u64,
    /// Whether it had no name any more, or none yet: `path` does not lead to it.
    pub is_removed: bool,
    /// Device, in the kernel's encoding, and inode number as shown by `stat(2)`. Equal to those of
    /// `file`, except on overlayfs, whose files an observer may know by their layer.
    pub shown: (u32, u64),
}

/// One thread of the tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Task {
    pub thread: u32,
    pub process: u32,
    pub parent: u32,
    /// Name at its end (`comm`), at most 15 bytes. A program can set it to any text.
    pub name: Vec<u8>,
    /// Start of the observation of this thread, nanoseconds of `CLOCK_MONOTONIC`.
    pub started_ns: u64,
    /// Its end; `None` when it outlived the observation.
    pub ended_ns: Option<u64>,
    /// CPU time, nanoseconds; `None` when it had ended before it could be read.
    pub on_cpu_ns: Option<u64>,
    /// Faults without I/O.
    pub minor_faults: u64,
    /// Faults that waited for I/O.
    pub major_faults: u64,
    pub calls: u64,
    /// Time inside calls that move, sync or name file data, nanoseconds.
    pub time_ns: u64,
    /// Part of it that the thread was blocked.
    pub blocked_ns: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
}

/// Totals of all threads, including those without a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lived {
    pub processes: u64,
    pub threads: u64,
    /// Start of the first, nanoseconds of `CLOCK_MONOTONIC`.
    pub first_ns: Option<u64>,
    /// End of the last one that ended.
    pub last_ns: Option<u64>,
    /// Whether one outlived the observation.
    pub go_on: bool,
}

/// The observation of one session besides counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// Files by their name, in the order of first use.
    pub names: Vec<NamedFile>,
    /// Threads; if there are very many, those with the most time in calls on files.
    pub tasks: Vec<Task>,
    /// Their total number.
    pub lived: Lived,
    /// Changes of files.
    pub followed: Followed,
    pub sites: Vec<SiteRow>,
    /// Times of calls and requests.
    pub moments: Moments,
    pub missing: Vec<Gap>,
}
