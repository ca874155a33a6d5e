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
    /// The call.
    pub call: Call,
    /// The open file that it used, if known.
    pub open: Option<OpenFile>,
    /// Its effect.
    pub did: Did,
}

/// An open file in the kernel: its number is reused after it was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFile {
    /// The number.
    pub address: u64,
    /// `O_*`.
    pub flags: u32,
}

/// The effect of an event, or the intended effect of a failed call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Did {
    /// A change of a file. Its description is that of the open file, its node the kernel's.
    Changed(Change),
    /// A change of names.
    Named(NameChange),
    /// Consecutive writes of one thread to one file.
    Wrote(Writes),
    /// A report to the outside: writes to standard output other than files, or sends on a socket.
    /// Reports close to each other are one event.
    Reported,
}

/// Writes to one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Writes {
    /// The file.
    pub file: FileId,
    /// Their number.
    pub count: u64,
    /// Total bytes.
    pub bytes: u64,
    /// Smallest offset.
    pub from: u64,
    /// Largest offset plus length; 0 when offsets are unknown.
    pub to: u64,
    /// Whether each of them was durable when it returned (`O_SYNC`, `O_DSYNC`, `RWF_SYNC`,
    /// `RWF_DSYNC`).
    pub durable: bool,
}

/// A path of a call: absolute, and leading to the call's object. The directories in it are the
/// kernel's, whatever links the program's path had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The path.
    pub path: Vec<u8>,
    /// Its last directory, if the kernel reported it.
    pub directory: Option<FileId>,
}

/// The target of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeSeen {
    /// The node.
    pub id: FileId,
    /// `None` when only the call's name shows what it may be.
    pub kind: Option<FileKind>,
    /// The twelve low bits of its mode.
    pub mode: Option<u32>,
    /// Its length, bytes.
    pub size_bytes: u64,
}

/// The effect of a call on names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameChange {
    /// A regular file was opened for writing, created, or truncated by the open.
    Opened {
        /// The file.
        file: FileId,
        /// Its path.
        at: Option<Located>,
        /// The twelve low bits of its mode.
        mode: u32,
        /// Whether this call created it.
        created: bool,
        /// Whether this call truncated it.
        truncated: bool,
    },
    /// A name was changed.
    Renamed {
        /// The node that got the new name.
        node: Option<NodeSeen>,
        /// Old path.
        from: Located,
        /// New path.
        to: Located,
        /// `RENAME_*`.
        flags: u32,
    },
    /// A node got another name.
    Linked {
        /// The node.
        node: Option<NodeSeen>,
        /// A path that it had; `None` when a descriptor identifies it.
        from: Option<Located>,
        /// The new path.
        to: Located,
    },
    /// A name was removed.
    Unlinked {
        /// The node that had it.
        node: Option<NodeSeen>,
        /// Its path.
        at: Located,
        /// Whether it was a directory.
        directory: bool,
    },
    /// A node was created without being opened: a directory, symbolic link or special file.
    Made {
        /// The node.
        node: Option<NodeSeen>,
        /// Its path.
        at: Located,
        /// Its kind.
        kind: FileKind,
        /// Number of a device, encoded like `st_rdev`; else 0.
        device_number: u64,
        /// Target of a symbolic link; else empty.
        target: Vec<u8>,
    },
}
