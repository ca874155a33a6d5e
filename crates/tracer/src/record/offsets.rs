//! The offsets of concurrent writes to one file.
//!
//! The kernel side sees the position of an open file, or the file's length, before and after a
//! call; other calls may have moved it in between. Their writes lie side by side, so only a few
//! offsets are possible for each; if several remain, the file's contents decide.

use std::collections::{BTreeSet, HashMap, VecDeque};

use iostrata_core::op::FileId;

/// Maximum number of offsets tried for one write.
const TRIED: usize = 512;

/// Writes to one file that are remembered.
const REMEMBERED: usize = 1 << 16;

/// The offset of a write, as far as the kernel side saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Landing {
    /// At this offset.
    At(u64),
    /// It begins at or after the offset read before the call, and ends at or before the one read
    /// after it. `appends`: at the end of the file at that time, not at the position of this open
    /// file alone.
    Within {
        lowest: u64,
        end: u64,
        appends: bool,
        /// The times of the two readings: the call may have begun later and ended earlier.
        between_ns: (u64, u64),
    },
}

impl Landing {
    /// The offset of a read of `bytes`, and whether it is certain: a read leaves no trace in the
    /// file.
    pub(super) fn of_read(self, bytes: u64) -> (u64, bool) {
        match self {
            Self::At(offset) => (offset, true),
            Self::Within { lowest, end, .. } => {
                let is_known = lowest.checked_add(bytes) == Some(end);
                (end.saturating_sub(bytes), is_known)
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Write {
    pub(super) started_ns: u64,
    pub(super) ended_ns: u64,
    pub(super) bytes: u64,
    pub(super) landing: Landing,
}

impl Write {
    fn overlaps(&self, other: &Self) -> bool {
        self.started_ns <= other.ended_ns && other.started_ns <= self.ended_ns
    }

    /// Ends of writes that it determines.
    fn boundaries(&self) -> [u64; 2] {
        match self.landing {
            Landing::At(offset) => [offset, offset.saturating_add(self.bytes)],
            Landing::Within { lowest, end, .. } => [lowest, end],
        }
    }

    fn covers(&self, from: u64, to: u64) -> bool {
        matches!(self.landing, Landing::At(offset)
            if offset < to && from < offset.saturating_add(self.bytes))
    }
}

/// Recent writes to files with an uncertain offset.
#[derive(Debug, Default)]
pub(super) struct Offsets {
    files: HashMap<FileId, Recent>,
}

#[derive(Debug, Default)]
struct Recent {
    /// Ordered by their ends.
    writes: VecDeque<Write>,
    longest_ns: u64,
}

impl Offsets {
    /// Remembers a write if its offset, or that of another write to its file, is uncertain.
    pub(super) fn saw(&mut self, file: FileId, write: Write) {
        let is_known = matches!(write.landing, Landing::At(_));
        if is_known && !self.files.contains_key(&file) {
            return;
        }
        let recent = self.files.entry(file).or_default();
        recent.longest_ns = recent
            .longest_ns
            .max(write.ended_ns.saturating_sub(write.started_ns));
        if recent.writes.len() >= REMEMBERED {
            recent.writes.pop_front();
        }
        let later = recent.writes.iter().rev();
        let later = later.take_while(|other| other.ended_ns > write.ended_ns);
        let at = recent.writes.len() - later.count();
        recent.writes.insert(at, write);
    }

    /// The possible offsets for a remembered write; `None` if its offset is known. Queries come in
    /// the order of the ends.
    pub(super) fn places(&self, file: FileId, write: &Write) -> Option<Vec<u64>> {
        let Landing::Within {
            lowest,
            end,
            appends,
            ..
        } = write.landing
        else {
            return None;
        };
        let recent = self.files.get(&file)?;
        let others: Vec<&Write> = recent.around(write).collect();
        Some(possible(write.bytes, (lowest, end), appends, &others))
    }

    /// The offset of a write was found.
    pub(super) fn settle(&mut self, file: FileId, write: &Write, offset: u64) {
        let recent = self.files.get_mut(&file);
        let same = recent.and_then(|recent| recent.writes.iter_mut().find(|other| *other == write));
        if let Some(same) = same {
            same.landing = Landing::At(offset);
        }
    }
}

impl Recent {
    /// The other writes that overlap a write in time.
    fn around<'a>(&'a self, write: &'a Write) -> impl Iterator<Item = &'a Write> {
        let from = self
            .writes
            .partition_point(|other| other.ended_ns < write.started_ns);
        let until = write.ended_ns.saturating_add(self.longest_ns);
        self.writes
            .range(from..)
            .take_while(move |other| other.ended_ns <= until)
            .filter(move |other| *other != write && other.overlaps(write))
    }
}

/// Possible starts of a write of `bytes` within `bounds`.
fn possible(bytes: u64, bounds: (u64, u64), appends: bool, others: &[&Write]) -> Vec<u64> {
    let (lowest, end) = bounds;
    let last = end.saturating_sub(bytes);
    if lowest >= last || (others.is_empty() && appends) {
        return vec![last];
    }
    if others.is_empty() {
        // Moved by a read, lseek(2), or by an untraced process.
        return vec![last, lowest];
    }
    // Each write begins where another one ended.
    let mut begins: BTreeSet<u64> = others
        .iter()
        .flat_map(|other| other.boundaries())
        .chain([lowest])
        .flat_map(|boundary| [Some(boundary), boundary.checked_sub(bytes)])
        .flatten()
        .chain([last])
        .filter(|begin| (lowest..=last).contains(begin))
        .collect();
    let mut new: Vec<u64> = begins.iter().copied().collect();
    while let Some(begin) = new.pop()
        && begins.len() < TRIED
    {
        for other in others {
            let next = begin.saturating_add(other.bytes);
            if next <= last && begins.insert(next) {
                new.push(next);
            }
        }
    }
    begins
        .into_iter()
        .filter(|begin| {
            !others
                .iter()
                .any(|other| other.covers(*begin, begin.saturating_add(bytes)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_is_certain_where_nobody_else_moved_the_position() {
        let read = |lowest, end| Landing::Within {
            lowest,
            end,
            appends: false,
            between_ns: (1, 2),
        };
        assert_eq!(read(5, 15).of_read(10), (5, true));
        assert_eq!(read(5, 25).of_read(10), (15, false));
        assert!(
            !read(0, 0).of_read(10).1,
            "it was set back to the beginning"
        );
    }

    const FILE: FileId = FileId {
        device: 1,
        inode: 2,
        generation: 3,
    };

    fn write(started_ns: u64, ended_ns: u64, bytes: u64, landing: Landing) -> Write {
        Write {
            started_ns,
            ended_ns,
            bytes,
            landing,
        }
    }

    fn within(lowest: u64, end: u64) -> Landing {
        Landing::Within {
            lowest,
            end,
            appends: true,
            between_ns: (0, 0),
        }
    }

    fn places(writes: &[Write]) -> Vec<Vec<u64>> {
        let mut offsets = Offsets::default();
        for write in writes {
            offsets.saw(FILE, *write);
        }
        writes
            .iter()
            .map(|write| offsets.places(FILE, write).unwrap())
            .collect()
    }

    #[test]
    fn a_write_that_nobody_overlapped_is_where_it_ended() {
        let writes = [
            write(0, 9, 10, within(0, 10)),
            write(10, 19, 10, within(10, 20)),
        ];
        assert_eq!(places(&writes), [[0], [10]]);
        // Another process, unseen, appended before it.
        assert_eq!(places(&[write(0, 9, 10, within(0, 50))]), [[40]]);
    }

    #[test]
    fn two_at_once_of_different_lengths_have_two_orders() {
        let writes = [
            write(0, 9, 3, within(100, 108)),
            write(1, 8, 5, within(100, 108)),
        ];
        assert_eq!(places(&writes), [[100, 105], [100, 103]]);
    }

    #[test]
    fn what_was_seen_before_and_after_leaves_one_order() {
        // The second one began after the first one's bytes were written.
        let writes = [
            write(0, 9, 3, within(100, 108)),
            write(5, 8, 5, within(103, 108)),
        ];
        assert_eq!(places(&writes)[1], [103]);
        let mut offsets = Offsets::default();
        for write in &writes {
            offsets.saw(FILE, *write);
        }
        offsets.settle(FILE, &writes[1], 103);
        assert_eq!(offsets.places(FILE, &writes[0]).unwrap(), [100]);
    }

    #[test]
    fn a_read_is_certain_only_where_nobody_moved_the_position() {
        assert_eq!(Landing::At(7).of_read(100), (7, true));
        assert_eq!(within(10, 30).of_read(20), (10, true));
        assert_eq!(within(10, 50).of_read(20), (30, false));
        assert_eq!(within(10, 50).of_read(0), (50, false), "the end was read");
    }

    #[test]
    fn a_position_that_somebody_else_moved_has_two_places() {
        let moved = Landing::Within {
            lowest: 0,
            end: 100,
            appends: false,
            between_ns: (0, 0),
        };
        assert_eq!(places(&[write(0, 9, 10, moved)]), [[90, 0]]);
    }

    #[test]
    fn known_places_are_taken_and_are_boundaries() {
        let mut offsets = Offsets::default();
        let unknown = write(0, 9, 4, within(0, 12));
        offsets.saw(FILE, unknown);
        offsets.saw(FILE, write(1, 5, 4, Landing::At(0)));
        offsets.saw(FILE, write(2, 6, 4, Landing::At(8)));
        assert_eq!(offsets.places(FILE, &unknown).unwrap(), [4]);
    }
}
