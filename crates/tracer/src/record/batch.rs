//! What the back end hands to the thread that writes the log.

use std::ops::Range;

use iostrata_core::op::FileId;
use iostrata_core::record::{Change, Kind};
use iostrata_core::trace::NamedFile;

use super::offsets::Landing;

/// Payload and items before a batch is handed over: large enough that the hand-over
/// costs nothing, small enough that eight of them are no memory to speak of.
const FULL_BYTES: usize = 1 << 20;
const FULL_ITEMS: usize = 8_192;

/// One call as it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) process: u32,
    pub(crate) thread: u32,
    pub(crate) started_ns: u64,
    pub(crate) ended_ns: u64,
    pub(crate) name: &'static str,
    pub(crate) outcome: Result<u64, i32>,
}

/// An open file, as the kernel knows it: a number that is used again once it was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Open {
    pub(crate) address: u64,
    /// `O_*`.
    pub(crate) flags: u32,
}

/// A path of a call, absolute, and its directory where the kernel side told it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) path: Vec<u8>,
    pub(crate) directory: Option<FileId>,
}

/// A node that a call on names was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) id: FileId,
    /// `None` when only the call's name says what it may be.
    pub(crate) kind: Option<Kind>,
    pub(crate) mode: Option<u32>,
    pub(crate) size_bytes: u64,
}

/// A call that changed names, and did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Names {
    Opened {
        file: FileId,
        open: Open,
        at: Option<Located>,
        mode: Option<u32>,
        created: bool,
        truncated: bool,
    },
    Renamed {
        node: Option<Target>,
        from: Located,
        to: Located,
        flags: u32,
    },
    Linked {
        node: Option<Target>,
        from: Option<Located>,
        to: Located,
    },
    Unlinked {
        node: Option<Target>,
        at: Located,
        directory: bool,
    },
    Made {
        node: Option<Target>,
        at: Located,
        kind: Kind,
        device_number: u64,
        target: Vec<u8>,
    },
}

/// Where payload went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Destination {
    File {
        file: FileId,
        open: Option<Open>,
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
    pub(crate) open: Option<Open>,
    pub(crate) landing: Landing,
    pub(crate) bytes: u64,
    /// `RWF_*`.
    pub(crate) flags: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    /// A file was seen for the first time.
    Named(NamedFile),
    /// A call without payload, which changed no names. The description is put in by the open
    /// file.
    Step {
        call: Call,
        open: Option<Open>,
        change: Change,
    },
    /// The same of a file that was named by a path only: where it is, should it not be known.
    Reached {
        at: Located,
        target: Target,
    },
    Names {
        call: Call,
        names: Names,
    },
    Part(Part),
    Read(Read),
    /// A regular file was opened, and not to be written to.
    OpenedToRead {
        call: Call,
        file: FileId,
        open: Open,
    },
}

impl Item {
    /// When the call ended; 0 for what is no call.
    pub(crate) fn ended_ns(&self) -> u64 {
        match self {
            Self::Named(_) | Self::Reached { .. } => 0,
            Self::Step { call, .. }
            | Self::Names { call, .. }
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
