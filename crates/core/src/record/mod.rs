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

/// The name of what no call is: stores, of a program whose mappings are read before and after each call.
pub const STORE: &str = "store";

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

/// Bounds for a reader of a log, and for what is built from it: a log can refer to the same payload
/// any number of times, and is compressed, so that a kilobyte can expand to terabytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that the log expands to: payload, each time it is referred to, and paths.
    pub expanded_bytes: u64,
    /// Memory for data kept from the log, bytes: a tree, names, and the ends of recordings.
    pub memory_bytes: u64,
}

impl Default for Limits {
    /// About a minute of work, and the memory of ten million extents or names.
    fn default() -> Self {
        Self {
            expanded_bytes: 64 << 30,
            memory_bytes: 768 << 20,
        }
    }
}

/// A log exceeded its [`Limits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Exceeded {
    /// It expands to more bytes.
    #[error("it expands to more than the limit of {limit_bytes} bytes of payload and paths")]
    Expanded { limit_bytes: u64 },
    /// It takes more memory.
    #[error("its contents need more than the limit of {limit_bytes} bytes of memory")]
    Memory { limit_bytes: u64 },
}

impl Limits {
    /// Fails when this much memory exceeds the limit.
    ///
    /// # Errors
    /// When it does.
    pub fn check_memory(&self, bytes: u64) -> Result<(), Exceeded> {
        let limit_bytes = self.memory_bytes;
        if bytes > limit_bytes {
            return Err(Exceeded::Memory { limit_bytes });
        }
        Ok(())
    }

    /// The same for expanded bytes.
    ///
    /// # Errors
    /// When they exceed the limit.
    pub fn check_expanded(&self, bytes: u64) -> Result<(), Exceeded> {
        let limit_bytes = self.expanded_bytes;
        if bytes > limit_bytes {
            return Err(Exceeded::Expanded { limit_bytes });
        }
        Ok(())
    }
}
