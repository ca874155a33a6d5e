//! The bytes of the records: different in every record, and not compressible.

use crate::engine::{Failure, XorShift, random_bytes};

/// Distance after which the pseudo-random bytes repeat. Larger than the units that file systems
/// compress (128 KiB on btrfs).
const PERIOD_BYTES: u64 = 1 << 20;

/// Makes file contents differ from previous contents of memory or disk.
const CONTENT_SEED: u64 = 0x0107_57a7;

/// A sequence of records of one size. Writer and reader generate the same one, so a reader can
/// determine how many bytes of a file are right.
#[derive(Debug)]
pub(super) struct Records {
    pool: Vec<u8>,
    size: usize,
    next: u64,
}

impl Records {
    pub(super) fn new(size_bytes: u64) -> Result<Self, Failure> {
        let pool = random_bytes(size_bytes, PERIOD_BYTES, CONTENT_SEED)?;
        let size =
            usize::try_from(size_bytes).map_err(|_large| Failure::memory(size_bytes, None))?;
        Ok(Self {
            pool,
            size,
            next: 0,
        })
    }

    /// The next record: a part of the pool with its number stamped on its start.
    pub(super) fn next(&mut self) -> &[u8] {
        let number = self.next;
        self.next += 1;
        let start = number.wrapping_mul(self.size as u64) % PERIOD_BYTES;
        let start = usize::try_from(start).unwrap_or(0);
        let record = &mut self.pool[start..start + self.size];
        let stamp = XorShift::new(number ^ CONTENT_SEED).next().to_le_bytes();
        let stamped = record.len().min(stamp.len());
        record[..stamped].copy_from_slice(&stamp[..stamped]);
        record
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn writer_and_reader_make_the_same_bytes() {
        for size in [1, 7, 8, 1000, 100_000, 3_000_000] {
            let (mut writer, mut reader) =
                (Records::new(size).unwrap(), Records::new(size).unwrap());
            for _ in 0..30 {
                assert_eq!(writer.next(), reader.next());
            }
        }
    }

    #[test]
    fn records_differ_and_are_not_zeros() {
        let mut records = Records::new(100_000).unwrap();
        let starts: BTreeSet<Vec<u8>> = (0..100).map(|_| records.next()[..8].to_vec()).collect();
        assert_eq!(starts.len(), 100);
        let mut records = Records::new(4096).unwrap();
        let values: BTreeSet<u8> = records.next().iter().copied().collect();
        assert!(
            values.len() > 200,
            "{} different bytes in a page",
            values.len()
        );
    }

    #[test]
    fn a_record_larger_than_memory_is_refused() {
        assert!(Records::new(u64::MAX).is_err());
        assert!(Records::new(1 << 62).is_err());
    }
}
