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

    /// The bytes from `from` on, at most so many.
    #[must_use]
    pub fn part(&self, from: u64, bytes: u64) -> Self {
        let mut part = Self::default();
        let (mut skip, mut left) = (from, bytes);
        for piece in &self.pieces {
            let own = piece.bytes();
            if skip >= own {
                skip -= own;
                continue;
            }
            let taken = left.min(own - skip);
            if taken > 0 {
                part.push(piece.part(skip, taken));
            }
            left -= taken;
            skip = 0;
        }
        part
    }

    /// Adds a part; what lies directly behind the last one lengthens it.
    pub fn push(&mut self, piece: Piece) {
        if let Some(last) = self.pieces.last_mut()
            && last.absorb(&piece)
        {
            return;
        }
        self.pieces.push(piece);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Piece {
    /// Bytes of the log.
    Stored {
        /// Number of the chunk, from 0 in the order of the log.
        chunk: u64,
        /// Their offset in the chunk, bytes.
        at: u32,
        bytes: u32,
    },
    /// Bytes that could not be captured.
    Unknown { bytes: u64 },
}

impl Piece {
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Stored { bytes, .. } => u64::from(*bytes),
            Self::Unknown { bytes } => *bytes,
        }
    }

    /// Bytes within it: it has as many.
    fn part(&self, from: u64, bytes: u64) -> Self {
        match *self {
            // Within a piece, whose length is a u32.
            Self::Stored { chunk, at, .. } => Self::Stored {
                chunk,
                at: at.saturating_add(u32::try_from(from).unwrap_or(u32::MAX)),
                bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            },
            Self::Unknown { .. } => Self::Unknown { bytes },
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
