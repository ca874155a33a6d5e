//! The operation log: what a program did to files, in order and with its payload.
//!
//! A log is a file that only grows. It holds one or more recordings, each between its
//! [`Begin`] and its [`End`]; the end says whether something is missing. A recording
//! whose end is not there was cut off.
//!
//! Payload is kept in compressed chunks; a block of 512 bytes or more that was stored
//! before (found by its BLAKE3 hash) is not stored again. Every frame has its length and
//! checksums, so that damage is found where it is.
//!
//! Not in a log: what was read, attributes (`chmod`, `utimens`, extended attributes),
//! and what files held before, unless a [`Change::Found`] has it.

mod frame;
mod names;
mod operation;
mod parts;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub use frame::{MAGIC, VERSION};
pub use names::{Names, Node};
pub use operation::{Begin, Change, Completeness, Durability, End, Operation, Payload, Piece};
pub use parts::Paths;
pub use read::{Entry, ReadError, Reader, cut_off};
pub use write::Writer;

/// A place in a log, between two frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Bytes from the beginning of the file.
    pub offset: u64,
    /// Chunks before it.
    pub chunks: u64,
    /// Operations before it; of a [`Writer`], with those that are gathered.
    pub operations: u64,
}

impl Position {
    /// Behind magic and version.
    const START: Self = Self {
        offset: frame::PREFIX_BYTES as u64,
        chunks: 0,
        operations: 0,
    };
}
