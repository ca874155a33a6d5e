//! What a log holds: operations that change files, and where their payload is.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::op::{FileId, Gap};

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

/// What an operation did. Paths are absolute and bytes.
///
/// The order of the variants, and of their fields, is part of the format: new ones are
/// added at the end, and anything else needs a new [`super::VERSION`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// A file that was there before the program touched it, or before the program began.
    Found {
        /// The file.
        file: FileId,
        /// Its path.
        path: Vec<u8>,
        /// Its length then, bytes.
        size_bytes: u64,
        /// Its contents then; `None` when the log does not have them.
        contents: Option<Payload>,
    },
    /// A file was opened for writing, or created, or emptied by opening it.
    Opened {
        /// The file.
        file: FileId,
        /// Its path.
        path: Vec<u8>,
        /// `O_*` bits of the open file.
        flags: u32,
        /// Whether this call created it.
        created: bool,
        /// Whether this call cut its contents off.
        truncated: bool,
    },
    /// Bytes were written.
    Wrote {
        /// The file.
        file: FileId,
        /// Where they begin, bytes.
        offset: u64,
        /// What was written.
        payload: Payload,
    },
    /// Stores to a shared mapping, as they were found at a point of synchronization
    /// (`msync`, `munmap`, the end of the process). What was stored and overwritten
    /// between two such points is not in the log.
    Stored {
        /// The file.
        file: FileId,
        /// Where they begin, bytes.
        offset: u64,
        /// What the file held then.
        payload: Payload,
    },
    /// The length was set.
    Resized {
        /// The file.
        file: FileId,
        /// Its new length, bytes.
        bytes: u64,
    },
    /// Space was reserved, zeroed, punched or moved (`fallocate`).
    Allocated {
        /// The file.
        file: FileId,
        /// `FALLOC_FL_*`.
        mode: u32,
        /// Begin of the range, bytes.
        offset: u64,
        /// Its length, bytes.
        bytes: u64,
    },
    /// A name was changed.
    Renamed {
        /// Old path.
        from: Vec<u8>,
        /// New path.
        to: Vec<u8>,
        /// Whether the two names were exchanged.
        exchange: bool,
    },
    /// Another name was made for a file.
    Linked {
        /// Existing path.
        from: Vec<u8>,
        /// New path.
        to: Vec<u8>,
    },
    /// A name was removed.
    Unlinked {
        /// The path.
        path: Vec<u8>,
        /// Whether it was a directory.
        directory: bool,
    },
    /// A directory was made.
    MadeDirectory {
        /// The path.
        path: Vec<u8>,
        /// Permission bits as asked for.
        mode: u32,
    },
    /// A symbolic link was made.
    MadeSymlink {
        /// What it says.
        target: Vec<u8>,
        /// The path.
        path: Vec<u8>,
    },
    /// A device, FIFO or socket was made.
    MadeNode {
        /// The path.
        path: Vec<u8>,
        /// Type and permission bits as asked for.
        mode: u32,
    },
    /// Durability was asked for.
    Synced {
        /// The file; of `syncfs` one of that file system; `None` for `sync`.
        file: Option<FileId>,
        /// What is made durable.
        scope: Durability,
    },
    /// A descriptor that could write was closed.
    Closed {
        /// The file.
        file: FileId,
    },
    /// A file was mapped so that stores change it.
    Mapped {
        /// The file.
        file: FileId,
        /// Where in the file the mapping begins, bytes.
        offset: u64,
        /// Its length, bytes.
        bytes: u64,
    },
    /// Output that is no file: what a user, or another program, has been told.
    Printed {
        /// Descriptor: 1 or 2.
        descriptor: u32,
        /// What was written.
        payload: Payload,
    },
}

/// What is made durable. The order of the variants is part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Durability {
    /// Data and metadata of the file (`fsync`).
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

/// The bytes of an operation, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payload {
    /// Its parts, one after the other.
    pub pieces: Vec<Piece>,
}

impl Payload {
    /// Length of all parts, bytes.
    pub fn bytes(&self) -> u64 {
        self.pieces
            .iter()
            .fold(0, |sum: u64, piece| sum.saturating_add(piece.bytes()))
    }

    /// Bytes that are not in the log.
    pub fn unknown_bytes(&self) -> u64 {
        self.pieces
            .iter()
            .filter(|piece| matches!(piece, Piece::Unknown { .. }))
            .fold(0, |sum: u64, piece| sum.saturating_add(piece.bytes()))
    }

    /// Adds a part; what lies directly behind the last one lengthens it.
    pub fn push(&mut self, piece: Piece) {
        if let Some(last) = self.pieces.last_mut()
            && last.absorb(&piece)
        {
            return;
        }
        self.pieces.push(piece);
    }
}

/// A part of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Piece {
    /// Bytes of the log.
    Stored {
        /// Number of the chunk, from 0 in the order of the log.
        chunk: u64,
        /// Where in the chunk they begin, bytes.
        at: u32,
        /// How many.
        bytes: u32,
    },
    /// Bytes that could not be captured.
    Unknown {
        /// How many.
        bytes: u64,
    },
}

impl Piece {
    /// Its length, bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Stored { bytes, .. } => u64::from(*bytes),
            Self::Unknown { bytes } => *bytes,
        }
    }

    /// Lengthens this part by the next one, if the two are contiguous.
    fn absorb(&mut self, next: &Self) -> bool {
        match (self, next) {
            (
                Self::Stored { chunk, at, bytes },
                Self::Stored {
                    chunk: next_chunk,
                    at: next_at,
                    bytes: more,
                },
            ) if chunk == next_chunk && at.checked_add(*bytes) == Some(*next_at) => {
                bytes.checked_add(*more).is_some_and(|sum| {
                    *bytes = sum;
                    true
                })
            }
            (Self::Unknown { bytes }, Self::Unknown { bytes: more }) => {
                *bytes = bytes.saturating_add(*more);
                true
            }
            _ => false,
        }
    }
}

/// How a recording began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// The program and its arguments.
    pub command: Vec<Vec<u8>>,
    /// Working directory at the start.
    pub directory: Vec<u8>,
    /// When, nanoseconds of `CLOCK_MONOTONIC`.
    pub started_ns: u64,
}

/// How a recording ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Operations of this recording.
    pub operations: u64,
    /// Times that a process was stopped until its payload had been read.
    pub stops: u64,
    /// Whether every change is in the log.
    pub completeness: Completeness,
}

/// Whether every change is in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Completeness {
    /// Every change, with its payload.
    Complete,
    /// Something is missing.
    Incomplete {
        /// What, and why; never empty.
        because: Vec<Gap>,
    },
}

impl Completeness {
    /// Complete when nothing is missing.
    pub fn from_gaps(gaps: Vec<Gap>) -> Self {
        if gaps.is_empty() {
            Self::Complete
        } else {
            Self::Incomplete { because: gaps }
        }
    }
}
