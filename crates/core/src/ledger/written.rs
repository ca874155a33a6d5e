//! Whose the pages are that were written back for one life of a file.
//!
//! The kernel reports a folio as it turns from clean to dirty, not each write to it, and a request by its first page.
//! So for one life there are four sums: what was written back, what the run turned dirty, what its calls wrote,
//! which may have gone to pages that were dirty already, and what others turned dirty or was dirty before.

use crate::evidence::{DeviceCounts, DeviceRange, Life, RequestCount};

/// `PAGE_SIZE` of x86.
const PAGE_BYTES: u64 = 4096;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Written {
    /// The run turned dirty, in folios.
    dirtied_bytes: u64,
    /// Its calls wrote at most so much, in pages.
    called_bytes: u64,
    /// Whether calls have changed its length, each of which may have cleared the rest of a page.
    pub(super) is_resized: bool,
    /// `None` where it is not known: anything may be theirs.
    others: Option<Life>,
}

impl Written {
    pub(super) fn beside(others: Option<&Life>) -> Self {
        Self {
            others: others.copied(),
            ..Self::default()
        }
    }

    /// Whether nobody else has dirtied pages.
    pub(super) fn is_alone(&self) -> bool {
        self.others.is_some_and(|life| life.is_alone())
    }

    pub(super) fn dirtied(&mut self, bytes: u64) {
        self.dirtied_bytes = self.dirtied_bytes.saturating_add(bytes);
    }

    /// So many calls wrote so many bytes, which begin and end within pages.
    pub(super) fn called(&mut self, count: u64, bytes: u64) {
        let ends = count.saturating_mul(2);
        let most_pages = (bytes / PAGE_BYTES).saturating_add(ends).min(bytes);
        let most_bytes = most_pages.saturating_mul(PAGE_BYTES);
        self.called_bytes = self.called_bytes.saturating_add(most_bytes);
    }

    /// The least and the most of so many bytes written back that are the run's.
    pub(super) fn bounds(&self, back_bytes: u64) -> (u64, u64) {
        let Some(life) = self.others else {
            return (0, back_bytes);
        };
        let others = life.before_bytes.saturating_add(life.dirtied_bytes);
        if others == 0 {
            return (back_bytes, back_bytes);
        }
        let most = if life.is_mapped {
            back_bytes
        } else {
            back_bytes.min(self.most())
        };
        (back_bytes.saturating_sub(others).min(most), most)
    }

    /// All that the run may have dirtied. Stores to pages that others have dirtied are not reported.
    fn most(&self) -> u64 {
        let own = self.dirtied_bytes.saturating_add(self.called_bytes);
        match self.others {
            Some(life) if life.is_mapped => own
                .saturating_add(life.before_bytes)
                .saturating_add(life.dirtied_bytes),
            _ => own,
        }
    }

    /// The least and the most of the bytes dirty now that are the run's; `None` for how many could not be asked. The
    /// least is 0 where anyone may have dirtied pages `since`.
    pub(super) fn left(&self, dirty_bytes: Option<u64>, since: bool) -> (u64, u64) {
        match dirty_bytes.map(|bytes| (bytes, self.bounds(bytes))) {
            None => (0, self.most()),
            Some((_, bounds)) if !since => bounds,
            Some((bytes, _)) => (0, self.most().min(bytes)),
        }
    }

    /// The share of requests that wrote pages back. They are not divided: where some bytes are the run's, at least one
    /// request is, and all may be.
    pub(super) fn of_written_back(&self, all: DeviceCounts) -> DeviceRange {
        let (least, most) = self.bounds(all.data.bytes);
        if least == all.data.bytes {
            return DeviceRange::from(all);
        }
        let of = |data| DeviceCounts {
            data,
            ..DeviceCounts::default()
        };
        let at_least = RequestCount {
            count: u64::from(least > 0),
            bytes: least,
            time_s: 0.0,
        };
        let at_most = RequestCount {
            bytes: most,
            ..all.data
        };
        DeviceRange {
            at_least: of(at_least),
            at_most: of(if most > 0 {
                at_most
            } else {
                RequestCount::default()
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(dirtied: u64, calls: (u64, u64), others: Life) -> Written {
        let mut written = Written::beside(Some(&others));
        written.dirtied(dirtied);
        written.called(calls.0, calls.1);
        written
    }

    fn life(before_bytes: u64, dirtied_bytes: u64) -> Life {
        Life {
            before_bytes,
            dirtied_bytes,
            is_mapped: false,
        }
    }

    #[test]
    fn what_could_not_be_asked_is_at_most_what_was_dirtied() {
        let alone = written(8192, (1, 4096), life(0, 0));
        assert_eq!(alone.left(Some(4096), false), (4096, 4096));
        // Its processes run on.
        assert_eq!(alone.left(Some(4096), true), (0, 4096));
        assert_eq!(alone.left(Some(1 << 20), true), (0, 20480));
        assert_eq!(alone.left(None, false), (0, 20480));
        let mut mapped = written(8192, (0, 0), life(4096, 4096));
        mapped.others.as_mut().unwrap().is_mapped = true;
        assert_eq!(mapped.left(None, false), (0, 16384));
    }

    #[test]
    fn without_others_all_is_the_runs() {
        // Written back twice, or compressed: the bytes differ from those that turned dirty.
        for back in [0, 512, 8192, 1 << 30] {
            assert_eq!(written(4096, (1, 6), life(0, 0)).bounds(back), (back, back));
        }
    }

    #[test]
    fn what_others_dirtied_may_be_what_was_written() {
        let of = written(8192, (0, 0), life(0, 4096));
        assert_eq!(of.bounds(12_288), (8192, 8192));
        assert_eq!(of.bounds(8192), (4096, 8192));
        assert_eq!(of.bounds(4096), (0, 4096));
        // A call may have written to a page that was dirty: one byte to each of two.
        let of = written(0, (1, 2), life(1 << 20, 0));
        assert_eq!(of.bounds(1 << 20), (0, 8192));
        let of = written(0, (1, 1), life(1 << 20, 0));
        assert_eq!(of.bounds(1 << 20), (0, 4096));
    }

    #[test]
    fn a_mapping_may_have_written_anywhere() {
        let mapped = Life {
            is_mapped: true,
            ..life(4096, 0)
        };
        assert_eq!(written(0, (0, 0), mapped).bounds(8192), (4096, 8192));
    }

    #[test]
    fn of_an_unknown_life_nothing_is_certain() {
        assert_eq!(Written::beside(None).bounds(4096), (0, 4096));
    }

    #[test]
    fn requests_are_not_divided() {
        let all = DeviceCounts {
            data: RequestCount {
                count: 3,
                bytes: 12_288,
                time_s: 0.5,
            },
            ..DeviceCounts::default()
        };
        let of = written(4096, (0, 0), life(0, 8192));
        let range = of.of_written_back(all);
        assert_eq!(range.of(|device| device.data.count), (1, 3));
        assert_eq!(range.of(|device| device.data.bytes), (4096, 4096));
        let none = written(0, (0, 0), life(0, 8192)).of_written_back(all);
        assert_eq!(none.of(|device| device.data.count), (0, 0));
    }
}
