//! Which rows are drawn, and what had to be left out.

use std::collections::BTreeSet;

use iostrata_core::bytes;
use iostrata_core::sync::{Case, SyncResult, SyncRow};

use crate::format;
use crate::view::lab::Extent;
use crate::view::lab::facts::{Facts, Unshown, distinct};
use crate::view::table::Column;

/// Name of the target that is the measured directory's own file system.
const HOST: &str = "host";

/// A row with the number by which answers cite it.
#[derive(Clone, Copy)]
pub(super) struct Numbered<'a> {
    pub(super) number: usize,
    pub(super) row: &'a SyncRow,
}

/// The result as it is drawn.
pub(super) struct View<'a> {
    pub(super) result: &'a SyncResult,
    /// Whether every row is drawn.
    pub(super) extent: Extent,
    rows: Vec<Numbered<'a>>,
    /// Numbers of the rows drawn so far.
    shown: BTreeSet<usize>,
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

    /// `fsync append`, with the number of writers where there are several.
    pub(super) fn name(&self) -> String {
        let Case {
            call,
            write,
            writers,
            ..
        } = self.case();
        let several = match writers {
            1 => String::new(),
            _ => format!(" × {writers}"),
        };
        format!("{} {}{several}", call.as_str(), write.as_str())
    }
}

impl<'a> View<'a> {
    pub(super) fn of(result: &'a SyncResult, extent: Extent) -> Self {
        let numbered = |(index, row)| Numbered {
            number: index + 1,
            row,
        };
        Self {
            result,
            extent,
            rows: result.rows.iter().enumerate().map(numbered).collect(),
            shown: BTreeSet::new(),
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

    /// Sizes of writes, in the order of the rows.
    pub(super) fn sizes(&self) -> Vec<u64> {
        distinct(self.rows.iter().map(|row| row.case().size_bytes))
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
}

/// `1 KiB a write`.
pub(super) fn title(size_bytes: u64) -> String {
    format!("{} a write", bytes::exact(size_bytes))
}

/// A column of figures; what was not seen is said to be so.
pub(super) fn figures(
    head: &str,
    rows: &[Numbered<'_>],
    value: impl Fn(&SyncRow) -> Option<f64>,
    text: impl Fn(f64) -> String,
) -> Column {
    let cells = rows
        .iter()
        .map(|row| format::or_not_seen(value(row.row), &text));
    Column::number(head, cells)
}
