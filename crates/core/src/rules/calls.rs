//! Sums of the calls on one file.

use crate::evidence::CallStats;
use crate::is_one_of;
use crate::trace::{FileKind, FileRow, SIZE_BUCKETS, Shape};

/// Calls that read at an offset.
pub(super) const READS: &[&str] = &["read", "pread64", "readv", "preadv", "preadv2"];
/// Calls that write at an offset.
pub(super) const WRITES: &[&str] = &["write", "pwrite64", "writev", "pwritev", "pwritev2"];
pub(super) const OPENS: &[&str] = &["open", "openat", "openat2", "creat"];

/// Bytes of a page, on every machine that iostrata runs on.
pub(super) const PAGE_BYTES: u64 = 4096;

/// File systems whose files the kernel generates: properties of stored bytes, such as a second read
/// returning the same, do not hold for them.
const OF_THE_KERNEL: &str = "bpf cgroup cgroup2 configfs debugfs devpts devtmpfs efivarfs mqueue \
                             proc pstore securityfs selinuxfs sysfs tracefs";

/// File systems on a local disk whose files have their own pages. A file of an overlay has its
/// pages at another inode, and a network file has no disk here, so no observed pages or requests
/// does not mean that there were none.
const ON_DISK: &[&str] = &[
    "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "vfat", "xfs",
];

/// Whether it is a file with contents.
pub(super) fn is_stored(file: &FileRow) -> bool {
    // A file whose name was not seen has no file-system type either.
    file.kind == FileKind::Regular
        && !file.filesystem.is_empty()
        && !is_one_of(OF_THE_KERNEL, &file.filesystem)
}

/// Whether the page cache and the device were observed for it.
pub(super) fn is_on_disk(file: &FileRow) -> bool {
    file.kind == FileKind::Regular && ON_DISK.contains(&file.filesystem.as_str())
}

/// Calls with certain names on one file, summed.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Sum {
    pub(super) stats: CallStats,
    /// Part of their time blocked, seconds; `None` when not observed.
    pub(super) blocked_s: Option<f64>,
    pub(super) shape: Summed,
    /// The name of the calls with the most time.
    pub(super) name: &'static str,
}

impl Sum {
    pub(super) fn of(file: &FileRow, names: &[&'static str]) -> Self {
        let mut sum = Self {
            blocked_s: Some(0.0),
            ..Self::default()
        };
        let mut longest_s = f64::NEG_INFINITY;
        for call in &file.calls {
            let named = names.iter().find(|name| **name == call.row.name);
            let Some(name) = named else {
                continue;
            };
            if call.row.stats.time_s >= longest_s {
                (sum.name, longest_s) = (name, call.row.stats.time_s);
            }
            sum.stats += call.row.stats;
            sum.blocked_s = (sum.blocked_s.zip(call.row.blocked_s)).map(|(all, more)| all + more);
            if let Some(shape) = &call.shape {
                sum.shape.add(shape);
            }
        }
        sum
    }

    /// Time not spent waiting, seconds; all of it if waiting was not observed.
    pub(super) fn on_cpu_s(&self) -> f64 {
        (self.stats.time_s - self.blocked_s.unwrap_or(0.0)).max(0.0)
    }

    /// Calls that moved at least one byte.
    pub(super) fn moves(&self) -> u64 {
        self.stats
            .count
            .saturating_sub(self.stats.errors)
            .saturating_sub(self.shape.empty)
    }

    /// Average bytes of a transfer, rounded; 0 without transfers.
    pub(super) fn piece_bytes(&self) -> u64 {
        let moves = self.moves();
        let rounded = self.stats.bytes.saturating_add(moves / 2);
        rounded.checked_div(moves).unwrap_or(0)
    }

    /// Whether at least this share of the transfers began where the previous one ended.
    pub(super) fn is_sequential(&self, share: f64) -> bool {
        self.shape
            .sequential_share()
            .is_some_and(|sequential| sequential >= share)
    }
}

/// A sum of shapes. It allocates nothing: two dozen rules sum the calls on each of thousands of files.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Summed {
    /// As in [`Shape`].
    pub(super) pairs: u64,
    /// As in [`Shape`].
    pub(super) sequential: u64,
    /// As in [`Shape`].
    pub(super) empty: u64,
    /// As in [`Shape`].
    pub(super) furthest_bytes: u64,
    sizes: [u64; SIZE_BUCKETS],
}

impl Summed {
    fn add(&mut self, shape: &Shape) {
        self.pairs = self.pairs.saturating_add(shape.pairs);
        self.sequential = self.sequential.saturating_add(shape.sequential);
        self.empty = self.empty.saturating_add(shape.empty);
        self.furthest_bytes = self.furthest_bytes.max(shape.furthest_bytes);
        for (sum, count) in self.sizes.iter_mut().zip(&shape.sizes) {
            *sum = sum.saturating_add(*count);
        }
    }

    /// Transfers of fewer than `bytes` (a power of two) but at least one.
    pub(super) fn smaller_than(&self, bytes: u64) -> u64 {
        let bucket = bytes.checked_ilog2().map_or(0, |power| power as usize);
        let below = self.sizes.iter().take(bucket).copied();
        below.fold(0, u64::saturating_add)
    }

    /// Share of the judged transfers that were sequential; `None` when none was judged.
    fn sequential_share(&self) -> Option<f64> {
        (self.pairs > 0).then(|| self.sequential as f64 / self.pairs as f64)
    }
}

pub(super) fn has(file: &FileRow, name: &str) -> bool {
    file.calls.iter().any(|call| call.row.name == name)
}

pub(super) fn all_time_s(file: &FileRow) -> f64 {
    file.calls.iter().map(|call| call.row.stats.time_s).sum()
}

/// The last known byte of the file: its length, and the end of any call.
pub(super) fn length_bytes(file: &FileRow) -> u64 {
    let shapes = file.calls.iter().filter_map(|call| call.shape.as_ref());
    shapes
        .map(|shape| shape.furthest_bytes)
        .fold(file.size_before_bytes, u64::max)
}

/// Pages that reads brought into the page cache; `None` when not observed.
pub(super) fn filled_pages(file: &FileRow) -> Option<u64> {
    let cache = &file.evidence.cache;
    Some(cache.missed_pages? + cache.prefetched_pages?)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{blocked, file, file_call, in_order, with_calls};
    use super::*;

    #[test]
    fn calls_of_some_names_are_summed() {
        let file = with_calls(
            file("/a"),
            vec![
                blocked(in_order("read", 10, 100, 0.2), 0.05),
                blocked(in_order("pread64", 5, 100, 0.3), 0.1),
                file_call("fstat", 1, 0, 9.0),
            ],
        );
        let sum = Sum::of(&file, READS);
        assert_eq!(
            (sum.stats.count, sum.stats.bytes, sum.piece_bytes()),
            (15, 1500, 100)
        );
        assert_eq!(sum.name, "pread64", "it took most time");
        assert!((sum.on_cpu_s() - 0.35).abs() < 1e-9);
        assert_eq!(sum.shape.pairs, 13);
        assert!((all_time_s(&file) - 9.5).abs() < 1e-9);
        assert_eq!(length_bytes(&file), 1000);
    }

    #[test]
    fn waiting_that_one_call_does_not_tell_is_unknown() {
        let calls = vec![in_order("read", 1, 1, 0.1), file_call("readv", 1, 1, 0.1)];
        let sum = Sum::of(&with_calls(file("/a"), calls), READS);
        assert_eq!(sum.blocked_s, None);
        assert!((sum.on_cpu_s() - 0.2).abs() < 1e-9);
    }

    #[test]
    fn shapes_are_summed() {
        let shape = |offset, bytes, before| {
            let mut shape = Shape::default();
            shape.add(offset, bytes, before);
            shape
        };
        let mut sum = Summed::default();
        assert_eq!(sum.sequential_share(), None);
        for one in [
            shape(0, 7, None),
            shape(7, 8, Some(7)),
            shape(0, 15, Some(15)),
            shape(100, 0, None),
        ] {
            sum.add(&one);
        }
        assert_eq!((sum.pairs, sum.sequential, sum.empty), (2, 1, 1));
        assert_eq!(sum.furthest_bytes, 100);
        assert_eq!((sum.smaller_than(8), sum.smaller_than(16)), (1, 3));
        assert_eq!(sum.smaller_than(1), 0);
        assert_eq!(sum.sequential_share(), Some(0.5));
    }

    #[test]
    fn failed_and_empty_calls_move_nothing() {
        let mut reads = in_order("read", 4, 100, 0.1);
        reads.row.stats.count = 7;
        reads.row.stats.errors = 1;
        reads.shape.as_mut().unwrap().empty = 2;
        let sum = Sum::of(&with_calls(file("/a"), vec![reads]), READS);
        assert_eq!((sum.moves(), sum.piece_bytes()), (4, 100));
        assert_eq!(Sum::default().piece_bytes(), 0);
    }
}
