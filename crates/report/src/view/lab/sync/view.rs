//! Which rows are drawn, and what had to be left out.

use iostrata_core::bytes;
use iostrata_core::sync::{Case, SyncResult, SyncRow};

use crate::view::lab::Extent;
use crate::view::lab::facts::{Unshown, distinct};
use crate::view::lab::numbered::{self, Rows, cells};
use crate::view::table::Column;

pub(super) type Numbered<'a> = numbered::Numbered<'a, SyncRow>;

/// The result as it is drawn.
pub(super) struct View<'a> {
    pub(super) result: &'a SyncResult,
    /// Whether every row is drawn.
    pub(super) extent: Extent,
    pub(super) rows: Rows<'a, SyncRow>,
    /// What the tables left out.
    pub(super) unshown: Unshown,
}

impl Numbered<'_> {
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
        Self {
            result,
            extent,
            rows: Rows::of(&result.rows, extent),
            unshown: Unshown::default(),
        }
    }

    /// Sizes of writes, in the order of the rows.
    pub(super) fn sizes(&self) -> Vec<u64> {
        distinct(self.rows.all().iter().map(|row| row.case().size_bytes))
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
    Column::number(head, cells(rows, value, text))
}
