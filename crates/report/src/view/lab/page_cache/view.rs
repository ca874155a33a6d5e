//! The rows of the result, numbered, and those that are drawn.

use iostrata_core::bytes::exact;
use iostrata_core::page_cache::{PageCacheResult, PageCacheRow, Parse};

use crate::view::lab::Extent;
use crate::view::lab::facts::{Unshown, distinct};
use crate::view::lab::numbered;

pub(super) use crate::view::lab::numbered::cells;

pub(super) type Numbered<'a> = numbered::Numbered<'a, PageCacheRow>;

impl Numbered<'_> {
    /// `cold read`, `warm read, json`.
    pub(super) fn label(&self) -> String {
        let case = self.row.row.case;
        let (state, reader) = (case.state.as_str(), case.reader.as_str());
        match case.parse {
            Parse::None => format!("{state} {reader}"),
            parse => format!("{state} {reader}, {}", parse.as_str()),
        }
    }

    pub(super) fn size(&self) -> String {
        exact(self.row.row.case.size_bytes)
    }
}

/// What is drawn of a result.
pub(super) struct View<'a> {
    pub(super) result: &'a PageCacheResult,
    rows: Vec<Numbered<'a>>,
    /// File systems whose rows are drawn.
    targets: Vec<&'a str>,
    pub(super) unshown: Unshown,
}

impl<'a> View<'a> {
    /// All file systems, or the first one.
    pub(super) fn of(result: &'a PageCacheResult, extent: Extent) -> Self {
        let rows = numbered::numbered(&result.rows);
        let mut targets = distinct(rows.iter().map(Numbered::target));
        if !extent.all_rows() {
            targets.truncate(1);
        }
        Self {
            result,
            rows,
            targets,
            unshown: Unshown::default(),
        }
    }

    pub(super) fn all(&self) -> &[Numbered<'a>] {
        &self.rows
    }

    pub(super) fn targets(&self) -> Vec<&'a str> {
        self.targets.clone()
    }

    /// Rows of the file systems that are drawn.
    pub(super) fn shown(&self) -> Vec<Numbered<'a>> {
        let is_shown = |row: &&Numbered<'a>| self.targets.contains(&row.target());
        self.rows.iter().filter(is_shown).copied().collect()
    }
}
