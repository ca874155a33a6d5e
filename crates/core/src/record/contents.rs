//! Contents of a file as extents that refer to the log: none of its bytes is in memory.

use std::collections::BTreeMap;

use super::{Payload, Piece};

/// Maximum length of a file (`MAX_LFS_FILESIZE`, include/linux/fs.h).
pub(super) const LONGEST_FILE: u64 = i64::MAX as u64;

/// `FALLOC_FL_*`, include/uapi/linux/falloc.h
const KEEP_SIZE: u32 = 0x01;
const PUNCH_HOLE: u32 = 0x02;
const COLLAPSE_RANGE: u32 = 0x08;
const ZERO_RANGE: u32 = 0x10;
const INSERT_RANGE: u32 = 0x20;
const WRITE_ZEROES: u32 = 0x80;

/// Where the bytes of a range are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    Stored {
        chunk: u64,
        /// Their start in the chunk, bytes.
        at: u32,
    },
    /// They were written, but could not be captured.
    Unknown,
    /// In the file as found, whose contents the log lacks.
    Before {
        /// Their offset in it, bytes.
        offset: u64,
    },
}

impl Source {
    /// The location of the bytes at this distance.
    pub(crate) fn further(self, by: u64) -> Self {
        match self {
            Self::Stored { chunk, at } => Self::Stored {
                chunk,
                // Within a piece, whose length is a u32.
                at: at.saturating_add(u32::try_from(by).unwrap_or(u32::MAX)),
            },
            Self::Unknown => Self::Unknown,
            Self::Before { offset } => Self::Before {
                offset: offset.saturating_add(by),
            },
        }
    }
}

/// A range of a file whose bytes are in one location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub bytes: u64,
    pub source: Source,
}

impl Extent {
    fn is_followed_by(&self, next: &Self) -> bool {
        u32::try_from(self.bytes).is_ok() && self.source.further(self.bytes) == next.source
    }

    /// Its bytes, where the log has them.
    pub fn payload(&self) -> Option<Payload> {
        let Source::Stored { chunk, at } = self.source else {
            return None;
        };
        let bytes = u32::try_from(self.bytes).ok()?;
        let pieces = vec![Piece::Stored { chunk, at, bytes }];
        Some(Payload { pieces })
    }
}

/// The contents of a regular file. What no extent has is zero.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    size_bytes: u64,
    extents: BTreeMap<u64, Extent>,
}

/// It would exceed [`LONGEST_FILE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLong;

impl Contents {
    /// The contents of a file that existed before.
    pub(super) fn found(size_bytes: u64, payload: Option<&Payload>) -> Result<Self, TooLong> {
        let mut contents = Self::default();
        contents.resize(size_bytes)?;
        match payload {
            Some(payload) => {
                contents.held(0, payload)?;
            }
            None if size_bytes > 0 => contents.insert(
                0,
                Extent {
                    bytes: size_bytes,
                    source: Source::Before { offset: 0 },
                },
            ),
            None => {}
        }
        Ok(contents)
    }

    /// Those of a file that holds these bytes; none where they are more than a file can hold.
    pub fn of(payload: &Payload) -> Self {
        let mut contents = Self::default();
        match contents.write(0, payload) {
            Ok(()) => contents,
            Err(TooLong) => Self::default(),
        }
    }

    /// A range of a file that was there before: within its length.
    pub(super) fn held(&mut self, offset: u64, payload: &Payload) -> Result<(), TooLong> {
        let size_bytes = self.size_bytes;
        self.write(offset, payload)?;
        self.resize(size_bytes)
    }

    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Its extents and their offsets, in order.
    pub fn extents(&self) -> impl Iterator<Item = (u64, Extent)> {
        self.extents
            .iter()
            .map(|(offset, extent)| (*offset, *extent))
    }

    /// A range of it, as contents of its own; what lies behind the end is left out.
    #[must_use]
    pub fn range(&self, from: u64, to: u64) -> Self {
        let to = to.min(self.size_bytes);
        let mut part = Self {
            size_bytes: to.saturating_sub(from),
            ..Self::default()
        };
        let first = self.extents.range(..=from).next_back();
        let begin = first.map_or(from, |(at, _)| *at);
        for (&at, extent) in self.extents.range(begin..to.max(begin)) {
            let (begin, end) = (at.max(from), to.min(at + extent.bytes));
            if begin < end {
                let source = extent.source.further(begin - at);
                let bytes = end - begin;
                part.extents.insert(begin - from, Extent { bytes, source });
            }
        }
        part
    }

    pub(super) fn extent_count(&self) -> usize {
        self.extents.len()
    }

    /// Bytes that the log has.
    pub(super) fn stored_bytes(&self) -> u64 {
        self.extents
            .values()
            .filter(|extent| matches!(extent.source, Source::Stored { .. }))
            .fold(0, |sum: u64, extent| sum.saturating_add(extent.bytes))
    }

    /// Bytes that the log lacks: not captured, or earlier contents.
    pub fn unknown_bytes(&self) -> (u64, u64) {
        self.extents
            .values()
            .fold((0, 0), |(unknown, before), extent| match extent.source {
                Source::Stored { .. } => (unknown, before),
                Source::Unknown => (unknown + extent.bytes, before),
                Source::Before { .. } => (unknown, before + extent.bytes),
            })
    }

    pub(super) fn write(&mut self, offset: u64, payload: &Payload) -> Result<(), TooLong> {
        let end = end_of(offset, payload.bytes())?;
        self.clear(offset, end);
        let mut at = offset;
        for piece in &payload.pieces {
            let source = match *piece {
                Piece::Stored { chunk, at, .. } => Source::Stored { chunk, at },
                Piece::Unknown { .. } => Source::Unknown,
            };
            let bytes = piece.bytes();
            if bytes > 0 {
                self.insert(at, Extent { bytes, source });
            }
            at += bytes;
        }
        // Zero bytes written beyond the end do not lengthen the file.
        if end > offset {
            self.size_bytes = self.size_bytes.max(end);
        }
        Ok(())
    }

    /// Puts bytes without a change of the length: what lies behind the end shows when the length reaches it.
    pub(crate) fn place(&mut self, offset: u64, payload: &Payload) -> Result<(), TooLong> {
        let size_bytes = self.size_bytes;
        self.write(offset, payload)?;
        self.size_bytes = size_bytes;
        Ok(())
    }

    /// Sets the length alone. What lies behind a shorter end is gone, and so is what was put there before.
    pub(crate) fn set_length(&mut self, bytes: u64) -> Result<(), TooLong> {
        end_of(0, bytes)?;
        if bytes < self.size_bytes {
            self.clear(bytes, LONGEST_FILE);
        }
        self.size_bytes = bytes;
        Ok(())
    }

    /// Makes a range what it is in `base`. The length stays.
    pub(crate) fn restore(&mut self, from: u64, to: u64, base: &Self) {
        self.clear(from, to);
        for (at, extent) in base.range(from, to).extents {
            self.insert(from + at, extent);
        }
    }

    /// Whether bytes lie behind the end.
    pub(crate) fn reaches_over(&self) -> bool {
        let last = self.extents.last_key_value();
        last.is_some_and(|(at, extent)| at + extent.bytes > self.size_bytes)
    }

    /// Takes away what lies behind the end.
    pub(crate) fn cut_at_end(&mut self) {
        self.clear(self.size_bytes, LONGEST_FILE);
    }

    pub(super) fn resize(&mut self, bytes: u64) -> Result<(), TooLong> {
        end_of(0, bytes)?;
        if bytes < self.size_bytes {
            self.clear(bytes, self.size_bytes);
        }
        self.size_bytes = bytes;
        Ok(())
    }

    /// As fallocate(2) does.
    pub(crate) fn allocate(&mut self, mode: u32, offset: u64, bytes: u64) -> Result<(), TooLong> {
        let end = end_of(offset, bytes)?;
        if mode & COLLAPSE_RANGE != 0 {
            self.clear(offset, end);
            self.shift(end, |at| at - bytes);
            self.size_bytes = self.size_bytes.saturating_sub(bytes);
            return Ok(());
        }
        if mode & INSERT_RANGE != 0 {
            let size = end_of(self.size_bytes, bytes)?;
            self.split(offset);
            self.shift(offset, |at| at + bytes);
            self.size_bytes = size;
            return Ok(());
        }
        if mode & (PUNCH_HOLE | ZERO_RANGE | WRITE_ZEROES) != 0 {
            self.clear(offset, end);
        }
        if mode & (KEEP_SIZE | PUNCH_HOLE) == 0 {
            self.size_bytes = self.size_bytes.max(end);
        }
        Ok(())
    }

    /// Everything from `from` on moves.
    fn shift(&mut self, from: u64, to: impl Fn(u64) -> u64) {
        let moved = self.extents.split_off(&from);
        let moved = moved.into_iter().map(|(at, extent)| (to(at), extent));
        self.extents.extend(moved);
    }

    /// Makes a range zero.
    fn clear(&mut self, from: u64, to: u64) {
        if from >= to {
            return;
        }
        let last = self.extents.range(..to).next_back();
        if last.is_none_or(|(at, extent)| at + extent.bytes <= from) {
            return;
        }
        self.split(from);
        self.split(to);
        while let Some((&at, _)) = self.extents.range(from..to).next() {
            self.extents.remove(&at);
        }
    }

    /// Splits the extent that contains an offset.
    fn split(&mut self, at: u64) {
        let Some((&begin, extent)) = self.extents.range_mut(..at).next_back() else {
            return;
        };
        let before = at - begin;
        if extent.bytes <= before {
            return;
        }
        let behind = Extent {
            bytes: extent.bytes - before,
            source: extent.source.further(before),
        };
        extent.bytes = before;
        self.extents.insert(at, behind);
    }

    /// Adds an extent to a free range. It is one with those beside it that it continues: what is the same has the same
    /// extents, in whichever order it was written.
    fn insert(&mut self, mut offset: u64, mut extent: Extent) {
        if let Some((&begin, last)) = self.extents.range(..offset).next_back()
            && begin + last.bytes == offset
            && last.is_followed_by(&extent)
        {
            extent.bytes += last.bytes;
            extent.source = last.source;
            offset = begin;
        }
        let end = offset + extent.bytes;
        if let Some(next) = self.extents.get(&end)
            && extent.is_followed_by(next)
        {
            extent.bytes += next.bytes;
            self.extents.remove(&end);
        }
        self.extents.insert(offset, extent);
    }
}

fn end_of(offset: u64, bytes: u64) -> Result<u64, TooLong> {
    offset
        .checked_add(bytes)
        .filter(|end| *end <= LONGEST_FILE)
        .ok_or(TooLong)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The chunk of a test: byte `at` of chunk 0 has this value.
    fn byte(at: u64) -> u8 {
        u8::try_from(at % 251).unwrap() + 1
    }

    fn payload(at: u32, bytes: u32) -> Payload {
        Payload {
            pieces: vec![Piece::Stored {
                chunk: 0,
                at,
                bytes,
            }],
        }
    }

    fn bytes_of(contents: &Contents) -> Vec<u8> {
        let mut all = vec![0; usize::try_from(contents.size_bytes()).unwrap()];
        for (offset, extent) in contents.extents() {
            for step in 0..extent.bytes {
                let place = usize::try_from(offset + step).unwrap();
                assert_eq!(all[place], 0, "extents do not overlap");
                all[place] = match extent.source {
                    Source::Stored { at, .. } => byte(u64::from(at) + step),
                    _ => 255,
                };
            }
        }
        all
    }

    #[test]
    fn writes_replace_and_lengthen() {
        let mut contents = Contents::default();
        contents.write(2, &payload(0, 4)).unwrap();
        contents.write(4, &payload(100, 1)).unwrap();
        assert_eq!(bytes_of(&contents), [0, 0, 1, 2, 101, 4]);
        contents.write(6, &payload(4, 2)).unwrap();
        assert_eq!(
            contents.extents().count(),
            3,
            "what continues in the log is one extent"
        );
        contents.resize(3).unwrap();
        contents.resize(5).unwrap();
        assert_eq!(bytes_of(&contents), [0, 0, 1, 0, 0]);
    }

    #[test]
    fn what_was_there_before_is_told_apart() {
        let mut contents = Contents::found(10, None).unwrap();
        contents.write(3, &payload(0, 2)).unwrap();
        assert_eq!(contents.unknown_bytes(), (0, 8));
        contents.allocate(COLLAPSE_RANGE, 0, 4).unwrap();
        let extents: Vec<(u64, Extent)> = contents.extents().collect();
        let before = Extent {
            bytes: 5,
            source: Source::Before { offset: 5 },
        };
        assert_eq!((contents.size_bytes(), extents[1]), (6, (1, before)));
        contents.resize(0).unwrap();
        assert_eq!(contents, Contents::default());
    }

    #[test]
    fn no_file_is_longer_than_the_kernel_allows() {
        let mut contents = Contents::default();
        assert_eq!(contents.write(u64::MAX - 3, &payload(0, 8)), Err(TooLong));
        assert_eq!(contents.write(LONGEST_FILE, &payload(0, 1)), Err(TooLong));
        assert_eq!(contents.resize(1 << 63), Err(TooLong));
        assert_eq!(contents.allocate(0, u64::MAX, u64::MAX), Err(TooLong));
        assert_eq!(Contents::found(u64::MAX, None), Err(TooLong));
        assert_eq!(contents, Contents::default());
        contents.resize(LONGEST_FILE).unwrap();
        assert_eq!(contents.allocate(INSERT_RANGE, 0, 1), Err(TooLong));
    }

    /// The same on a vector.
    fn on_vector(all: &mut Vec<u8>, kind: u8, offset: usize, bytes: usize, at: u64) {
        let end = offset + bytes;
        match kind {
            0 => {
                if bytes > 0 {
                    all.resize(all.len().max(end), 0);
                }
                for (place, byte_at) in (offset..end).zip(at..) {
                    all[place] = byte(byte_at);
                }
            }
            1 => all.resize(offset, 0),
            2 => {
                let to = end.min(all.len());
                all[offset.min(to)..to].fill(0);
            }
            3 => {
                all.resize(all.len().max(end), 0);
                all[offset..end].fill(0);
            }
            4 if end < all.len() => drop(all.drain(offset..end)),
            5 if offset < all.len() => drop(all.splice(offset..offset, vec![0; bytes])),
            _ => {}
        }
    }

    proptest! {
        #[test]
        fn extents_are_the_bytes_that_a_file_would_have(
            steps in prop::collection::vec((0_u8..6, 0_u32..60, 0_u32..40, 0_u32..1_000), 0..40),
        ) {
            let mut contents = Contents::default();
            let mut all = Vec::new();
            for (kind, offset, bytes, at) in steps {
                let (from, long) = (u64::from(offset), u64::from(bytes));
                let fits = match kind {
                    4 => from + long < contents.size_bytes(),
                    5 => from < contents.size_bytes(),
                    _ => true,
                };
                match kind {
                    0 => contents.write(from, &payload(at, bytes)),
                    1 => contents.resize(from),
                    2 => contents.allocate(PUNCH_HOLE | KEEP_SIZE, from, long),
                    3 => contents.allocate(ZERO_RANGE, from, long),
                    4 if fits => contents.allocate(COLLAPSE_RANGE, from, long),
                    5 if fits => contents.allocate(INSERT_RANGE, from, long),
                    _ => Ok(()),
                }
                .unwrap();
                on_vector(&mut all, kind, offset as usize, bytes as usize, u64::from(at));
                prop_assert_eq!(bytes_of(&contents), all.clone());
            }
        }
    }
}
