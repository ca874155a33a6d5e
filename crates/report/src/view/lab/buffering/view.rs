//! Which rows are drawn, and what had to be left out.

use std::collections::BTreeSet;

use iostrata_core::buffering::{BufferingResult, BufferingRow, Case, Mode};

use crate::format;
use crate::view::lab::Extent;
use crate::view::lab::facts::{Facts, Unshown, distinct};
use crate::view::table::LeftOut;
use iostrata_core::bytes;

/// Name of the target that is the measured directory's own file system.
const HOST: &str = "host";

/// A row with the number by which answers cite it.
#[derive(Clone, Copy)]
pub(super) struct Numbered<'a> {
    pub(super) number: usize,
    pub(super) row: &'a BufferingRow,
}

/// The result as it is drawn.
pub(super) struct View<'a> {
    pub(super) result: &'a BufferingResult,
    /// Which rows are drawn.
    pub(super) extent: Extent,
    rows: Vec<Numbered<'a>>,
    /// Numbers of the rows drawn so far.
    shown: BTreeSet<usize>,
    /// Whether counts per write were drawn.
    pub(super) counted: bool,
    /// What the tables left out.
    pub(super) unshown: Unshown,
}

impl<'a> Numbered<'a> {
    pub(super) fn case(&self) -> Case {
        self.row.row.case
    }

    pub(super) fn target(&self) -> &'a str {
        &self.row.row.target
    }

    pub(super) fn facts(&self) -> Facts<'a> {
        Facts::of(self.number, &self.row.row)
    }

    /// Records and their size: rows of the same stand in one table.
    pub(super) fn records(&self) -> (u64, u64) {
        (self.case().size_bytes, self.case().count)
    }
}

impl<'a> View<'a> {
    pub(super) fn of(result: &'a BufferingResult, extent: Extent) -> Self {
        let numbered = |(index, row)| Numbered {
            number: index + 1,
            row,
        };
        Self {
            result,
            extent,
            rows: result.rows.iter().enumerate().map(numbered).collect(),
            shown: BTreeSet::new(),
            counted: false,
            unshown: Unshown::default(),
        }
    }

    /// Names of the targets that have rows: the host first, then in their order.
    pub(super) fn targets(&self) -> Vec<&'a str> {
        let mut names = distinct(self.rows.iter().map(Numbered::target));
        names.sort_by_key(|name| *name != HOST);
        names
    }

    /// The targets whose rows are all drawn.
    pub(super) fn in_full(&self) -> Vec<&'a str> {
        let mut targets = self.targets();
        if !self.extent.all_rows() {
            targets.truncate(1);
        }
        targets
    }

    /// Rows that have a property, in their order.
    pub(super) fn rows(&self, wanted: impl Fn(&Numbered<'a>) -> bool) -> Vec<Numbered<'a>> {
        self.rows
            .iter()
            .copied()
            .filter(|row| wanted(row))
            .collect()
    }

    /// Record sizes with their counts, in the order of the rows.
    pub(super) fn records(&self) -> Vec<(u64, u64)> {
        distinct(self.rows.iter().map(Numbered::records))
    }

    /// Modes in the order of the table.
    pub(super) fn modes(&self) -> Vec<Mode> {
        let has = |mode: &Mode| self.rows.iter().any(|row| row.case().mode == *mode);
        Mode::ALL.into_iter().filter(has).collect()
    }

    /// Notes that rows were drawn.
    pub(super) fn show(&mut self, rows: &[Numbered<'_>]) {
        self.shown.extend(rows.iter().map(|row| row.number));
    }

    /// Rows drawn so far.
    pub(super) fn shown(&self) -> Vec<Numbered<'a>> {
        self.rows(|row| self.shown.contains(&row.number))
    }

    /// Rows not drawn.
    pub(super) fn hidden(&self) -> usize {
        self.rows.len() - self.shown.len()
    }

    /// Notes what a table left out. `place` says which table it was.
    pub(super) fn left_out(&mut self, place: &str, left_out: LeftOut) {
        self.unshown.add(place, left_out);
    }

    /// What every row has, shown or not.
    pub(super) fn facts(&self) -> Vec<Facts<'a>> {
        self.rows.iter().map(Numbered::facts).collect()
    }
}

/// `2,000 × 1 B`.
pub(super) fn title((size_bytes, count): (u64, u64)) -> String {
    format!("{} × {}", bytes::grouped(count), bytes::exact(size_bytes))
}

/// The text of each row's value.
pub(super) fn cells<'a, T>(
    rows: &[Numbered<'a>],
    value: impl Fn(&'a BufferingRow) -> Option<T>,
    text: impl Fn(T) -> String,
) -> Vec<String> {
    rows.iter()
        .map(|row| format::or_not_seen(value(row.row), &text))
        .collect()
}

/// The mode of each row.
pub(super) fn modes(rows: &[Numbered<'_>]) -> Vec<String> {
    let modes = rows.iter().map(|row| row.case().mode.as_str().to_owned());
    modes.collect()
}
