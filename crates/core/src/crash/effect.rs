//! What an operation changes, in the pieces that reach the disk one without the other.

use std::ops::Range;

use crate::op::FileId;
use crate::record::{Attribute, Name, Payload};

/// The page cache writes whole pages, and a file system of 4 KiB blocks allocates them.
pub const BLOCK_BYTES: u64 = 4096;

/// A piece of an operation that a crash may keep or lose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Effect {
    /// The step that made it: its place in [`super::History::steps`].
    pub(super) step: usize,
    pub(super) piece: Piece,
    /// Effects of one operation that no file system separates, such as the two names of a rename, have
    /// the same number.
    pub(super) group: Option<u32>,
}

/// One change that a device, a journal or a log makes whole or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Bytes within one block of a file. They do not change its length.
    Data {
        file: FileId,
        /// Where they begin, bytes.
        offset: u64,
        payload: Payload,
        /// Whether stores to a mapping put them there, and no call.
        mapped: bool,
    },
    /// The length of a file.
    Size {
        file: FileId,
        /// Before, in program order, bytes.
        from_bytes: u64,
        to_bytes: u64,
        /// How it grew, or shrank.
        cause: Growth,
    },
    /// Space was reserved, zeroed, punched or moved.
    Space {
        file: FileId,
        /// `FALLOC_FL_*`.
        mode: u32,
        offset: u64,
        bytes: u64,
    },
    /// A directory entry: the name leads to this node, or to nothing.
    Entry {
        name: Name,
        node: Option<FileId>,
        /// The node it led to before, in program order.
        before: Option<FileId>,
        /// Whether the node is new, as of open(2) with `O_CREAT`, and not one that link(2) or rename(2) gives a name.
        is_new: bool,
    },
    /// What a node says about itself.
    Attribute { node: FileId, attribute: Attribute },
}

/// Why the length of a file changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    /// A write within the last block that the file has already: no allocation waits for it.
    InLastBlock,
    /// A write that needs new blocks; file systems allocate them when they write the data back.
    Allocating,
    /// `truncate`, `fallocate`, or `O_TRUNC`: the length alone.
    Set,
}

impl Effect {
    /// The node that it is about: of an entry the directory.
    pub(super) fn node(&self) -> FileId {
        match &self.piece {
            Piece::Data { file, .. } | Piece::Size { file, .. } | Piece::Space { file, .. } => {
                *file
            }
            Piece::Entry { name, .. } => name.parent,
            Piece::Attribute { node, .. } => *node,
        }
    }

    /// Of data: the file, and the number of the block in it.
    pub(super) fn block(&self) -> Option<(FileId, u64)> {
        match &self.piece {
            Piece::Data { file, offset, .. } => Some((*file, offset / BLOCK_BYTES)),
            _ => None,
        }
    }

    /// Of data: where it lies in the file, bytes.
    pub(super) fn data_range(&self) -> Option<Range<u64>> {
        match &self.piece {
            Piece::Data {
                offset, payload, ..
            } => Some(*offset..offset + payload.bytes()),
            _ => None,
        }
    }

    /// Data in pieces that lie within one sector each; anything else as it is.
    pub(super) fn in_sectors(self, sector_bytes: u64) -> Vec<Self> {
        let Piece::Data {
            file,
            offset,
            payload,
            mapped,
        } = &self.piece
        else {
            return vec![self];
        };
        let end = offset + payload.bytes();
        let mut parts = Vec::new();
        let mut at = *offset;
        while at < end {
            let stop = end.min((at / sector_bytes + 1) * sector_bytes);
            let piece = Piece::Data {
                file: *file,
                offset: at,
                payload: payload.part(at - offset, stop - at),
                mapped: *mapped,
            };
            parts.push(Self { piece, ..self });
            at = stop;
        }
        parts
    }

    /// Whether a journal carries it at once: everything but data, and lengths that wait for data.
    pub(super) fn is_journaled(&self) -> bool {
        !matches!(
            self.piece,
            Piece::Data { .. }
                | Piece::Size {
                    cause: Growth::InLastBlock | Growth::Allocating,
                    ..
                }
        )
    }

    /// Whether the two change the same thing, so that the later one cannot be there without the
    /// earlier one being there or overwritten: data in the same unit of so many bytes, the same length, the same name.
    pub(super) fn shares(&self, other: &Self, unit_bytes: u64) -> bool {
        let unit = |effect: &Self| Some((effect.node(), effect.data_range()?.start / unit_bytes));
        match (&self.piece, &other.piece) {
            (Piece::Data { .. }, Piece::Data { .. }) => unit(self) == unit(other),
            (Piece::Size { file, .. }, Piece::Size { file: other, .. }) => file == other,
            (Piece::Entry { name, .. }, Piece::Entry { name: other, .. }) => name == other,
            (Piece::Attribute { node, .. }, Piece::Attribute { node: other, .. }) => node == other,
            // Moves of ranges are ordered with all else of the file: their offsets mean another place before.
            (Piece::Space { file, .. }, _) => {
                *file == other.node() && !matches!(other.piece, Piece::Entry { .. })
            }
            (_, Piece::Space { file, .. }) => {
                *file == self.node() && !matches!(self.piece, Piece::Entry { .. })
            }
            _ => false,
        }
    }
}
