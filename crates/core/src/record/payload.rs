//! The location of an operation's bytes.

use serde::{Deserialize, Serialize};

/// The bytes of an operation, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payload {
    /// Its parts, in order.
    pub pieces: Vec<Piece>,
}

impl Payload {
    /// Length of all parts, bytes.
    pub fn bytes(&self) -> u64 {
        self.pieces
            .iter()
            .fold(0, |sum: u64, piece| sum.saturating_add(piece.bytes()))
    }

    /// Number of bytes missing from the log.
    pub fn unknown_bytes(&self) -> u64 {
        self.pieces
            .iter()
            .filter(|piece| matches!(piece, Piece::Unknown { .. }))
            .fold(0, |sum: u64, piece| sum.saturating_add(piece.bytes()))
    }

    /// Adds a part; one directly after the last one lengthens it.
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
        /// Their offset in the chunk, bytes.
        at: u32,
        /// Their number.
        bytes: u32,
    },
    /// Bytes that could not be captured.
    Unknown {
        /// Their number.
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
