//! Reproducible pseudo-random numbers: orders of runs and file contents.

use std::io::{self, Write};

use super::Failure;

/// Bytes that are written between two checks for an interruption.
const PIECE_BYTES: usize = 1 << 20;

/// A record of `size_bytes` and `further_bytes` after it, if there is memory for them.
pub(crate) fn random_bytes(
    size_bytes: u64,
    further_bytes: u64,
    seed: u64,
) -> Result<Vec<u8>, Failure> {
    let length = usize::try_from(size_bytes.saturating_add(further_bytes))
        .map_err(|_too_large| Failure::memory(size_bytes, None))?;
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(length)
        .map_err(|error| Failure::memory(size_bytes, Some(&error)))?;
    bytes.resize(length, 0);
    XorShift::new(seed).fill(&mut bytes);
    Ok(bytes)
}

/// Writes so many random bytes; `false` when `stop` returned true.
pub(crate) fn write_random(
    to: &mut impl Write,
    size_bytes: u64,
    seed: u64,
    stop: &dyn Fn() -> bool,
) -> io::Result<bool> {
    let mut random = XorShift::new(seed);
    let mut bytes = vec![0; PIECE_BYTES];
    let mut left = size_bytes;
    while left > 0 {
        if stop() {
            return Ok(false);
        }
        let piece = usize::try_from(left).map_or(PIECE_BYTES, |left| left.min(PIECE_BYTES));
        random.fill(&mut bytes[..piece]);
        to.write_all(&bytes[..piece])?;
        left -= piece as u64;
    }
    Ok(true)
}

/// `xorshift64*` (Vigna, "An experimental exploration of Marsaglia's xorshift generators,
/// scrambled", 2016). Not for secrets and not for simulation: it is fast, and the same seed gives
/// the same sequence in every version.
#[derive(Debug, Clone)]
pub(crate) struct XorShift(u64);

impl XorShift {
    /// A sequence; the state must not be 0, so seed 0 is replaced.
    pub(crate) fn new(seed: u64) -> Self {
        Self(if seed == 0 {
            0x9e37_79b9_7f4a_7c15
        } else {
            seed
        })
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let word = self.next().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }

    /// Puts `items` into a random order (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            // The modulo's bias is below 2^-50 for any list that fits here.
            let other = self.next() % (last as u64 + 1);
            items.swap(last, usize::try_from(other).unwrap_or(last));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_keeps_every_item_and_moves_some() {
        let mut items: Vec<u32> = (0..100).collect();
        XorShift::new(7).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn fills_every_length_from_one_sequence() {
        let mut long = [0; 24];
        XorShift::new(3).fill(&mut long);
        let mut short = [0; 13];
        XorShift::new(3).fill(&mut short);
        assert_eq!(short, long[..13]);
        assert!(long.iter().any(|byte| *byte != 0));
    }

    #[test]
    fn seed_zero_does_not_stand_still() {
        let mut random = XorShift::new(0);
        assert_ne!(random.next(), random.next());
    }
}
