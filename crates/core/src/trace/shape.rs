//! The shape of transfers: their sizes, and their order.

use serde::{Deserialize, Serialize};

use super::FileRow;
use crate::gap::{Countable, Gap, Reason};

/// Buckets of [`Shape::sizes`]: bucket `n` has the transfers of `2^n` to `2^(n+1) - 1`
/// bytes, the last one also all larger ones. Transfers of 0 bytes are in none.
pub const SIZE_BUCKETS: usize = 32;

/// Position of one call's reads or writes in one file.
///
/// Only transfers at a known offset of a regular file have a shape.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Shape {
    /// Transfers whose predecessor by the same thread, call and file is known.
    pub pairs: u64,
    /// Those that began where the previous one had ended.
    pub sequential: u64,
    /// Those that began before the end of the previous one.
    pub backward: u64,
    /// Transfers of 0 bytes: reads at the end of the file.
    pub empty: u64,
    /// The last byte reached: largest offset plus length.
    pub furthest_bytes: u64,
    /// Transfers by the power of two of their bytes, up to the last that is not 0.
    pub sizes: Vec<u64>,
}

impl Shape {
    /// Adds one transfer of `bytes` at `offset`; `previous_end` is the end of the previous one by
    /// the same thread, call and file.
    pub fn add(&mut self, offset: u64, bytes: u64, previous_end: Option<u64>) {
        match bytes.checked_ilog2() {
            Some(power) => {
                let bucket = (power as usize).min(SIZE_BUCKETS - 1);
                self.sizes.resize(self.sizes.len().max(bucket + 1), 0);
                self.sizes[bucket] += 1;
            }
            None => self.empty += 1,
        }
        if let Some(end) = previous_end {
            self.pairs += 1;
            self.sequential += u64::from(offset == end);
            self.backward += u64::from(offset < end);
        }
        self.furthest_bytes = self.furthest_bytes.max(offset.saturating_add(bytes));
    }

    /// Adds the transfers of another row.
    pub fn merge(&mut self, other: &Self) {
        self.pairs = self.pairs.saturating_add(other.pairs);
        self.sequential = self.sequential.saturating_add(other.sequential);
        self.backward = self.backward.saturating_add(other.backward);
        self.empty = self.empty.saturating_add(other.empty);
        self.furthest_bytes = self.furthest_bytes.max(other.furthest_bytes);
        self.sizes
            .resize(self.sizes.len().max(other.sizes.len()), 0);
        for (sum, count) in self.sizes.iter_mut().zip(&other.sizes) {
            *sum = sum.saturating_add(*count);
        }
    }

    fn transfers(&self) -> u64 {
        self.sizes
            .iter()
            .copied()
            .fold(self.empty, u64::saturating_add)
    }

    /// Transfers with an unknown predecessor, if there are too many of them to judge the order.
    fn without_order(&self) -> Option<u64> {
        let (transfers, known) = (self.transfers(), self.pairs);
        let is_unknown = transfers >= WORTH_A_BUFFER && known < transfers / 2;
        is_unknown.then(|| transfers.saturating_sub(known))
    }
}

/// A system call that moves little takes 0.1 to 1 microseconds, so fewer calls than this take less
/// than 1 ms, and no buffer can save more.
pub(crate) const WORTH_A_BUFFER: u64 = 1000;

/// Transfers in an unknown order. Back ends remember the end of a thread's last transfer for the
/// eight pairs of call and file that it used last (`SLOTS` in bpf/maps.h and in tally/thread.rs).
pub(super) fn without_order(files: &[FileRow]) -> Option<Gap> {
    let calls = files.iter().flat_map(|file| &file.calls);
    let unknown = calls.filter_map(|call| call.shape.as_ref()?.without_order());
    let transfers = unknown.fold(0, u64::saturating_add);
    Gap::counted(transfers, Countable::Transfers, Reason::OrderForgotten)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_unknown_where_most_predecessors_are() {
        let of = |transfers, pairs| Shape {
            pairs,
            sizes: vec![transfers],
            ..Shape::default()
        };
        assert_eq!(of(1_000, 499).without_order(), Some(501));
        assert_eq!(of(1_000, 500).without_order(), None);
        assert_eq!(of(999, 0).without_order(), None, "too few for any rule");
    }

    #[test]
    fn sequential_backward_and_skipping_are_told_apart() {
        let mut shape = Shape::default();
        shape.add(0, 10, None);
        shape.add(10, 10, Some(10));
        shape.add(100, 1, Some(20));
        shape.add(0, 0, Some(101));
        assert_eq!(
            (shape.pairs, shape.sequential, shape.backward, shape.empty),
            (3, 1, 1, 1)
        );
        assert_eq!(shape.furthest_bytes, 101);
        assert_eq!((shape.sizes[0], shape.sizes[3]), (1, 2));
    }

    #[test]
    fn merging_adds() {
        let mut one = Shape::default();
        one.add(0, 1, None);
        let mut two = Shape::default();
        two.add(5, 4096, Some(5));
        one.merge(&two);
        assert_eq!((one.pairs, one.sequential), (1, 1));
        assert_eq!(one.furthest_bytes, 4101);
        assert_eq!((one.sizes[0], one.sizes[12]), (1, 1));
    }
}
