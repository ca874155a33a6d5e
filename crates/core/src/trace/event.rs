//! Calls that changed files, decoded: the input of the history and of the operation log.
//!
//! Both back ends produce these events. [`Change`], the vocabulary of the log, describes the effect
//! of a call. A call on names has paths until the log replaces them by names of directories: until
//! then it is a [`NameChange`]. Consecutive equal writes are one event of the history, so a loop of
//! a million writes is one entry; events that order or end them (a sync, a rename, a close) come
//! after it.

use crate::op::{Call, FileId};
use crate::record::Change;

use super::FileKind;

/// One entry of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub call: Call,
    /// The open file that it used, if known.
    pub open: Option<OpenFile>,
    pub did: Did,
}

/// An open file in the kernel: its number is reused after it was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFile {
    pub address: u64,
    /// `O_*`.
    pub flags: u32,
}

/// The effect of an event, or the intended effect of a failed call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Did {
    /// A change of a file. Its description is that of the open file, its node the kernel's.
    Changed(Change),
    Named(NameChange),
    /// Consecutive writes of one thread to one file.
    Wrote(Writes),
    /// A report to the outside. Reports close to each other are one event.
    Reported(Audience),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Standard output, unless that is a file.
    Output,
    /// The peer of a socket that began on it: it connected, or sent to its address.
    Peer {
        /// The end of the thread's latest receipt from a socket, nanoseconds; 0 for none.
        heard_ns: u64,
    },
}

impl Audience {
    /// The time after which changes may be what the report is about.
    pub(super) fn since_ns(self) -> u64 {
        match self {
            Self::Output => 0,
            Self::Peer { heard_ns } => heard_ns,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Writes {
    pub file: FileId,
    pub count: u64,
    pub bytes: u64,
    /// Smallest offset.
    pub from: u64,
    /// Largest offset plus length; 0 when offsets are unknown.
    pub to: u64,
    /// Whether each of them was durable when it returned (`O_SYNC`, `O_DSYNC`, `RWF_SYNC`,
    /// `RWF_DSYNC`).
    pub durable: bool,
    /// Whether each of them went to the end of the file (`O_APPEND`, `RWF_APPEND`).
    pub appends: bool,
    /// Length of the file before the first of them; `None` where it was not looked up.
    pub size_bytes: Option<u64>,
}

/// A path of a call: absolute, and leading to the call's object. The directories in it are the
/// kernel's, whatever links the program's path had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    pub path: Vec<u8>,
    /// Its last directory, if the kernel reported it.
    pub directory: Option<FileId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeSeen {
    pub id: FileId,
    /// `None` when only the call's name shows what it may be.
    pub kind: Option<FileKind>,
    /// The twelve low bits of its mode.
    pub mode: Option<u32>,
    pub size_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameChange {
    /// A regular file was opened for writing, created, or truncated by the open.
    Opened {
        file: FileId,
        at: Option<Located>,
        /// The twelve low bits of its mode.
        mode: u32,
        created: bool,
        truncated: bool,
    },
    Renamed {
        /// The node that got the new name.
        node: Option<NodeSeen>,
        from: Located,
        to: Located,
        /// `RENAME_*`.
        flags: u32,
    },
    Linked {
        node: Option<NodeSeen>,
        /// A path that it had; `None` when a descriptor identifies it.
        from: Option<Located>,
        to: Located,
    },
    Unlinked {
        node: Option<NodeSeen>,
        at: Located,
        directory: bool,
    },
    /// A node was created without being opened: a directory, symbolic link or special file.
    Made {
        node: Option<NodeSeen>,
        at: Located,
        kind: FileKind,
        /// Number of a device, encoded like `st_rdev`; else 0.
        device_number: u64,
        /// Target of a symbolic link; else empty.
        target: Vec<u8>,
    },
}
