//! Calls that changed files, decoded: the input of the history and of the operation log.
//!
//! Both back ends produce these events. What a call does is said by [`Change`], the vocabulary of
//! the log. A call on names has paths until the log puts the names of directories in their place:
//! so long it is a [`NameChange`]. Equal writes that follow each other are one event of the
//! history, so a loop of a million writes is one entry; whatever orders or ends them (a sync, a
//! rename, a close) comes after it.

use crate::op::{Call, FileId};
use crate::record::Change;

use super::FileKind;

/// One entry of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The call.
    pub call: Call,
    /// The open file that it went through, where that is known.
    pub open: Option<OpenFile>,
    /// What it did.
    pub did: Did,
}

/// An open file, as the kernel knows it: a number that is used again once it was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFile {
    /// The number.
    pub address: u64,
    /// `O_*`.
    pub flags: u32,
}

/// What an event did, or, where its call failed, would have done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Did {
    /// Something to a file. Its description is that of the open file, its node the kernel's.
    Changed(Change),
    /// Something to names.
    Named(NameChange),
    /// Writes to one file that followed each other in one thread.
    Wrote(Writes),
    /// Told something to the outside: writes to standard output that is no file, or sends on a
    /// socket. Those close to each other are one event.
    Reported,
}

/// Writes to one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Writes {
    /// The file.
    pub file: FileId,
    /// How many.
    pub count: u64,
    /// Bytes, all together.
    pub bytes: u64,
    /// Smallest offset.
    pub from: u64,
    /// Largest offset plus length; 0 when offsets are not known.
    pub to: u64,
    /// Whether each of them was durable when it returned (`O_SYNC`, `O_DSYNC`, `RWF_SYNC`,
    /// `RWF_DSYNC`).
    pub durable: bool,
}

/// A path of a call: absolute, and leading to what the call acted on. The directories in it are
/// the kernel's, whatever links the program went through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The path.
    pub path: Vec<u8>,
    /// The directory that it ends in, where the kernel told it.
    pub directory: Option<FileId>,
}

/// The node that a path led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeSeen {
    /// The node.
    pub id: FileId,
    /// `None` when only the call's name says what it may be.
    pub kind: Option<FileKind>,
    /// The twelve low bits of its mode.
    pub mode: Option<u32>,
    /// Its length, bytes.
    pub size_bytes: u64,
}

/// What a call did to names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameChange {
    /// A regular file was opened for writing, created, or emptied by opening it.
    Opened {
        /// The file.
        file: FileId,
        /// Its path.
        at: Option<Located>,
        /// The twelve low bits of its mode.
        mode: u32,
        /// Whether this call created it.
        created: bool,
        /// Whether this call cut its contents off.
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
    /// Another name was made for a node.
    Linked {
        /// The node.
        node: Option<NodeSeen>,
        /// A path that it had; `None` when a descriptor stands for it.
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
    /// A node was made that is opened by no call of that kind: a directory, symbolic link or
    /// special file.
    Made {
        /// The node.
        node: Option<NodeSeen>,
        /// Its path.
        at: Located,
        /// What it is.
        kind: FileKind,
        /// Number of a device, encoded like `st_rdev`; else 0.
        device_number: u64,
        /// What a symbolic link says; else empty.
        target: Vec<u8>,
    },
}
