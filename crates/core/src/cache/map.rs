//! The position of resident pages in a file.

use serde::{Deserialize, Serialize};

/// Ranges of one map: enough for a strip of a page's width, and few system calls.
pub const RANGES_AT_MOST: u64 = 128;

/// A file in ranges of equal length, except the last one, with the residency of each.
///
/// A uniform file has one range. Counts are in whole pages: where a file ends within a page, the
/// last range counts that page whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ResidencyMap {
    pub size_bytes: u64,
    pub page_bytes: u64,
    /// Length of each range, bytes: a multiple of the page.
    pub range_bytes: u64,
    /// Resident bytes of each range.
    pub resident_bytes: Vec<u64>,
    /// Of these the dirty ones; `null` if the source does not report them.
    pub dirty_bytes: Option<Vec<u64>>,
    /// Of these the ones under write-back; `null` as above.
    pub writeback_bytes: Option<Vec<u64>>,
}

/// One range of a [`ResidencyMap`]. Shares are of its pages, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MapRange {
    /// Its start in the file, bytes.
    pub start_bytes: u64,
    /// Its length, bytes: the rest of the file for the last one.
    pub length_bytes: u64,
    /// Share that is resident.
    pub resident: f64,
    /// Share that is dirty; `None` when unknown.
    pub dirty: Option<f64>,
    /// Share under write-back; `None` when unknown.
    pub writeback: Option<f64>,
}

impl ResidencyMap {
    /// Length of ranges that divide `size_bytes` into at most `ranges`, in whole pages.
    pub fn range_bytes(size_bytes: u64, page_bytes: u64, ranges: u64) -> u64 {
        let pages = size_bytes.div_ceil(page_bytes.max(1));
        let pages = pages.div_ceil(ranges.max(1)).max(1);
        pages.saturating_mul(page_bytes.max(1))
    }

    /// The ranges in the order of the file.
    pub fn ranges(&self) -> impl Iterator<Item = MapRange> + '_ {
        let (range, page) = (self.range_bytes.max(1), self.page_bytes.max(1));
        (0_u64..)
            .zip(&self.resident_bytes)
            .map(move |(index, resident)| {
                let start_bytes = index.saturating_mul(range).min(self.size_bytes);
                let length_bytes = range.min(self.size_bytes - start_bytes);
                let pages = length_bytes.div_ceil(page).max(1);
                let share =
                    |bytes: u64| (bytes as f64 / page as f64 / pages as f64).clamp(0.0, 1.0);
                let of = |counts: &Option<Vec<u64>>| {
                    let index = usize::try_from(index).ok()?;
                    counts.as_ref()?.get(index).copied().map(share)
                };
                MapRange {
                    start_bytes,
                    length_bytes,
                    resident: share(*resident),
                    dirty: of(&self.dirty_bytes),
                    writeback: of(&self.writeback_bytes),
                }
            })
    }
}
