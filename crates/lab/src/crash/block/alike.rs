//! Which images recover the same, so that one of them stands for all: equal ones, and on ext4 those that differ
//! in a transaction without its commit block.

use std::iter;

use iostrata_core::crash::block::{
    Block, Content, ContentHash, JOURNAL_HEADER_BYTES, Journal, Place,
};

use super::BlockError;
use super::images::bytes_of;
use super::record::Recording;

/// Goes through the epochs of a recording and tells images apart.
pub(super) struct Alike<'r> {
    recording: &'r Recording,
    journal: Option<Journal>,
    /// Everything of the epochs before, but for what waits for its commit block.
    content: Content,
    /// What waits.
    waiting: Vec<Block>,
}

impl<'r> Alike<'r> {
    /// Before the first epoch.
    pub(super) fn new(recording: &'r Recording) -> Self {
        Self {
            recording,
            journal: recording.journal(),
            content: Content::default(),
            waiting: Vec::new(),
        }
    }

    /// What each block of an epoch is to the journal.
    pub(super) fn places(&self, epoch: usize) -> Vec<Place> {
        let epoch = &self.recording.epochs[epoch];
        match &self.journal {
            None => vec![Place::Outside; epoch.blocks.len()],
            Some(journal) => journal.places(epoch, |at| {
                let mut begin = [0; JOURNAL_HEADER_BYTES];
                self.recording.log.read(&mut begin, at).ok()?;
                Some(begin)
            }),
        }
    }

    /// Tells the image with nothing of this epoch and the next ones from others.
    pub(super) fn settled(&self) -> ContentHash {
        self.content.hash()
    }

    /// Goes behind an epoch.
    pub(super) fn settle(&mut self, epoch: usize, places: &[Place]) -> Result<(), BlockError> {
        let blocks = &self.recording.epochs[epoch].blocks;
        if places.contains(&Place::Deciding) {
            let waited = std::mem::take(&mut self.waiting);
            return self.note(waited.iter().chain(blocks));
        }
        let of = |wanted: Place| {
            let both = blocks.iter().zip(places);
            both.filter(move |(_, place)| **place == wanted)
                .map(|(block, _)| block)
        };
        self.waiting.extend(of(Place::Log).copied());
        self.note(of(Place::Outside))
    }

    /// Tells the image with these blocks of the next epoch from others.
    pub(super) fn with(
        &self,
        epoch: usize,
        places: &[Place],
        kept: &[bool],
    ) -> Result<ContentHash, BlockError> {
        let mut next = Self {
            recording: self.recording,
            journal: None,
            content: self.content.clone(),
            waiting: Vec::new(),
        };
        let blocks = self.recording.epochs[epoch].blocks.iter();
        let blocks = blocks.zip(places).zip(kept);
        let there = blocks.filter(|(_, kept)| **kept).map(|(block, _)| block);
        if there.clone().any(|(_, place)| *place == Place::Deciding) {
            let there = there.map(|(block, _)| block);
            next.note(self.waiting.iter().chain(there))?;
        } else {
            let outside = there.filter(|(_, place)| **place == Place::Outside);
            next.note(outside.map(|(block, _)| block))?;
        }
        Ok(next.content.hash())
    }

    fn note<'b>(&mut self, blocks: impl Iterator<Item = &'b Block>) -> Result<(), BlockError> {
        for block in blocks {
            let bytes = bytes_of(&self.recording.log, block)?;
            self.content.set(block, bytes.as_deref());
        }
        Ok(())
    }
}

/// Those blocks of an epoch whose presence may make a difference.
pub(super) fn relevant(places: &[Place]) -> Vec<usize> {
    let is_decided = places.contains(&Place::Deciding);
    let all = iter::zip(0.., places);
    all.filter(|(_, place)| is_decided || **place == Place::Outside)
        .map(|(at, _)| at)
        .collect()
}
