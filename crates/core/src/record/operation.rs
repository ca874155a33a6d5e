//! The contents of a log: operations on files, names and their durability.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Attribute, FileKind, Name, Payload, Place, Was};
use crate::op::FileId;

/// One call that changed files, or requested durability, in the order of completion.
///
/// Calls of different threads whose times overlap may have taken effect in either order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Position in the log, from 0.
    pub id: u64,
    pub process: u32,
    pub thread: u32,
    /// Start of the call, nanoseconds of `CLOCK_MONOTONIC`.
    pub started_ns: u64,
    /// From its start to its end, nanoseconds.
    pub took_ns: u64,
    pub call: Cow<'static, str>,
    /// Its result, or the `errno`. A failed call changed nothing.
    pub outcome: Result<u64, i32>,
    /// Its effect, or intended effect.
    pub change: Change,
}

impl Operation {
    /// Its end, nanoseconds of `CLOCK_MONOTONIC`.
    pub fn ended_ns(&self) -> u64 {
        self.started_ns.saturating_add(self.took_ns)
    }
}

/// An open file description (open(2)): the position and the flags that its descriptors share, after
/// `dup`, `fork`, or when sent over a socket. Its number is never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Description(pub u64);

/// The effect of an operation. [`Change::Found`], [`Change::Made`] or [`Change::Opened`] describes
/// a node before any other change refers to it, and a directory before its names.
///
/// The order of the variants, and of their fields, is part of the format: a change of it needs a new
/// [`super::VERSION`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// A node that existed before the program used it.
    Found {
        node: FileId,
        kind: FileKind,
        place: Place,
        /// The twelve low bits of its mode, if known.
        mode: Option<u32>,
        size_bytes: u64,
        /// Contents of a regular file at that time; `None` if the log lacks them. A rest up to the
        /// length is zero, or in [`Change::Before`].
        contents: Option<Payload>,
    },
    /// An open file description, seen for the first time or with other flags than before
    /// (`F_SETFL`).
    Described {
        node: FileId,
        description: Description,
        /// `O_*`.
        flags: u32,
    },
    /// A regular file was opened for writing, created, or emptied by opening it.
    Opened {
        node: FileId,
        description: Description,
        /// `O_*` of the description.
        flags: u32,
        /// The name under which this call created the file; `None` if it existed.
        created: Option<Place>,
        /// The twelve low bits of the file's mode, if known.
        mode: Option<u32>,
        truncated: bool,
    },
    /// Bytes were written.
    Wrote {
        node: FileId,
        description: Option<Description>,
        /// Their actual offset, bytes, also with `O_APPEND`.
        offset: u64,
        /// `RWF_*` of this call.
        flags: u32,
        payload: Payload,
    },
    /// Stores to a shared mapping, as found at a synchronization point (`msync`, the end of the
    /// recording), or before and after each call: then the call is [`STORE`](super::STORE), which began when the mapping was
    /// read before. The log lacks stores that were overwritten between two such points.
    Stored {
        node: FileId,
        offset: u64,
        /// The file's contents at that time.
        payload: Payload,
    },
    Resized {
        node: FileId,
        /// The description; `None` for a path.
        description: Option<Description>,
        bytes: u64,
    },
    /// Space was reserved, zeroed, punched or moved (`fallocate`).
    Allocated {
        node: FileId,
        description: Option<Description>,
        /// `FALLOC_FL_*`.
        mode: u32,
        offset: u64,
        bytes: u64,
    },
    /// A range now shares its blocks with one of another file (`FICLONE`, `FICLONERANGE`).
    Cloned {
        node: FileId,
        description: Option<Description>,
        offset: u64,
        source: FileId,
        source_offset: u64,
        /// The contents of the range from now on.
        payload: Payload,
    },
    /// The same for ranges with equal bytes (`FIDEDUPERANGE`): no contents changed.
    Deduplicated {
        /// The file whose blocks were released.
        node: FileId,
        offset: u64,
        /// The file whose blocks are shared.
        source: FileId,
        source_offset: u64,
        bytes: u64,
    },
    /// A node was created: a directory, symbolic link, FIFO, socket, device, or a regular file by
    /// `mknod`.
    Made {
        node: FileId,
        kind: FileKind,
        name: Name,
        /// The twelve low bits of its mode, if known.
        mode: Option<u32>,
        /// Number of a device, encoded like `st_rdev`; else 0.
        device_number: u64,
        /// Target of a symbolic link; else empty.
        target: Vec<u8>,
    },
    Renamed {
        /// The node that got the new name.
        node: FileId,
        from: Name,
        to: Name,
        /// The node that had the new name: it has the old one now if the two were exchanged,
        /// otherwise it lost its name.
        other: Option<FileId>,
        /// `RENAME_*`.
        flags: u32,
    },
    /// A node got another name, or its first one (`O_TMPFILE`).
    Linked {
        node: FileId,
        name: Name,
    },
    Unlinked {
        node: FileId,
        name: Name,
        directory: bool,
    },
    Changed {
        node: FileId,
        attribute: Attribute,
    },
    /// Durability was requested.
    Synced {
        /// The node, possibly a directory; for `syncfs` a node of that file system; `None` for
        /// `sync`.
        node: Option<FileId>,
        description: Option<Description>,
        scope: Durability,
    },
    /// A file was mapped, or a mapping was made writable, so that stores change it.
    Mapped {
        node: FileId,
        /// Start of the mapping in the file, bytes.
        offset: u64,
        bytes: u64,
    },
    Closed {
        node: FileId,
        /// The description; other descriptors may still refer to it.
        description: Description,
    },
    /// Bytes were read; only if reads are recorded. The bytes themselves are not kept.
    Read {
        node: FileId,
        description: Option<Description>,
        offset: u64,
        bytes: u64,
        /// `RWF_*` of this call.
        flags: u32,
    },
    /// Output to something other than a file: a message to a user, or to another program.
    Printed {
        /// Descriptor: 1 or 2.
        descriptor: u32,
        payload: Payload,
    },
    /// A failed call on names.
    Attempted {
        /// Its paths, as the program passed them.
        paths: Vec<Vec<u8>>,
    },
    /// The state of a found node before the program began; only if requested.
    Before {
        node: FileId,
        /// The attribute or contents.
        was: Was,
    },
    /// A range of a regular file was mapped readable; only if reads are recorded.
    /// [`Change::Touched`] has the pages that the program accessed.
    MappedToRead {
        node: FileId,
        offset: u64,
        bytes: u64,
        /// `PROT_*`.
        protection: u32,
        /// `MAP_*`: whether it is shared.
        flags: u32,
    },
    /// A fault made pages of a mapped file accessible; only if reads are recorded. The program
    /// accessed at least one of them; later accesses to the others leave no record.
    Touched {
        node: FileId,
        offset: u64,
        bytes: u64,
    },
}

/// The scope of a sync. The order of the variants is part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Durability {
    /// Data and metadata of the node (`fsync`).
    File,
    /// Data, and the metadata needed to read it (`fdatasync`).
    Data,
    /// A range of the file's data (`msync` with `MS_SYNC`).
    Range { offset: u64, bytes: u64 },
    /// No guarantee (`sync_file_range`, `msync` with `MS_ASYNC`).
    Hint,
    /// A whole file system (`syncfs`).
    FileSystem,
    /// Everything (`sync`).
    Everything,
}
