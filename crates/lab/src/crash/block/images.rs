//! The images that a power failure could have left of a recording.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use iostrata_core::crash::block::{Block, Epoch};

use super::BlockError;
use super::record::Recording;
use crate::device::{DiskImage, RequestLog};

/// What is compared at a time, bytes.
const PART_BYTES: u64 = 1 << 16;

/// A device gets aligned blocks, or parts of one.
const BLOCK_BYTES: u64 = 4096;

/// Which blocks are on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Everything of the epochs before this one.
    pub epoch: usize,
    /// Of its blocks, those that are there; none where this is empty.
    pub kept: Vec<bool>,
}

/// Makes images, several at a time. A recovery may have written anywhere, so all that a disk holds is compared.
pub(super) struct Images<'r> {
    base: &'r DiskImage,
    epochs: &'r [Epoch],
    log: &'r RequestLog,
    /// Of each aligned block that the run wrote, what it got, in order.
    written: BTreeMap<u64, Vec<Got>>,
    /// Parts of the disk that hold something before the run.
    before: BTreeSet<u64>,
    /// And those that get something during it too.
    parts: BTreeSet<u64>,
}

/// A block of an epoch, by their numbers.
#[derive(Debug, Clone, Copy)]
struct Got {
    epoch: usize,
    number: usize,
}

impl<'r> Images<'r> {
    pub(super) fn new(recording: &'r Recording) -> Result<Self, BlockError> {
        Self::of(&recording.base, &recording.epochs, &recording.log)
    }

    fn of(
        base: &'r DiskImage,
        epochs: &'r [Epoch],
        log: &'r RequestLog,
    ) -> Result<Self, BlockError> {
        let mut written: BTreeMap<u64, Vec<Got>> = BTreeMap::new();
        for (number, epoch) in epochs.iter().enumerate() {
            for (place, block) in epoch.blocks.iter().enumerate() {
                let end = block.offset.saturating_add(block.bytes);
                let got = Got {
                    epoch: number,
                    number: place,
                };
                for at in units(&(block.offset..end.min(base.size_bytes())), BLOCK_BYTES) {
                    written.entry(at).or_default().push(got);
                }
            }
        }
        let before = parts_of(base)?;
        let mut parts = before.clone();
        parts.extend(written.keys().map(|at| at * BLOCK_BYTES / PART_BYTES));
        Ok(Self {
            base,
            epochs,
            log,
            written,
            before,
            parts,
        })
    }

    /// Makes a disk of the same size hold an image, whatever it holds.
    pub(super) fn make(&self, image: &Image, into: &DiskImage) -> Result<(), BlockError> {
        let in_memory = || BlockError::io("make a disk in memory");
        let (mut wanted, mut held) = (Vec::new(), Vec::new());
        for part in &self.parts | &parts_of(into)? {
            let begin = part * PART_BYTES;
            let bytes = PART_BYTES.min(self.base.size_bytes() - begin);
            wanted.clear();
            wanted.resize(usize::try_from(bytes).unwrap_or(0), 0);
            if self.before.contains(&part) {
                self.base.read(&mut wanted, begin).map_err(in_memory())?;
            }
            let whole = begin..begin + bytes;
            let blocks = units(&whole, BLOCK_BYTES);
            for (at, all) in self.written.range(blocks) {
                self.put(image, at * BLOCK_BYTES, all, (begin, &mut wanted))?;
            }
            into.set(&wanted, begin, &mut held).map_err(in_memory())?;
        }
        Ok(())
    }

    /// Puts what an image has of an aligned block into bytes that begin somewhere.
    fn put(
        &self,
        image: &Image,
        at: u64,
        all: &[Got],
        (begin, bytes): (u64, &mut [u8]),
    ) -> Result<(), BlockError> {
        let end = (at + BLOCK_BYTES).min(begin + bytes.len() as u64);
        let is_there = |got: &&Got| {
            got.epoch < image.epoch
                || got.epoch == image.epoch && image.kept.get(got.number) == Some(&true)
        };
        // Whatever is below one that covers all of it does not count.
        let mut there = Vec::new();
        for got in all.iter().rev().filter(is_there) {
            let block = &self.epochs[got.epoch].blocks[got.number];
            there.push(block);
            if block.offset <= at && end <= block.offset.saturating_add(block.bytes) {
                break;
            }
        }
        for block in there.into_iter().rev() {
            let from = block.offset.max(at);
            let to = block.offset.saturating_add(block.bytes).min(end);
            let place = |at: u64| usize::try_from(at - begin).unwrap_or(usize::MAX);
            let part = &mut bytes[place(from)..place(to)];
            match block.at {
                None => part.fill(0),
                Some(logged) => {
                    let read = self.log.read(part, logged + (from - block.offset));
                    read.map_err(BlockError::io("read the log of the device"))?;
                }
            }
        }
        Ok(())
    }
}

/// The parts in which a disk holds more than holes.
fn parts_of(disk: &DiskImage) -> Result<BTreeSet<u64>, BlockError> {
    let extents = disk.extents();
    let extents = extents.map_err(BlockError::io("make a disk in memory"))?;
    let parts = extents.iter().flat_map(|extent| units(extent, PART_BYTES));
    Ok(parts.collect())
}

/// The numbers of the units of a size that a range touches.
fn units(range: &Range<u64>, bytes: u64) -> Range<u64> {
    range.start / bytes..range.end.div_ceil(bytes)
}

pub(super) fn apply(disk: &DiskImage, log: &RequestLog, block: &Block) -> Result<(), BlockError> {
    let written = match bytes_of(log, block)? {
        Some(bytes) => disk.write(&bytes, block.offset),
        None => disk.zero(block.offset, block.bytes),
    };
    written.map_err(BlockError::io("write to a disk in memory"))
}

/// What a block holds; `None` for zeros.
pub(super) fn bytes_of(log: &RequestLog, block: &Block) -> Result<Option<Vec<u8>>, BlockError> {
    let Some(at) = block.at else { return Ok(None) };
    // A block that a request wrote is at most 4 KiB long.
    let mut bytes = vec![0; usize::try_from(block.bytes).unwrap_or(0)];
    let read = log.read(&mut bytes, at);
    read.map_err(BlockError::io("read the log of the device"))?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::LogWriter;
    use iostrata_core::crash::block::epochs;
    use proptest::prelude::*;

    const SIZE: u64 = 3 * PART_BYTES;

    /// A request: what it is, at which sector, how many, and the byte that it writes.
    type Asked = (u8, u64, u64, u8);

    fn asked() -> impl Strategy<Value = Asked> {
        let sectors = SIZE / 512;
        (0..6_u8, 0..sectors, 1..24_u64, 1..=255_u8)
            .prop_map(move |(kind, at, count, byte)| (kind, at, count.min(sectors - at), byte))
    }

    fn log_of(all: &[Asked]) -> RequestLog {
        let log = RequestLog::new().unwrap();
        let mut writer = LogWriter::new(log.file().unwrap());
        for (now, (kind, at, count, byte)) in (0..).zip(all) {
            let (offset, bytes) = (at * 512, count * 512);
            let data = vec![*byte; usize::try_from(bytes).unwrap()];
            match kind {
                0 => writer.flush(now),
                1 => writer.discard(now, offset, bytes),
                _ => writer.write(now, offset, &data),
            }
        }
        log
    }

    fn bytes(disk: &DiskImage) -> Vec<u8> {
        let mut all = vec![0; usize::try_from(SIZE).unwrap()];
        disk.read(&mut all, 0).unwrap();
        all
    }

    proptest! {
        /// Block after block, in order, on a disk that holds what was there before.
        #[test]
        fn an_image_is_what_its_blocks_make_one_after_the_other(
            before in proptest::collection::vec((0..SIZE / 4096, 1..=255_u8), 0..8),
            held in proptest::collection::vec((0..SIZE / 4096, 1..=255_u8), 0..8),
            all in proptest::collection::vec(asked(), 0..60),
            (epoch, seed) in (0..12_usize, any::<u64>()),
        ) {
            let fill = |disk: &DiskImage, blocks: &[(u64, u8)]| {
                for (at, byte) in blocks {
                    disk.write(&[*byte; 4096], at * 4096).unwrap();
                }
            };
            let base = DiskImage::new(SIZE).unwrap();
            fill(&base, &before);
            let log = log_of(&all);
            let epochs = epochs(&log.requests().unwrap().all, 99);
            let epoch = epoch.min(epochs.len());
            let blocks = epochs.get(epoch).map_or(0, |epoch| epoch.blocks.len());
            let kept: Vec<bool> = (0..blocks).map(|at| seed >> (at % 64) & 1 == 1).collect();
            let image = Image { epoch, kept };

            let slow = base.copy().unwrap();
            for epoch in &epochs[..epoch] {
                for block in &epoch.blocks {
                    apply(&slow, &log, block).unwrap();
                }
            }
            if let Some(epoch) = epochs.get(epoch) {
                for (block, _) in epoch.blocks.iter().zip(&image.kept).filter(|(_, kept)| **kept) {
                    apply(&slow, &log, block).unwrap();
                }
            }

            let made = DiskImage::new(SIZE).unwrap();
            fill(&made, &held);
            Images::of(&base, &epochs, &log).unwrap().make(&image, &made).unwrap();
            prop_assert!(bytes(&made) == bytes(&slow));
        }
    }
}
