//! The images that a power failure could have left of a recording, made one after the other.

use iostrata_core::crash::block::Block;

use super::BlockError;
use super::record::Recording;
use crate::device::{DiskImage, RequestLog};

/// Which blocks are on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Everything of the epochs before this one.
    pub epoch: usize,
    /// Of its blocks, those that are there; none where this is empty.
    pub kept: Vec<bool>,
}

/// Makes images. Those of one epoch, or of a later one than the last, cost what is different in them.
pub(super) struct Images<'r> {
    recording: &'r Recording,
    /// Everything of the epochs before `settled`.
    disk: DiskImage,
    settled: usize,
}

impl<'r> Images<'r> {
    pub(super) fn new(recording: &'r Recording) -> Result<Self, BlockError> {
        let disk = recording.base.copy();
        Ok(Self {
            recording,
            disk: disk.map_err(BlockError::io("make a disk in memory"))?,
            settled: 0,
        })
    }

    /// Makes a disk hold an image, whatever it holds.
    pub(super) fn make(&mut self, image: &Image, into: &DiskImage) -> Result<(), BlockError> {
        if image.epoch < self.settled {
            let again = self.recording.base.copy_to(&self.disk);
            again.map_err(BlockError::io("make a disk in memory"))?;
            self.settled = 0;
        }
        let (epochs, log) = (&self.recording.epochs, &self.recording.log);
        for epoch in &epochs[self.settled..image.epoch] {
            for block in &epoch.blocks {
                apply(&self.disk, log, block)?;
            }
        }
        self.settled = image.epoch;
        let fresh = self.disk.copy_to(into);
        fresh.map_err(BlockError::io("make a disk in memory"))?;
        let blocks = epochs.get(image.epoch).into_iter();
        let blocks = blocks.flat_map(|epoch| &epoch.blocks);
        for (block, _) in blocks.zip(&image.kept).filter(|(_, kept)| **kept) {
            apply(into, log, block)?;
        }
        Ok(())
    }
}

/// Puts a block on a disk.
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
