//! What the back end hands to the thread that writes the log.

use std::ops::Range;

use iostrata_core::op::{Call, FileId};
use iostrata_core::trace::{Event, Located, NamedFile, NodeSeen, OpenFile};

use super::offsets::Landing;

/// Payload and items before a batch is handed over: large enough that the hand-over
/// costs nothing, small enough that eight of them are no memory to speak of.
const FULL_BYTES: usize = 1 << 20;
const FULL_ITEMS: usize = 8_192;

/// Where payload went.
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
    /// The descriptor of the call, through which the file may be looked at.
    pub(crate) descriptor: u32,
    /// Length of the whole payload.
    pub(crate) whole: u64,
    /// Where this part begins in it.
    pub(crate) at: u64,
    pub(crate) bytes: u64,
    /// Where its bytes are in the batch; `None` when they could not be had.
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
    /// Where the file of a call is that was named by a path only, should it not be known.
    Reached {
        at: Located,
        node: NodeSeen,
    },
    Part(Part),
    Read(Read),
    /// A regular file was opened, and not to be written to.
    OpenedToRead {
        call: Call,
        file: FileId,
        open: OpenFile,
    },
}

impl Item {
    /// When the call ended; 0 for what is no call.
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

/// Items in the order in which the kernel handed them over, and their bytes.
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

    /// Keeps bytes and says where they are.
    pub(crate) fn hold(&mut self, bytes: &[u8]) -> Range<usize> {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        from..self.bytes.len()
    }
}
