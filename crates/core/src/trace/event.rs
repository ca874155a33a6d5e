//! The history of a run: what changed files, in order.
//!
//! Both back ends produce these events. Equal writes that follow each other are one event,
//! so a loop of a million writes is one entry; whatever orders or ends them (a sync, a
//! rename, a close) comes after it.

use crate::op::FileId;

/// One entry of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Process (thread group).
    pub process: u32,
    /// Thread.
    pub thread: u32,
    /// When it began, nanoseconds of `CLOCK_MONOTONIC`.
    pub started_ns: u64,
    /// When it ended, same clock; of a run of writes, the end of the last.
    pub ended_ns: u64,
    /// The system call, or `io_uring.<operation>`.
    pub call: &'static str,
    /// What it did.
    pub step: Step,
    /// The `errno` when it failed.
    pub error: Option<i32>,
}

/// What an event did. Paths are absolute and bytes, and lead to what the call acted on: the
/// directories in them are the kernel's, whatever links the program went through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A file was opened for writing, or created, or emptied by opening it.
    Opened {
        /// The file.
        file: FileId,
        /// Whether this call created it.
        created: bool,
        /// Whether this call cut its contents off (`O_TRUNC`).
        truncated: bool,
        /// `O_SYNC` or `O_DSYNC`: every write is made durable.
        synchronous: bool,
        /// `O_DIRECT`.
        direct: bool,
    },
    /// Writes to one file that followed each other in one thread.
    Wrote {
        /// The file.
        file: FileId,
        /// How many.
        count: u64,
        /// Bytes, all together.
        bytes: u64,
        /// Smallest offset.
        from: u64,
        /// Largest offset plus length.
        to: u64,
        /// Of these writes, those that began where the one before had ended.
        sequential: u64,
        /// Whether each of them was durable when it returned (`O_SYNC`, `O_DSYNC`, `RWF_SYNC`,
        /// `RWF_DSYNC`).
        durable: bool,
    },
    /// Something was told to the outside: writes to standard output that is no file, or sends
    /// on a socket. Those close to each other are one event.
    Reported {
        /// How many.
        count: u64,
    },
    /// A call that makes data durable.
    Synced {
        /// The file; `None` for `sync` and `msync`. Of `syncfs`, a file of that file system.
        file: Option<FileId>,
        /// What is made durable.
        scope: Scope,
    },
    /// The length was set (`ftruncate`, `truncate`).
    Resized {
        /// The file.
        file: FileId,
        /// Its new length, bytes.
        bytes: u64,
    },
    /// Space was reserved or punched (`fallocate`).
    Allocated {
        /// The file.
        file: FileId,
    },
    /// A descriptor that could write was closed.
    Closed {
        /// The file.
        file: FileId,
    },
    /// A file was mapped so that stores change it (`MAP_SHARED` and `PROT_WRITE`).
    Mapped {
        /// The file.
        file: FileId,
        /// Length of the mapping, bytes.
        bytes: u64,
    },
    /// A name was changed; `from` and `to` were exchanged when `exchange` is set.
    Renamed {
        /// Old path.
        from: Vec<u8>,
        /// New path.
        to: Vec<u8>,
        /// `RENAME_EXCHANGE`.
        exchange: bool,
    },
    /// Another name was made for a file.
    Linked {
        /// The file, where the call names it by a descriptor (`AT_EMPTY_PATH`,
        /// `/proc/self/fd`).
        file: Option<FileId>,
        /// Existing path; empty when there is none.
        from: Vec<u8>,
        /// New path.
        to: Vec<u8>,
    },
    /// A name was removed, of a file or an empty directory.
    Unlinked {
        /// The path.
        path: Vec<u8>,
        /// Whether it was a directory.
        directory: bool,
    },
    /// A directory, symbolic link or special file was made.
    Made {
        /// The path.
        path: Vec<u8>,
        /// Whether it is a directory.
        directory: bool,
    },
    /// A call on a path that changes nothing, and failed: a search, a test of existence.
    Looked {
        /// The path.
        path: Vec<u8>,
    },
}

/// What a sync call makes durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Data and all metadata of the file (`fsync`).
    File,
    /// Data, and the metadata that is needed to read it (`fdatasync`, `msync` with `MS_SYNC`).
    Data,
    /// Nothing for certain: write-back was only started or waited for (`sync_file_range`,
    /// `msync` with `MS_ASYNC`).
    Hint,
    /// The file system (`syncfs`).
    FileSystem,
    /// Everything (`sync`).
    Everything,
}
