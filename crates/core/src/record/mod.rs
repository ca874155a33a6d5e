//! The operation log: what a program did to files, in order and with its payload.
//!
//! A log is an append-only file. It contains one or more recordings, each between its [`Begin`] and
//! its [`End`]; the end states what is missing. A recording without an end was cut off.
//!
//! It describes nodes, which have a [`FileKind`] and an identity, names in directories, and open
//! file descriptions. Absolute paths are derived from names ([`Paths`]). [`Tree`] applies
//! operations, in memory, to the previous state.
//!
//! Payload is stored in compressed chunks; a block of 512 bytes or more that was stored before
//! (found by its BLAKE3 hash) is not stored again. Every frame has its length and checksums, so
//! that damage is located.

mod contents;
mod examples;
mod frame;
mod limits;
mod node;
mod operation;
mod parts;
mod paths;
mod payload;
mod read;
mod recording;
mod tree;
mod write;

#[cfg(test)]
mod tests;

pub use crate::op::FileKind;
pub use contents::{Contents, Extent, Source};
pub use examples::Examples;
pub use frame::{MAGIC, VERSION};
pub use limits::{Exceeded, Limits};
pub use node::{Attribute, Name, Place, Time, Was};
pub use operation::{Change, Description, Durability, Operation};
pub use paths::Paths;
pub use payload::{Payload, Piece};
pub use read::{Entry, ReadError, Reader, cut_off};
pub use recording::{Begin, Check, Completeness, End};
pub use tree::{Attributes, Body, Impossible, Node, Refused, Tree};
pub use write::Writer;

/// include/uapi/linux/fs.h
pub const RENAME_EXCHANGE: u32 = 2;

/// A position in a log, between two frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Bytes from the beginning of the file.
    pub offset: u64,
    /// Chunks before it.
    pub chunks: u64,
    /// Operations before it; for a [`Writer`], including the gathered ones.
    pub operations: u64,
}

impl Position {
    /// After magic and version.
    const START: Self = Self {
        offset: frame::PREFIX_BYTES as u64,
        chunks: 0,
        operations: 0,
    };
}
