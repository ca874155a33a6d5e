//! Tables without lines: empty columns and columns without room are left out, titles separate rows,
//! and text columns wrap. Existing libraries wrap or cut wide text, but drop no column and have no
//! titles.

use std::collections::BTreeMap;
use std::fmt;

use textwrap::core::display_width;

use super::page::Page;
use crate::format::printable;

const GAP: usize = 2;

/// Minimum width of text columns.
pub(crate) const NARROWEST: usize = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The numbers by which rows are cited.
    RowNumber,
    Label,
    /// As a label; text wider than the column is on separate lines.
    Path,
    /// Text that wraps.
    Text,
    /// Right-aligned; never wraps.
    Number,
}

/// The content of a cell: a text, or the reason for its absence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cell {
    /// Text of a value, safe to be drawn.
    Is(String),
    /// The value is unavailable.
    NotSeen,
    /// A value would be meaningless.
    NotApplicable,
}

impl Cell {
    /// The text of a value, or that it was not measured.
    pub(crate) fn seen<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> Self {
        value.map_or(Self::NotSeen, |value| text(value).into())
    }

    /// The text of a value, or that a value would be meaningless.
    pub(crate) fn applicable<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> Self {
        value.map_or(Self::NotApplicable, |value| text(value).into())
    }

    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Is(text) => text,
            Self::NotSeen => "n/a",
            Self::NotApplicable => "—",
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Is(printable(&text))
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Is(printable(text))
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) head: String,
    pub(crate) cells: Vec<Cell>,
    pub(crate) kind: Kind,
    /// Whether a value shared by consecutive rows is shown only in the first of them.
    once: bool,
    /// Spaces after it.
    pub(crate) gap: usize,
    /// Columns with a higher rank are dropped first; 0 stays.
    rank: u8,
    /// Maximum width of the column, even if there is room.
    most: usize,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// Every value is missing.
    pub(crate) unseen: Vec<String>,
    /// The page is too narrow.
    pub(crate) no_room: Vec<String>,
}

impl Column {
    pub(crate) fn new(
        head: &str,
        kind: Kind,
        cells: impl IntoIterator<Item = impl Into<Cell>>,
    ) -> Self {
        Self {
            head: printable(head),
            cells: cells.into_iter().map(Into::into).collect(),
            kind,
            once: false,
            gap: GAP,
            rank: 0,
            most: usize::MAX,
        }
    }

    /// Paths: those longer than this many columns are on separate lines, before the rest of their
    /// row.
    pub(crate) fn paths(
        head: &str,
        most: usize,
        cells: impl IntoIterator<Item = impl Into<Cell>>,
    ) -> Self {
        let mut column = Self::new(head, Kind::Path, cells);
        column.most = most;
        column
    }

    /// Left-aligned; wraps when there is no room.
    pub(crate) fn text(head: &str, cells: impl IntoIterator<Item = impl Into<Cell>>) -> Self {
        Self::new(head, Kind::Text, cells)
    }

    /// Left-aligned text that labels a row.
    pub(crate) fn label(head: &str, cells: impl IntoIterator<Item = impl Into<Cell>>) -> Self {
        Self::new(head, Kind::Label, cells)
    }

    pub(crate) fn number(head: &str, cells: impl IntoIterator<Item = impl Into<Cell>>) -> Self {
        Self::new(head, Kind::Number, cells)
    }

    pub(crate) fn row_numbers(numbers: impl IntoIterator<Item = usize>) -> Self {
        let cells = numbers.into_iter().map(|number| number.to_string());
        let mut column = Self::new("", Kind::RowNumber, cells);
        column.gap = 1;
        column
    }

    /// Dropped when the page is narrow; higher ranks are dropped first.
    pub(crate) fn rank(mut self, rank: u8) -> Self {
        self.rank = rank;
        self
    }

    /// A value shared by consecutive rows is printed once, in a medium without sorting.
    pub(crate) fn once(mut self) -> Self {
        self.once = true;
        self
    }

    pub(crate) fn is_number(&self) -> bool {
        matches!(self.kind, Kind::RowNumber | Kind::Number)
    }

    fn is_label(&self) -> bool {
        matches!(self.kind, Kind::RowNumber | Kind::Label | Kind::Path)
    }

    pub(crate) fn width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| display_width(cell.as_str()));
        let widest = cells.chain([display_width(&self.head)]).max().unwrap_or(0);
        widest.min(self.most)
    }

    pub(crate) fn longest_word(&self) -> usize {
        let words = self
            .cells
            .iter()
            .map(Cell::as_str)
            .chain([self.head.as_str()])
            .flat_map(|cell| cell.split(' '));
        let longest = words.map(display_width).max().unwrap_or(0);
        longest.min(self.most).max(NARROWEST)
    }

    /// Whether any cell has a value, or is missing with a reason.
    pub(crate) fn has_meaning(&self) -> bool {
        self.cells.iter().any(|cell| *cell != Cell::NotApplicable)
    }

    fn is_unseen(&self) -> bool {
        !self.cells.is_empty() && self.cells.iter().all(|cell| *cell == Cell::NotSeen)
    }
}

/// Columns under construction, each by what it shows of every row.
pub(crate) struct Rows<'r, R> {
    rows: &'r [R],
    columns: Vec<Column>,
}

impl<'r, R> Rows<'r, R> {
    pub(crate) fn of(rows: &'r [R]) -> Self {
        let columns = Vec::new();
        Self { rows, columns }
    }

    /// As [`Column::label`].
    pub(crate) fn label<C: Into<Cell>>(self, head: &str, cell: impl Fn(&'r R) -> C) -> Self {
        let column = Column::label(head, self.rows.iter().map(cell));
        self.and([column])
    }

    /// As [`Column::text`].
    pub(crate) fn text<C: Into<Cell>>(self, head: &str, cell: impl Fn(&'r R) -> C) -> Self {
        let column = Column::text(head, self.rows.iter().map(cell));
        self.and([column])
    }

    /// As [`Column::number`].
    pub(crate) fn number<C: Into<Cell>>(self, head: &str, cell: impl Fn(&'r R) -> C) -> Self {
        let column = Column::number(head, self.rows.iter().map(cell));
        self.and([column])
    }

    /// Columns that were made otherwise.
    pub(crate) fn and(mut self, columns: impl IntoIterator<Item = Column>) -> Self {
        self.columns.extend(columns);
        self
    }

    /// The rank of the last column.
    pub(crate) fn rank(mut self, rank: u8) -> Self {
        let last = self.columns.pop().map(|last| last.rank(rank));
        self.and(last)
    }

    pub(crate) fn columns(self) -> Vec<Column> {
        self.columns
    }

    pub(crate) fn table(self, indent: usize) -> Table {
        Table::new(indent, self.columns)
    }
}

/// Columns of equal length, with titles between their rows.
#[derive(Debug)]
pub(crate) struct Table {
    /// Its subject; may be empty.
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
    /// Text by the row before which it stands.
    pub(crate) titles: BTreeMap<usize, Vec<String>>,
    /// From when to when each row was, seconds since the start of the run; empty where rows are not
    /// of a time. Media that can choose a time use it.
    pub(crate) spans: Vec<Option<(f64, f64)>>,
    pub(crate) indent: usize,
}

impl Table {
    pub(crate) fn new(indent: usize, columns: Vec<Column>) -> Self {
        Self {
            name: String::new(),
            columns,
            titles: BTreeMap::new(),
            spans: Vec::new(),
            indent,
        }
    }

    /// A separate line before row `row`.
    pub(crate) fn title(&mut self, row: usize, text: String) {
        self.titles.entry(row).or_default().push(text);
    }

    pub(crate) fn heads(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.head.as_str())
    }

    /// The rows of another table with the same columns, below its own.
    pub(crate) fn append(&mut self, other: Self) {
        for (column, below) in self.columns.iter_mut().zip(other.columns) {
            column.cells.extend(below.cells);
        }
    }

    /// Whether there is more than labels to draw.
    pub(crate) fn has_values(&self) -> bool {
        self.columns
            .iter()
            .any(|column| !column.is_label() && !column.is_unseen())
    }

    pub(crate) fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    pub(crate) fn during(mut self, spans: impl IntoIterator<Item = Option<(f64, f64)>>) -> Self {
        self.spans = spans.into_iter().collect();
        self
    }

    /// Adds the table to the page, unless it has no values.
    pub(crate) fn draw(mut self, page: &mut Page) -> LeftOut {
        let has_values = self.has_values();
        let left_out = self.leave_out(page.width());
        if has_values {
            page.table(self);
        }
        left_out
    }

    fn leave_out(&mut self, width: usize) -> LeftOut {
        let mut left_out = LeftOut::default();
        self.columns.retain(|column| {
            if column.is_unseen() {
                left_out.unseen.push(column.head.clone());
            }
            !column.is_unseen()
        });
        while self.natural_width() > width {
            let ranks = self.columns.iter().map(|column| column.rank);
            let Some(rank) = ranks.max().filter(|rank| *rank > 0) else {
                break;
            };
            self.columns.retain(|column| {
                if column.rank == rank {
                    left_out.no_room.push(column.head.clone());
                }
                column.rank != rank
            });
        }
        left_out
    }

    /// Whether all columns that have values fit a page.
    pub(crate) fn fits(&self, width: usize) -> bool {
        let seen = self.columns.iter().filter(|column| !column.is_unseen());
        let widths = seen.map(|column| column.width() + column.gap);
        self.indent + widths.sum::<usize>() <= width + GAP
    }

    fn natural_width(&self) -> usize {
        let widths: Vec<usize> = self.columns.iter().map(Column::width).collect();
        self.total(&widths)
    }

    /// Columns that rows take if their columns have these widths.
    pub(crate) fn total(&self, widths: &[usize]) -> usize {
        let gaps = self.columns.iter().rev().skip(1).map(|column| column.gap);
        self.indent + widths.iter().sum::<usize>() + gaps.sum::<usize>()
    }

    pub(crate) fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// Whether the cell repeats the one above it and is left out: then the same holds for all cells
    /// before it that are shown once.
    pub(crate) fn is_repeated(&self, column: usize, row: usize) -> bool {
        let said_once = self.columns[..=column].iter().filter(|column| column.once);
        self.columns[column].once
            && row > 0
            && said_once
                .map(|column| &column.cells)
                .all(|cells| cells[row] == cells[row - 1])
    }
}
