//! Rows with the numbers by which answers cite them, and which of them are drawn.

use std::collections::BTreeSet;

use iostrata_core::buffering::{self, BufferingRow};
use iostrata_core::copy::{self, CopyRow};
use iostrata_core::lab::Row;
use iostrata_core::page_cache::{self, PageCacheRow};
use iostrata_core::sync::{self, SyncRow};

use super::Extent;
use super::facts::{Facts, distinct};
use crate::format;

/// Name of the target that is the measured directory's own file system.
pub(super) const HOST: &str = "host";

/// The row of an experiment.
pub(super) trait LabRow {
    type Case;

    fn row(&self) -> &Row<Self::Case>;
}

impl LabRow for BufferingRow {
    type Case = buffering::Case;

    fn row(&self) -> &Row<Self::Case> {
        &self.row
    }
}

impl LabRow for PageCacheRow {
    type Case = page_cache::Case;

    fn row(&self) -> &Row<Self::Case> {
        &self.row
    }
}

impl LabRow for SyncRow {
    type Case = sync::Case;

    fn row(&self) -> &Row<Self::Case> {
        &self.row
    }
}

impl LabRow for CopyRow {
    type Case = copy::Case;

    fn row(&self) -> &Row<Self::Case> {
        &self.row
    }
}

/// A row with its number.
pub(super) struct Numbered<'a, R> {
    pub(super) number: usize,
    pub(super) row: &'a R,
}

impl<R> Clone for Numbered<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Numbered<'_, R> {}

impl<'a, R: LabRow> Numbered<'a, R> {
    pub(super) fn case(&self) -> &'a R::Case {
        &self.row.row().case
    }

    pub(super) fn target(&self) -> &'a str {
        &self.row.row().target
    }

    pub(super) fn facts(&self) -> Facts<'a> {
        Facts::of(self.number, self.row.row())
    }
}

/// All rows, numbered from 1.
pub(super) fn numbered<R>(rows: &[R]) -> Vec<Numbered<'_, R>> {
    let numbered = |(index, row)| Numbered {
        number: index + 1,
        row,
    };
    rows.iter().enumerate().map(numbered).collect()
}

/// The text of each row's value; where a row has none, that it was not seen.
pub(super) fn cells<'a, R, T>(
    rows: &[Numbered<'a, R>],
    value: impl Fn(&'a R) -> Option<T>,
    text: impl Fn(T) -> String,
) -> Vec<String> {
    let cells = rows.iter();
    cells
        .map(|row| format::or_not_seen(value(row.row), &text))
        .collect()
}

/// Rows of which some are drawn.
pub(super) struct Rows<'a, R> {
    all: Vec<Numbered<'a, R>>,
    /// Numbers of those drawn so far.
    shown: BTreeSet<usize>,
    extent: Extent,
}

impl<'a, R: LabRow> Rows<'a, R> {
    pub(super) fn of(rows: &'a [R], extent: Extent) -> Self {
        Self {
            all: numbered(rows),
            shown: BTreeSet::new(),
            extent,
        }
    }

    pub(super) fn all(&self) -> &[Numbered<'a, R>] {
        &self.all
    }

    /// Those that have a property, in their order.
    pub(super) fn which(&self, wanted: impl Fn(&Numbered<'a, R>) -> bool) -> Vec<Numbered<'a, R>> {
        let rows = self.all.iter().copied();
        rows.filter(|row| wanted(row)).collect()
    }

    /// Names of the targets that have rows: the host first, then in their order.
    pub(super) fn targets(&self) -> Vec<&'a str> {
        let mut names = distinct(self.all.iter().map(Numbered::target));
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

    /// Notes that rows were drawn.
    pub(super) fn show(&mut self, rows: &[Numbered<'_, R>]) {
        self.shown.extend(rows.iter().map(|row| row.number));
    }

    /// Those drawn so far.
    pub(super) fn shown(&self) -> Vec<Numbered<'a, R>> {
        self.which(|row| self.shown.contains(&row.number))
    }

    /// How many are not drawn.
    pub(super) fn hidden(&self) -> usize {
        self.all.len() - self.shown.len()
    }

    /// What every one has, drawn or not.
    pub(super) fn facts(&self) -> Vec<Facts<'a>> {
        self.all.iter().map(Numbered::facts).collect()
    }
}
