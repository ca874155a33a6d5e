//! The journal of an ext4 file system: where a torn transaction is as good as none.
//!
//! Recovery replays a transaction when its commit block is there and its checksums fit
//! (`do_one_pass`, fs/jbd2/recovery.c). So of an epoch that wrote to the journal alone, any subset of
//! the blocks leads to the same tree as none of them or all of them. And as long as no commit block and no superblock of
//! the journal follows, it makes no difference what else is in the journal: a transaction is written only where
//! the journal on disk is known to be free (`__jbd2_update_log_tail`, fs/jbd2/journal.c).

use std::ops::Range;

use super::epoch::Epoch;
use crate::crash::effect::BLOCK_BYTES;

/// `struct journal_header_s`, include/linux/jbd2.h: every block that describes a transaction begins with
/// `JBD2_MAGIC_NUMBER` and its type. Copies of other blocks that begin so are changed (`JBD2_FLAG_ESCAPE`).
const JBD2_MAGIC: [u8; 4] = [0xc0, 0x3b, 0x39, 0x98];
const JBD2_DESCRIPTOR_BLOCK: u8 = 1;
const JBD2_REVOKE_BLOCK: u8 = 5;

/// The begin of a block of the journal.
pub const JOURNAL_HEADER_BYTES: usize = 8;

/// `struct ext4_super_block` begins here (fs/ext4/ext4.h); its fields by their places in it.
const SUPERBLOCK_BYTES: usize = 1024;
const MAGIC: usize = 0x38;
const FEATURE_COMPAT: usize = 0x5C;
/// Such a journal has blocks of another form at its end.
const COMPAT_FAST_COMMIT: u32 = 0x400;
const LOG_BLOCK_SIZE: usize = 0x18;
const JOURNAL_BACKUP_TYPE: usize = 0xFD;
const JOURNAL_BLOCKS: usize = 0x10C;

/// `struct ext4_extent_header` and what follows it (`fs/ext4/ext4_extents.h`).
const EXTENT_MAGIC: u16 = 0xF30A;
const EXTENT_BYTES: usize = 12;
const MOST_IN_INODE: usize = 4;
/// Above this an extent is unwritten.
const MOST_LENGTH: u16 = 32_768;

/// Where the journal is on the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Journal {
    ranges: Vec<Range<u64>>,
}

impl Journal {
    /// Reads where it is from the begin of an ext4 image, at least 4 KiB: the superblock has a copy of the
    /// journal inode's extents. `None` where it has not, or where that is no ext4 with blocks of 4 KiB.
    pub fn of(image: &[u8]) -> Option<Self> {
        let superblock = image.get(SUPERBLOCK_BYTES..)?;
        let is_ext4 = u16_at(superblock, MAGIC)? == 0xEF53;
        // 1024 << 2 is 4 KiB.
        if !is_ext4 || u32_at(superblock, LOG_BLOCK_SIZE)? != 2 {
            return None;
        }
        if u32_at(superblock, FEATURE_COMPAT)? & COMPAT_FAST_COMMIT != 0 {
            return None;
        }
        if *superblock.get(JOURNAL_BACKUP_TYPE)? != 1 {
            return None;
        }
        let root = superblock.get(JOURNAL_BLOCKS..)?;
        let entries = usize::from(u16_at(root, 2)?);
        let depth = u16_at(root, 6)?;
        if u16_at(root, 0)? != EXTENT_MAGIC || depth != 0 || entries > MOST_IN_INODE {
            return None;
        }
        let mut ranges = Vec::new();
        for number in 0..entries {
            let extent = root.get((number + 1) * EXTENT_BYTES..)?;
            let length = u16_at(extent, 4)?;
            if length > MOST_LENGTH {
                return None;
            }
            let start = u64::from(u16_at(extent, 6)?) << 32 | u64::from(u32_at(extent, 8)?);
            let begin = start * BLOCK_BYTES;
            ranges.push(begin..begin + u64::from(length) * BLOCK_BYTES);
        }
        Some(Self { ranges })
    }

    /// The places on the device, bytes.
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// What each block of an epoch is to the journal. `begin` gives the first bytes of a block that the log has.
    pub fn places(
        &self,
        epoch: &Epoch,
        begin: impl Fn(u64) -> Option<[u8; JOURNAL_HEADER_BYTES]>,
    ) -> Vec<Place> {
        let blocks = epoch.blocks.iter();
        let places = blocks.map(|block| {
            if !self.overlaps(block.offset, block.bytes) {
                return Place::Outside;
            }
            // The type is the second word, in big-endian order.
            match block.at.map(&begin) {
                _ if block.bytes != BLOCK_BYTES => Place::Deciding,
                Some(Some([a, b, c, d, _, _, _, kind])) if [a, b, c, d] == JBD2_MAGIC => match kind
                {
                    JBD2_DESCRIPTOR_BLOCK | JBD2_REVOKE_BLOCK => Place::Log,
                    _ => Place::Deciding,
                },
                Some(Some(_)) => Place::Log,
                Some(None) | None => Place::Deciding,
            }
        });
        places.collect()
    }

    fn overlaps(&self, offset: u64, bytes: u64) -> bool {
        let end = offset.saturating_add(bytes);
        let mut ranges = self.ranges.iter();
        ranges.any(|range| offset < range.end && range.start < end)
    }
}

/// What a block is to the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Nothing: it is elsewhere.
    Outside,
    /// A part of a transaction, which counts once its commit block is there.
    Log,
    /// A commit block, the superblock of the journal, or what is not known: it decides what is recovered.
    Deciding,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at + 2)?;
    Some(u16::from_le_bytes(bytes.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}
