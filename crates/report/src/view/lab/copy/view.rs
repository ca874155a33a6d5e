//! Which rows are drawn, and how they are called.

use iostrata_core::bytes;
use iostrata_core::copy::{CopyResult, CopyRow, Destination, Method, Source};

use crate::view::lab::Extent;
use crate::view::lab::facts::{Facts, Unshown, distinct};
use crate::view::lab::numbered::{self, HOST};

pub(super) use crate::view::lab::numbered::cells;

/// Rows of a further file system that are few enough to be drawn with the host's.
const FEW_ROWS: usize = 8;

pub(super) type Numbered<'a> = numbered::Numbered<'a, CopyRow>;

/// Rows that stand in one table.
pub(super) struct Group<'a> {
    pub(super) title: String,
    pub(super) rows: Vec<Numbered<'a>>,
}

/// The result as it is drawn.
pub(super) struct View<'a> {
    pub(super) extent: Extent,
    several: bool,
    rows: Vec<Numbered<'a>>,
    /// What the tables left out.
    pub(super) unshown: Unshown,
}

impl<'a> Numbered<'a> {
    /// `read_write 64 KiB`, `read_write whole file`, `sendfile`.
    pub(super) fn name(&self) -> String {
        let case = self.case();
        let method = case.method.as_str();
        match case.buffer_bytes {
            Some(_) if case.has_whole_buffer() => format!("{method} whole file"),
            Some(size) => format!("{method} {}", bytes::exact(size)),
            None => method.to_owned(),
        }
    }

    fn group(&self) -> (&'a str, u64, Source, bool) {
        let case = self.case();
        (self.target(), case.size_bytes, case.source, case.durable)
    }
}

impl<'a> View<'a> {
    pub(super) fn of(result: &'a CopyResult, extent: Extent) -> Self {
        let rows = numbered::numbered(&result.rows);
        Self {
            extent,
            several: distinct(rows.iter().map(Numbered::target)).len() > 1,
            rows,
            unshown: Unshown::default(),
        }
    }

    /// What every row has, shown or not.
    pub(super) fn facts(&self) -> Vec<Facts<'a>> {
        self.rows.iter().map(Numbered::facts).collect()
    }

    /// Rows that are drawn: all of the first target, the host where it is there. Of further
    /// targets with many rows only those that tell whether blocks are shared.
    pub(super) fn shown(&self) -> Vec<Numbered<'a>> {
        let first = self.first();
        let rows = self.rows.iter().copied();
        rows.filter(|row| {
            let of_target = self
                .rows
                .iter()
                .filter(|other| other.target() == row.target());
            let sharing = matches!(
                row.case().method,
                Method::Reflink | Method::CopyFileRange | Method::Cp
            );
            self.extent.all_rows()
                || Some(row.target()) == first
                || of_target.count() <= FEW_ROWS
                || sharing
        })
        .collect()
    }

    fn first(&self) -> Option<&'a str> {
        let mut names = self.rows.iter().map(Numbered::target);
        names.clone().find(|name| *name == HOST).or(names.next())
    }

    /// Rows not drawn.
    pub(super) fn hidden(&self) -> usize {
        self.rows.len() - self.shown().len()
    }

    /// The rows that are drawn, by file system, size and state.
    pub(super) fn groups(&self) -> Vec<Group<'a>> {
        let shown = self.shown();
        distinct(shown.iter().map(Numbered::group))
            .into_iter()
            .map(|group| {
                let rows = shown.iter().copied();
                let rows: Vec<_> = rows.filter(|row| row.group() == group).collect();
                Group {
                    title: self.title(&rows),
                    rows,
                }
            })
            .collect()
    }

    /// `100 MiB, warm source, to the page cache`.
    fn title(&self, rows: &[Numbered<'a>]) -> String {
        let Some(row) = rows.first() else {
            return String::new();
        };
        let case = row.case();
        let place = if self.several {
            format!("on {}: ", row.target())
        } else {
            String::new()
        };
        let end = match (case.durable, case.destination) {
            (false, Destination::Fresh) => "to the page cache",
            (false, Destination::Existing) => "over an existing file, to the page cache",
            (true, Destination::Fresh) => "durable",
            (true, Destination::Existing) => "over an existing file, durable",
        };
        format!(
            "{place}{}, {} source, {end}",
            bytes::exact(case.size_bytes),
            case.source.as_str()
        )
    }
}
