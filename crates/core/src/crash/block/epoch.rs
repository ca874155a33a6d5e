//! Requests that a block device got, and those between two flushes in the pieces that a device keeps or loses.

use crate::crash::effect::BLOCK_BYTES;

/// One request, in the order of arrival. The device had answered it when the next one came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// When it was done, nanoseconds of `CLOCK_MONOTONIC`.
    pub done_ns: u64,
    pub action: Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Bytes for a range.
    Write {
        /// Where on the device, bytes.
        offset: u64,
        bytes: u64,
        /// Where they are in the log of requests, bytes.
        at: u64,
    },
    /// Everything that was answered before is to be durable.
    Flush,
    /// A range is not needed any more; it reads as zeros.
    Discard { offset: u64, bytes: u64 },
    /// A range is to read as zeros.
    Zero { offset: u64, bytes: u64 },
}

/// A piece that a device keeps or loses whole: at most one block of 4 KiB, or one discarded range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Where on the device, bytes.
    pub offset: u64,
    pub bytes: u64,
    /// Where its bytes are in the log; `None` for zeros.
    pub at: Option<u64>,
}

/// What a device got between two flushes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Epoch {
    /// In the order of arrival: of two blocks at one place the later one counts.
    pub blocks: Vec<Block>,
    /// When the flush after it was done; what was printed by then may have been read while
    /// nothing of this epoch was durable.
    pub ended_ns: u64,
}

/// Splits requests at their flushes. What follows the last flush is an epoch that ends at `end_ns`. Flushes with
/// nothing before them end no epoch.
pub fn epochs(requests: &[Request], end_ns: u64) -> Vec<Epoch> {
    let mut epochs = Vec::new();
    let mut blocks = Vec::new();
    for request in requests {
        match request.action {
            Action::Write { offset, bytes, at } => split(&mut blocks, offset, bytes, at),
            // A device forgets a range at once or later, and no file system reads it in between.
            Action::Discard { offset, bytes } | Action::Zero { offset, bytes } => {
                blocks.push(Block {
                    offset,
                    bytes,
                    at: None,
                });
            }
            Action::Flush if blocks.is_empty() => {}
            Action::Flush => epochs.push(Epoch {
                blocks: std::mem::take(&mut blocks),
                ended_ns: request.done_ns,
            }),
        }
    }
    if !blocks.is_empty() {
        epochs.push(Epoch {
            blocks,
            ended_ns: end_ns,
        });
    }
    epochs
}

fn split(blocks: &mut Vec<Block>, offset: u64, bytes: u64, at: u64) {
    let end = offset.saturating_add(bytes);
    let mut from = offset;
    while from < end {
        let to = end.min((from / BLOCK_BYTES + 1) * BLOCK_BYTES);
        blocks.push(Block {
            offset: from,
            bytes: to - from,
            at: Some(at + (from - offset)),
        });
        from = to;
    }
}
