//! What a log holds: operations on files, names and their durability.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Attribute, FileKind, Name, Payload, Place, Was};
use crate::op::FileId;

/// One call that changed files, or asked for durability, in the order of completion.
///
/// Calls of different threads whose times overlap may have taken effect in either order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Position in the log, from 0.
    pub id: u64,
    /// Process (thread group).
    pub process: u32,
    /// Thread.
    pub thread: u32,
    /// When the call began, nanoseconds of `CLOCK_MONOTONIC`.
    pub started_ns: u64,
    /// From its start to its end, nanoseconds.
    pub took_ns: u64,
    /// The system call.
    pub call: Cow<'static, str>,
    /// What it returned, or the `errno`. A failed call changed nothing.
    pub outcome: Result<u64, i32>,
    /// What it did, or would have done.
    pub change: Change,
}

impl Operation {
    /// When it ended, nanoseconds of `CLOCK_MONOTONIC`.
    pub fn ended_ns(&self) -> u64 {
        self.started_ns.saturating_add(self.took_ns)
    }
}

/// An open file description (open(2)): the position and the flags that all its descriptors
/// share, after `dup`, `fork`, or sent over a socket. Its number is never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Description(pub u64);

/// What an operation did. A node is described by [`Change::Found`], [`Change::Made`] or
/// [`Change::Opened`] before anything else names it, and so is a directory before its names.
///
/// The order of the variants, and of their fields, is part of the format. New variants are
/// added at the end, where an older reader tells them as [`Change::Later`]; anything else
/// needs a new [`super::VERSION`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// A node that was there before the program touched it.
    Found {
        /// The node.
        node: FileId,
        /// What it is.
        kind: FileKind,
        /// Where it was.
        place: Place,
        /// The twelve low bits of its mode, where they are known.
        mode: Option<u32>,
        /// Its length then, bytes.
        size_bytes: u64,
        /// Contents of a regular file at that time; `None` if the log does not have them. What they
        /// are shorter than the length is zero, or told by [`Change::Before`].
        contents: Option<Payload>,
    },
    /// An open file description, seen for the first time or with other flags than before
    /// (`F_SETFL`).
    Described {
        /// Its node.
        node: FileId,
        /// The description.
        description: Description,
        /// `O_*`.
        flags: u32,
    },
    /// A regular file was opened for writing, created, or emptied by opening it.
    Opened {
        /// The file.
        node: FileId,
        /// The description that came of it.
        description: Description,
        /// `O_*` of the description.
        flags: u32,
        /// Where this call created the file; `None` when it was there.
        created: Option<Place>,
        /// The twelve low bits of the file's mode, where they are known.
        mode: Option<u32>,
        /// Whether this call cut its contents off.
        truncated: bool,
    },
    /// Bytes were written.
    Wrote {
        /// The file.
        node: FileId,
        /// The description they were written through; `None` when it is not known.
        description: Option<Description>,
        /// Where the kernel put them, bytes: with `O_APPEND` too.
        offset: u64,
        /// `RWF_*` of this call.
        flags: u32,
        /// What was written.
        payload: Payload,
    },
    /// Stores to a shared mapping, as they were found at a point of synchronization
    /// (`msync`, the end of the recording). What was stored and overwritten between two
    /// such points is not in the log.
    Stored {
        /// The file.
        node: FileId,
        /// Where they begin, bytes.
        offset: u64,
        /// What the file held then.
        payload: Payload,
    },
    /// The length was set.
    Resized {
        /// The file.
        node: FileId,
        /// Through which description; `None` for a path.
        description: Option<Description>,
        /// Its new length, bytes.
        bytes: u64,
    },
    /// Space was reserved, zeroed, punched or moved (`fallocate`).
    Allocated {
        /// The file.
        node: FileId,
        /// Through which description.
        description: Option<Description>,
        /// `FALLOC_FL_*`.
        mode: u32,
        /// Begin of the range, bytes.
        offset: u64,
        /// Its length, bytes.
        bytes: u64,
    },
    /// A range came to share its blocks with one of another file (`FICLONE`,
    /// `FICLONERANGE`).
    Cloned {
        /// The file that was changed.
        node: FileId,
        /// Through which description.
        description: Option<Description>,
        /// Where the range begins in it, bytes.
        offset: u64,
        /// The file that it was taken from.
        source: FileId,
        /// Where the range begins there, bytes.
        source_offset: u64,
        /// What the range holds since.
        payload: Payload,
    },
    /// The same of ranges that held the same bytes (`FIDEDUPERANGE`): no contents changed.
    Deduplicated {
        /// The file whose blocks were given up.
        node: FileId,
        /// Where the range begins in it, bytes.
        offset: u64,
        /// The file whose blocks are shared.
        source: FileId,
        /// Where the range begins there, bytes.
        source_offset: u64,
        /// Length of the range, bytes.
        bytes: u64,
    },
    /// A node was made: a directory, symbolic link, FIFO, socket, device, or by `mknod` a
    /// regular file.
    Made {
        /// The node.
        node: FileId,
        /// What it is.
        kind: FileKind,
        /// Its name.
        name: Name,
        /// The twelve low bits of its mode, where they are known.
        mode: Option<u32>,
        /// Number of a device, encoded like `st_rdev`; else 0.
        device_number: u64,
        /// What a symbolic link says; else empty.
        target: Vec<u8>,
    },
    /// A name was changed.
    Renamed {
        /// The node that got the new name.
        node: FileId,
        /// Old name.
        from: Name,
        /// New name.
        to: Name,
        /// The node that had the new name: it has the old one now if the two were
        /// exchanged, and else lost its name.
        other: Option<FileId>,
        /// `RENAME_*`.
        flags: u32,
    },
    /// A node got another name, or its first one (`O_TMPFILE`).
    Linked {
        /// The node.
        node: FileId,
        /// The new name.
        name: Name,
    },
    /// A name was removed.
    Unlinked {
        /// The node that had it.
        node: FileId,
        /// The name.
        name: Name,
        /// Whether it was a directory.
        directory: bool,
    },
    /// Attributes of a node were changed.
    Changed {
        /// The node.
        node: FileId,
        /// What was changed.
        attribute: Attribute,
    },
    /// Durability was asked for.
    Synced {
        /// The node, a directory also; of `syncfs` one of that file system; `None` for `sync`.
        node: Option<FileId>,
        /// Through which description.
        description: Option<Description>,
        /// What is made durable.
        scope: Durability,
    },
    /// A file was mapped, or a mapping was made writable, so that stores change it.
    Mapped {
        /// The file.
        node: FileId,
        /// Where in the file the mapping begins, bytes.
        offset: u64,
        /// Its length, bytes.
        bytes: u64,
    },
    /// A descriptor was closed.
    Closed {
        /// The node.
        node: FileId,
        /// The description; other descriptors may still stand for it.
        description: Description,
    },
    /// Bytes were read; only where reads were asked for. They themselves are not kept.
    Read {
        /// The file.
        node: FileId,
        /// The description.
        description: Option<Description>,
        /// Where they begin, bytes.
        offset: u64,
        /// How many were read.
        bytes: u64,
        /// `RWF_*` of this call.
        flags: u32,
    },
    /// Output that is no file: what a user, or another program, has been told.
    Printed {
        /// Descriptor: 1 or 2.
        descriptor: u32,
        /// What was written.
        payload: Payload,
    },
    /// A call on names that failed.
    Attempted {
        /// Its paths, as the program gave them.
        paths: Vec<Vec<u8>>,
    },
    /// How a node was that was found, before the program began; only where that was asked for.
    Before {
        /// The node.
        node: FileId,
        /// What of it.
        was: Was,
    },
    /// A range of a regular file was mapped, and can be read in memory; only where reads were
    /// asked for. Which of its pages the program came to, [`Change::Touched`] says.
    MappedToRead {
        /// The file.
        node: FileId,
        /// Where in the file the mapping begins, bytes.
        offset: u64,
        /// Its length, bytes.
        bytes: u64,
        /// `PROT_*`.
        protection: u32,
        /// `MAP_*`: whether it is shared.
        flags: u32,
    },
    /// A fault made pages of a mapped file accessible; only where reads were asked for. The
    /// program came to one of them at least; of those that it came to later there is no more.
    Touched {
        /// The file.
        node: FileId,
        /// Where the pages begin in it, bytes.
        offset: u64,
        /// Their length, bytes.
        bytes: u64,
    },
    /// Something that a later iostrata recorded and this one does not know. Never written.
    #[serde(skip)]
    Later {
        /// Number of the variant.
        kind: u32,
    },
}

/// What is made durable. The order of the variants is part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Durability {
    /// Data and metadata of the node (`fsync`).
    File,
    /// Data, and the metadata that is needed to read it (`fdatasync`).
    Data,
    /// A range of the file's data (`msync` with `MS_SYNC`).
    Range {
        /// Begin, bytes.
        offset: u64,
        /// Length, bytes.
        bytes: u64,
    },
    /// Nothing for certain (`sync_file_range`, `msync` with `MS_ASYNC`).
    Hint,
    /// A whole file system (`syncfs`).
    FileSystem,
    /// Everything (`sync`).
    Everything,
}
