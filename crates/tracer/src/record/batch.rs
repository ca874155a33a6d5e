//! What the back end hands to the thread that writes the log.

use std::ops::Range;

use iostrata_core::op::FileId;
use iostrata_core::record::Change;
use iostrata_core::trace::NamedFile;

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

/// Where payload went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    File { file: FileId, offset: u64 },
    Mapping { file: FileId, offset: u64 },
    Output { descriptor: u32 },
}

/// A part of the payload of a call. The parts of a call come in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) call: Call,
    pub(crate) target: Target,
    /// The open file whose position the call moved on, if it did.
    pub(crate) description: Option<u64>,
    /// Length of the whole payload.
    pub(crate) whole: u64,
    /// Where this part begins in it.
    pub(crate) at: u64,
    pub(crate) bytes: u64,
    /// Where its bytes are in the batch; `None` when they could not be had.
    pub(crate) held: Option<Range<usize>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    /// A file was seen for the first time.
    Named(NamedFile),
    /// A call without payload.
    Step {
        call: Call,
        change: Change,
    },
    Part(Part),
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
