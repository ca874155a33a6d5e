//! Data from the back end for the thread that writes the log.

use std::ops::Range;

use iostrata_core::op::{Call, FileId};
use iostrata_core::trace::{Event, Located, NamedFile, NodeSeen, OpenFile};

use super::offsets::Landing;

/// Payload and items per batch: large enough that passing one on costs nothing, small enough that
/// eight of them use little memory.
const FULL_BYTES: usize = 1 << 20;
const FULL_ITEMS: usize = 8_192;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Destination {
    File {
        file: FileId,
        open: Option<OpenFile>,
        landing: Landing,
        /// `RWF_*`.
        flags: u32,
    },
    Mapping {
        file: FileId,
        offset: u64,
    },
    Output {
        descriptor: u32,
    },
}

/// A part of the payload of a call. The parts of a call come in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) call: Call,
    pub(crate) to: Destination,
    /// The descriptor of the call, through which the file can be read.
    pub(crate) descriptor: u32,
    /// Length of the whole payload.
    pub(crate) whole: u64,
    /// The offset of this part in the payload.
    pub(crate) at: u64,
    pub(crate) bytes: u64,
    /// The position of its bytes in the batch; `None` when they could not be read.
    pub(crate) held: Option<Range<usize>>,
}

/// A read of a regular file, whether it failed or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) call: Call,
    pub(crate) file: FileId,
    pub(crate) open: Option<OpenFile>,
    pub(crate) landing: Landing,
    pub(crate) bytes: u64,
    /// `RWF_*`.
    pub(crate) flags: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    /// A file was seen for the first time.
    Named(NamedFile),
    /// A call without payload.
    Event(Event),
    /// The location of a call's file that only a path identifies, in case it is unknown.
    Reached {
        at: Located,
        node: NodeSeen,
    },
    Part(Part),
    Read(Read),
    /// A regular file was opened, but not for writing.
    OpenedToRead {
        call: Call,
        file: FileId,
        open: OpenFile,
    },
}

impl Item {
    /// The end of the call; 0 if it is not a call.
    pub(crate) fn ended_ns(&self) -> u64 {
        match self {
            Self::Named(_) | Self::Reached { .. } => 0,
            Self::Event(Event { call, .. })
            | Self::Part(Part { call, .. })
            | Self::OpenedToRead { call, .. }
            | Self::Read(Read { call, .. }) => call.ended_ns,
        }
    }
}

/// Items in the order in which the kernel sent them, and their bytes.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) items: Vec<Item>,
    pub(crate) bytes: Vec<u8>,
}

impl Batch {
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() >= FULL_BYTES || self.items.len() >= FULL_ITEMS
    }

    /// Stores bytes and returns their position.
    pub(crate) fn hold(&mut self, bytes: &[u8]) -> Range<usize> {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        from..self.bytes.len()
    }
}
