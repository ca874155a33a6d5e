//! Sums that come through the ring: a thread's calls on one file before it went to another.
//!
//! The kernel's tables hold the rest, which is added when they are read.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use iostrata_core::trace::{Direction, direction, is_sync};
use zerocopy::FromBytes as _;

use super::few::{Part, Sum};
use super::wire::{CacheEvent, CacheValue, CallValue, FewEvent, FileKey, Submission, add};
use super::{Limits, calls};

/// A call, by its number, on a file.
pub(super) type CallOnFile = (u32, FileKey);

/// A file, and whether its pages are metadata of the file system.
pub(super) type Cached = (FileKey, bool);

/// The number of files remembered as already summed: some 12 MB. Files beyond this number are
/// summed without being remembered, and never get rows of their own.
const SUMMED: usize = 1 << 18;

/// The sums so far. Files have their own entries while there is room; afterwards changed files and
/// those with the most time keep theirs, and the calls on all others are summed by call.
#[derive(Debug)]
pub(super) struct Sums {
    calls: HashMap<CallOnFile, Sum>,
    pub(super) cache: HashMap<Cached, CacheValue>,
    most_calls: usize,
    most_pages: usize,
    most_kept: usize,
    /// Files that have entries of their own in `calls`.
    kept: HashSet<FileKey>,
    /// Files whose calls are summed without the file, now and later: a file has all its calls in
    /// its own entries, or none.
    summed: HashSet<FileKey>,
    summed_calls: u64,
    /// Page sums that found no room.
    pub(super) cache_lost: u64,
    /// Operations of libaio whose results were not seen.
    pub(super) without_result: u64,
}

#[derive(Default)]
struct Used {
    is_changed: bool,
    time_ns: u64,
    entries: usize,
}

pub(super) struct Called {
    pub(super) sums: HashMap<CallOnFile, Sum>,
    /// Files whose calls are in the sums without a file.
    pub(super) summed: HashSet<FileKey>,
    pub(super) summed_calls: u64,
}

/// Without sums from the ring, the kernel's table is added.
impl Default for Sums {
    fn default() -> Self {
        Self::new(&Limits::default())
    }
}

impl Sums {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            most_calls: limits.calls as usize,
            most_pages: limits.files as usize,
            most_kept: limits.kept_files as usize,
            calls: HashMap::new(),
            cache: HashMap::new(),
            kept: HashSet::new(),
            summed: HashSet::new(),
            summed_calls: 0,
            cache_lost: 0,
            without_result: 0,
        }
    }

    pub(super) fn calls(&mut self, record: &[u8]) {
        let Ok(event) = FewEvent::read_from_bytes(record) else {
            return;
        };
        self.on((event.nr, event.file), Part::Few(&event));
    }

    pub(super) fn submission(&mut self, submission: &Submission) {
        self.without_result += 1;
        let value = submission.value();
        self.add((submission.number(), submission.file), &value);
    }

    /// Adds an entry of the kernel's table.
    pub(super) fn add(&mut self, key: CallOnFile, value: &CallValue) {
        self.on(key, Part::Many(value));
    }

    pub(super) fn take_calls(&mut self) -> Called {
        if self.kept.len() > self.most_kept {
            self.sum_up();
        }
        Called {
            sums: std::mem::take(&mut self.calls),
            summed: std::mem::take(&mut self.summed),
            summed_calls: self.summed_calls,
        }
    }

    fn on(&mut self, key: CallOnFile, more: Part<'_>) {
        if let Some(sum) = self.calls.get_mut(&key) {
            return sum.add(more);
        }
        let (number, file) = key;
        let is_kept = file == FileKey::default() || self.is_kept(file);
        if !is_kept && !calls::is_source(number) {
            add(&mut self.summed_calls, more.count());
        }
        let key = if is_kept {
            key
        } else {
            (number, FileKey::default())
        };
        merge(&mut self.calls, key, more);
        if is_kept && (self.kept.len() > self.most_kept * 2 || self.calls.len() > self.most_calls) {
            self.sum_up();
        }
    }

    /// Whether the file has entries of its own; a file not seen before gets them.
    fn is_kept(&mut self, file: FileKey) -> bool {
        let is_kept = self.kept.contains(&file)
            || (self.summed.len() < SUMMED && !self.summed.contains(&file));
        if is_kept {
            self.kept.insert(file);
        }
        is_kept
    }

    /// The files that keep their own entries: changed files first, and among equals those with the
    /// most time.
    fn by_weight(&self) -> Vec<(FileKey, Used)> {
        let mut files: HashMap<FileKey, Used> = HashMap::new();
        for ((number, file), value) in &self.calls {
            let used = files.entry(*file).or_default();
            used.is_changed |= changes(*number);
            add(&mut used.time_ns, value.time_ns());
            used.entries += 1;
        }
        files.remove(&FileKey::default());
        let mut files: Vec<(FileKey, Used)> = files.into_iter().collect();
        files.sort_unstable_by_key(|(file, used)| {
            let weight = Reverse((used.is_changed, used.time_ns));
            (weight, file.device, file.inode, file.generation)
        });
        files
    }

    /// Keeps the files with the greatest weight; the entries of all others lose their file.
    fn sum_up(&mut self) {
        let mut room = self.most_calls - self.most_calls / 5;
        for (place, (file, used)) in self.by_weight().into_iter().enumerate() {
            if place < self.most_kept && used.entries <= room {
                room -= used.entries;
            } else {
                self.kept.remove(&file);
                self.summed.insert(file);
            }
        }
        let summed = &self.summed;
        let gone = |(_, file): &CallOnFile, _: &mut Sum| summed.contains(file);
        let gone: Vec<(CallOnFile, Sum)> = self.calls.extract_if(gone).collect();
        for ((number, _), value) in gone {
            if !calls::is_source(number) {
                add(&mut self.summed_calls, value.part().count());
            }
            let key = (number, FileKey::default());
            merge(&mut self.calls, key, value.part());
        }
    }

    pub(super) fn cache(&mut self, record: &[u8]) {
        let Ok(event) = CacheEvent::read_from_bytes(record) else {
            return;
        };
        let key = (event.file, event.metadata != 0);
        if self.cache.len() < self.most_pages || self.cache.contains_key(&key) {
            self.cache.entry(key).or_default().add(&event.value);
        } else {
            self.cache_lost += 1;
        }
    }
}

fn merge(sums: &mut HashMap<CallOnFile, Sum>, key: CallOnFile, more: Part<'_>) {
    match sums.entry(key) {
        Entry::Occupied(mut sum) => sum.get_mut().add(more),
        Entry::Vacant(none) => {
            none.insert(Sum::of(more));
        }
    }
}

/// Whether the call changes a file or makes it durable, which findings depend on.
fn changes(number: u32) -> bool {
    let name = calls::name(number);
    is_sync(name) || direction(name) == Some(Direction::Write)
}

#[cfg(test)]
mod tests {
    use zerocopy::IntoBytes as _;

    use super::*;
    use crate::ebpf::wire::{FEW, SIZE_BUCKETS, event};

    impl Sums {
        pub(crate) fn is_empty(&self) -> bool {
            self.calls.is_empty()
        }
    }

    /// [`SIZE_BUCKETS`], for a call that moved nothing.
    const NOTHING: u8 = 32;
    const _: () = assert!(NOTHING as usize == SIZE_BUCKETS);

    fn few(inode: u64, buckets: &[u8], sizes: &[u8]) -> FewEvent {
        let filled = |some: &[u8]| {
            let mut all = [NOTHING; FEW];
            all[..some.len()].copy_from_slice(some);
            all
        };
        FewEvent {
            kind: event::FEW,
            nr: 1,
            file: FileKey {
                inode,
                device: 2,
                generation: 3,
            },
            returned: 100,
            time_ns: 2_000,
            blocked_ns: 500,
            alone_ns: 400,
            furthest: 100 * inode,
            first_ns: 1,
            last_ns: 2,
            count: u8::try_from(buckets.len()).unwrap(),
            errors: 0,
            pairs: 1,
            sequential: 1,
            backward: 0,
            empty: 1,
            pad: [0; 2],
            buckets: filled(buckets),
            sizes: filled(sizes),
        }
    }

    fn room_for(files: u32) -> Sums {
        Sums::new(&Limits {
            files,
            kept_files: files,
            ..Limits::default()
        })
    }

    /// Files with entries, calls without a file, and how many calls lost their file.
    fn told(mut sums: Sums) -> (Vec<(u64, u64)>, u64, u64) {
        let called = sums.take_calls();
        let sums = called.sums.iter();
        let files = sums.map(|((_, file), sum)| (file.inode, sum.part().count()));
        let mut files: Vec<(u64, u64)> = files.collect();
        files.sort_unstable();
        let without = files.iter().filter(|(inode, _)| *inode == 0);
        let without = without.map(|(_, count)| count).sum();
        files.retain(|(inode, _)| *inode != 0);
        assert!(
            files
                .iter()
                .all(|(inode, _)| { !called.summed.iter().any(|file| file.inode == *inode) })
        );
        (files, without, called.summed_calls)
    }

    #[test]
    fn calls_on_one_file_are_summed() {
        let mut sums = room_for(10);
        sums.calls(few(7, &[10, 11], &[6, NOTHING]).as_bytes());
        sums.calls(few(7, &[11], &[6]).as_bytes());
        let (key, value) = sums.calls.iter().next().unwrap();
        let value = value.whole();
        assert_eq!((sums.calls.len(), key.0, key.1.inode), (1, 1, 7));
        assert_eq!((value.count, value.returned, value.empty), (3, 200, 2));
        assert_eq!((value.histogram[10], value.histogram[11]), (1, 2));
        assert_eq!(value.sizes.iter().sum::<u32>(), 2);
        assert_eq!((value.sizes[6], value.furthest), (2, 700));
        assert_eq!(told(sums), (vec![(7, 3)], 0, 0));
    }

    #[test]
    fn of_too_many_files_those_with_most_time_are_kept_whole() {
        let mut sums = room_for(4);
        for inode in 1..=8 {
            sums.calls(few(inode, &[10, 10], &[]).as_bytes());
        }
        sums.calls(few(5, &[10], &[]).as_bytes());
        // Room for twice as many; beyond that the lightest go, and stay away.
        sums.calls(few(9, &[10], &[]).as_bytes());
        sums.calls(few(4, &[10, 10, 10], &[]).as_bytes());
        let kept = vec![(1, 2), (2, 2), (3, 2), (5, 3)];
        assert_eq!(told(sums), (kept, 12, 12));
    }

    #[test]
    fn files_that_were_changed_are_kept_before_those_that_were_read() {
        let mut sums = room_for(2);
        let read = |inode| FewEvent {
            nr: 0,
            time_ns: 1 << 40,
            ..few(inode, &[10], &[])
        };
        sums.calls(few(7, &[10], &[]).as_bytes());
        for inode in 1..=4 {
            sums.calls(read(inode).as_bytes());
        }
        let (kept, without, lost) = told(sums);
        assert_eq!(
            (kept.len(), kept.last(), without, lost),
            (2, Some(&(7, 1)), 3, 3)
        );
    }

    #[test]
    fn a_file_with_more_entries_than_there_is_room_is_summed() {
        let mut sums = Sums::new(&Limits {
            calls: 5,
            ..Limits::default()
        });
        for nr in 0..6 {
            let event = FewEvent {
                nr,
                ..few(7, &[10], &[])
            };
            sums.calls(event.as_bytes());
        }
        assert_eq!(told(sums), (vec![], 6, 6));
    }

    /// In any order, every sum is counted exactly once.
    #[test]
    fn every_call_is_in_one_sum() {
        let mut sums = room_for(8);
        let mut state = 1_u64;
        for _ in 0..5_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let nr = u32::try_from(state >> 33 & 3).unwrap();
            let event = FewEvent {
                nr,
                time_ns: state >> 50,
                ..few(state >> 40 & 63, &[3], &[])
            };
            sums.calls(event.as_bytes());
        }
        let (files, without, lost) = told(sums);
        let kept: u64 = files.iter().map(|(_, count)| count).sum();
        assert_eq!((kept + without, lost <= without), (5_000, true));
        assert!(files.len() <= 10 * 4 && kept > 0, "{files:?}");
    }

    #[test]
    fn pages_are_summed_until_there_is_no_room() {
        let mut sums = room_for(1);
        for inode in [7, 8, 7] {
            let event = CacheEvent {
                kind: event::CACHE,
                metadata: 0,
                file: FileKey {
                    inode,
                    ..FileKey::default()
                },
                value: CacheValue {
                    lookups_pages: 3,
                    missed_pages: 2,
                    filled_pages: 2,
                    dirtied_bytes: 4096,
                },
            };
            sums.cache(event.as_bytes());
        }
        let sum = sums.cache.values().next().unwrap();
        assert_eq!(
            (sums.cache.len(), sum.lookups_pages, sum.dirtied_bytes),
            (1, 6, 8192)
        );
        assert_eq!(sums.cache_lost, 1);
    }

    #[test]
    fn what_is_cut_off_is_not_counted() {
        let mut sums = room_for(1);
        sums.calls(&few(7, &[1], &[]).as_bytes()[..40]);
        sums.cache(&[0; 7]);
        assert!(sums.calls.is_empty() && sums.cache.is_empty());
    }
}
