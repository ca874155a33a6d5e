//! Which rows are drawn, and what had to be left out.

use iostrata_core::buffering::{BufferingResult, BufferingRow, Mode};
use iostrata_core::bytes;

use crate::view::lab::Extent;
use crate::view::lab::facts::{Unshown, distinct};
use crate::view::lab::numbered::{self, Rows};
use crate::view::table::LeftOut;

pub(super) use crate::view::lab::numbered::cells;

pub(super) type Numbered<'a> = numbered::Numbered<'a, BufferingRow>;

/// The result as it is drawn.
pub(super) struct View<'a> {
    pub(super) result: &'a BufferingResult,
    /// Which rows are drawn.
    pub(super) extent: Extent,
    pub(super) rows: Rows<'a, BufferingRow>,
    /// Whether counts per write were drawn.
    pub(super) counted: bool,
    /// What the tables left out.
    pub(super) unshown: Unshown,
}

impl Numbered<'_> {
    /// Records and their size: rows of the same stand in one table.
    pub(super) fn records(&self) -> (u64, u64) {
        (self.case().size_bytes, self.case().count)
    }
}

impl<'a> View<'a> {
    pub(super) fn of(result: &'a BufferingResult, extent: Extent) -> Self {
        Self {
            result,
            extent,
            rows: Rows::of(&result.rows, extent),
            counted: false,
            unshown: Unshown::default(),
        }
    }

    /// Record sizes with their counts, in the order of the rows.
    pub(super) fn records(&self) -> Vec<(u64, u64)> {
        distinct(self.rows.all().iter().map(Numbered::records))
    }

    /// Modes in the order of the table.
    pub(super) fn modes(&self) -> Vec<Mode> {
        let has = |mode: &Mode| self.rows.all().iter().any(|row| row.case().mode == *mode);
        Mode::ALL.into_iter().filter(has).collect()
    }

    /// Notes what a table left out. `place` says which table it was.
    pub(super) fn left_out(&mut self, place: &str, left_out: LeftOut) {
        self.unshown.add(place, left_out);
    }
}

/// `2,000 × 1 B`.
pub(super) fn title((size_bytes, count): (u64, u64)) -> String {
    format!("{} × {}", bytes::grouped(count), bytes::exact(size_bytes))
}

/// The mode of each row.
pub(super) fn modes(rows: &[Numbered<'_>]) -> Vec<String> {
    let modes = rows.iter().map(|row| row.case().mode.as_str().to_owned());
    modes.collect()
}
