//! What a device holds, as a hash that changes with each block: equal images are recovered once.

use std::collections::HashMap;

use super::epoch::Block;
use crate::crash::effect::BLOCK_BYTES;

/// Tells one content of a device from another.
pub type ContentHash = [u64; 4];

/// A sum of the hashes of all places that were written, each of its number and its bytes. A sum can be
/// changed at one place without looking at the others.
#[derive(Debug, Clone, Default)]
pub struct Content {
    /// Of each place that was written, the hash of what is there. A place is an aligned block, or what of it
    /// one request wrote.
    places: HashMap<(u64, u64), ContentHash>,
    sum: ContentHash,
}

impl Content {
    /// The hash of everything.
    pub fn hash(&self) -> ContentHash {
        self.sum
    }

    /// Notes a block; `bytes` are those that it has, `None` for zeros. Places that are zeros from the start and
    /// zeroed again count as written: two equal images may then have two hashes, and never one hash two images.
    pub fn set(&mut self, block: &Block, bytes: Option<&[u8]>) {
        let mut from = block.offset;
        let end = block.offset.saturating_add(block.bytes);
        while from < end {
            let to = end.min((from / BLOCK_BYTES + 1) * BLOCK_BYTES);
            let part = bytes.map(|bytes| {
                let begin = usize::try_from(from - block.offset).unwrap_or(usize::MAX);
                let stop = usize::try_from(to - block.offset).unwrap_or(usize::MAX);
                bytes.get(begin..stop).unwrap_or_default()
            });
            self.place(from, to - from, part);
            from = to;
        }
    }

    fn place(&mut self, offset: u64, bytes: u64, content: Option<&[u8]>) {
        // What covers a place in part depends on what was there: the order is part of the hash.
        let whole = offset.is_multiple_of(BLOCK_BYTES) && bytes == BLOCK_BYTES;
        let key = (offset / BLOCK_BYTES, u64::from(!whole));
        let mut hasher = blake3::Hasher::new();
        hasher.update(&offset.to_le_bytes());
        hasher.update(&bytes.to_le_bytes());
        if !whole {
            for word in self.places.get(&key).copied().unwrap_or_default() {
                hasher.update(&word.to_le_bytes());
            }
        }
        match content {
            Some(content) => hasher.update(content),
            None => hasher.update(b"zeros"),
        };
        let hash = words(hasher.finalize().as_bytes());
        if whole && let Some(old) = self.places.remove(&(key.0, 1)) {
            self.sum = combined(self.sum, old, u64::wrapping_sub);
        }
        if let Some(old) = self.places.insert(key, hash) {
            self.sum = combined(self.sum, old, u64::wrapping_sub);
        }
        self.sum = combined(self.sum, hash, u64::wrapping_add);
    }
}

fn words(bytes: &[u8; 32]) -> ContentHash {
    let mut words = [0; 4];
    for (word, part) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = part
            .iter()
            .rev()
            .fold(0, |word, byte| word << 8 | u64::from(*byte));
    }
    words
}

fn combined(one: ContentHash, other: ContentHash, by: fn(u64, u64) -> u64) -> ContentHash {
    std::array::from_fn(|at| by(one[at], other[at]))
}
