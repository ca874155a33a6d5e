//! Sums that come through the ring: what a thread did with one file before it went to another.
//!
//! The kernel's tables hold the rest, which is added when they are read.

use std::collections::HashMap;
use std::hash::Hash;

use zerocopy::FromBytes as _;

use super::Limits;
use super::wire::{CacheEvent, CacheValue, CallValue, FewEvent, FileKey, Submission, add};

/// A call, by its number, on a file.
pub(super) type CallOnFile = (u32, FileKey);

/// A file, and whether its pages are metadata of the file system.
pub(super) type Pages = (FileKey, bool);

/// What came so far. As many files as the kernel's tables have room for are told apart.
#[derive(Debug, Default)]
pub(super) struct Sums {
    pub(super) calls: HashMap<CallOnFile, CallValue>,
    pub(super) cache: HashMap<Pages, CacheValue>,
    most_calls: usize,
    most_files: usize,
    /// Calls that are counted without their file.
    pub(super) unattributed: u64,
    /// Sums of pages that found no room.
    pub(super) cache_lost: u64,
    /// Operations of libaio whose results were not seen.
    pub(super) without_result: u64,
}

impl Sums {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            most_calls: limits.calls as usize,
            most_files: limits.files as usize,
            ..Self::default()
        }
    }

    pub(super) fn calls(&mut self, record: &[u8]) {
        let Ok(event) = FewEvent::read_from_bytes(record) else {
            return;
        };
        let mut key = (event.nr, event.file);
        if !has_room(&self.calls, &key, self.most_calls) {
            add(&mut self.unattributed, event.count.into());
            key.1 = FileKey::default();
        }
        self.calls
            .entry(key)
            .or_insert(CallValue::ZERO)
            .add_few(&event);
    }

    pub(super) fn submission(&mut self, submission: &Submission) {
        self.without_result += 1;
        let mut key = (submission.number(), submission.file);
        if !has_room(&self.calls, &key, self.most_calls) {
            self.unattributed += 1;
            key.1 = FileKey::default();
        }
        let sum = self.calls.entry(key).or_insert(CallValue::ZERO);
        sum.add(&submission.value());
    }

    pub(super) fn cache(&mut self, record: &[u8]) {
        let Ok(event) = CacheEvent::read_from_bytes(record) else {
            return;
        };
        let key = (event.file, event.metadata != 0);
        if has_room(&self.cache, &key, self.most_files) {
            self.cache.entry(key).or_default().add(&event.value);
        } else {
            self.cache_lost += 1;
        }
    }
}

fn has_room<K: Eq + Hash, V>(sums: &HashMap<K, V>, key: &K, most: usize) -> bool {
    sums.len() < most || sums.contains_key(key)
}

impl CallValue {
    fn add_few(&mut self, few: &FewEvent) {
        add(&mut self.count, u64::from(few.count));
        add(&mut self.errors, u64::from(few.errors));
        add(&mut self.returned, few.returned);
        add(&mut self.time_ns, few.time_ns);
        add(&mut self.blocked_ns, few.blocked_ns);
        add(&mut self.pairs, u64::from(few.pairs));
        add(&mut self.sequential, u64::from(few.sequential));
        add(&mut self.backward, u64::from(few.backward));
        add(&mut self.empty, u64::from(few.empty));
        self.furthest = self.furthest.max(few.furthest);
        let calls = usize::from(few.count);
        count(&mut self.histogram, few.buckets.iter().take(calls));
        // SIZE_BUCKETS stands for a call that moved nothing.
        count(&mut self.sizes, few.sizes.iter().take(calls));
    }
}

fn count<'a>(histogram: &mut [u32], buckets: impl Iterator<Item = &'a u8>) {
    for bucket in buckets {
        if let Some(count) = histogram.get_mut(usize::from(*bucket)) {
            *count = count.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use zerocopy::IntoBytes as _;

    use super::*;
    use crate::ebpf::wire::{EVENT_CACHE, EVENT_FEW, FEW, SIZE_BUCKETS};

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
            kind: EVENT_FEW,
            nr: 1,
            file: FileKey {
                inode,
                device: 2,
                generation: 3,
            },
            returned: 100,
            time_ns: 2_000,
            blocked_ns: 500,
            furthest: 100 * inode,
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
            calls: files,
            files,
            ..Limits::default()
        })
    }

    #[test]
    fn calls_on_one_file_are_summed() {
        let mut sums = room_for(10);
        sums.calls(few(7, &[10, 11], &[6, NOTHING]).as_bytes());
        sums.calls(few(7, &[11], &[6]).as_bytes());
        let (key, value) = sums.calls.iter().next().unwrap();
        assert_eq!((sums.calls.len(), key.0, key.1.inode), (1, 1, 7));
        assert_eq!((value.count, value.returned, value.empty), (3, 200, 2));
        assert_eq!((value.histogram[10], value.histogram[11]), (1, 2));
        assert_eq!(value.sizes.iter().sum::<u32>(), 2);
        assert_eq!((value.sizes[6], value.furthest), (2, 700));
    }

    #[test]
    fn calls_on_files_that_found_no_room_lose_their_file_only() {
        let mut sums = room_for(1);
        for inode in [7, 8, 9, 7] {
            sums.calls(few(inode, &[10, 10], &[]).as_bytes());
        }
        let count = |inode| {
            let mut of = sums.calls.iter().filter(|(key, _)| key.1.inode == inode);
            of.next().map(|(_, value)| value.count)
        };
        assert_eq!((count(7), count(0), count(8)), (Some(4), Some(4), None));
        assert_eq!(sums.unattributed, 4);
    }

    #[test]
    fn pages_are_summed_until_there_is_no_room() {
        let mut sums = room_for(1);
        for inode in [7, 8, 7] {
            let event = CacheEvent {
                kind: EVENT_CACHE,
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
