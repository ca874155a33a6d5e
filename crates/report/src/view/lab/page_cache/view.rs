//! The rows of the result, numbered, and those that are drawn.

use iostrata_core::bytes::exact;
use iostrata_core::page_cache::{PageCacheResult, PageCacheRow, Parse};

use crate::format::or_not_seen;
use crate::view::lab::Extent;
use crate::view::lab::facts::{Facts, Unshown, distinct};

/// A row with the number by which answers cite it.
#[derive(Clone, Copy)]
pub(super) struct Numbered<'a> {
    pub(super) number: usize,
    pub(super) row: &'a PageCacheRow,
}

impl<'a> Numbered<'a> {
    pub(super) fn facts(&self) -> Facts<'a> {
        Facts::of(self.number, &self.row.row)
    }

    pub(super) fn target(&self) -> &'a str {
        &self.row.row.target
    }

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
        let numbered = result.rows.iter().enumerate().map(|(index, row)| Numbered {
            number: index + 1,
            row,
        });
        let rows: Vec<Numbered<'a>> = numbered.collect();
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

/// The column of a figure; where a row has none, that it was not seen.
pub(super) fn cells<'a, T>(
    rows: &[Numbered<'a>],
    pick: impl Fn(&'a PageCacheRow) -> Option<T>,
    text: impl Fn(T) -> String,
) -> Vec<String> {
    rows.iter()
        .map(|row| or_not_seen(pick(row.row), &text))
        .collect()
}
