//! Tables without lines: columns that are left out when they have nothing to say
//! or no room, titles between rows, and text columns that wrap. Libraries wrap or
//! cut what is too wide, but leave no column out and set no titles.

use std::borrow::Cow;
use std::collections::BTreeMap;

use anstyle::Style;
use textwrap::core::{Word, display_width};
use textwrap::{Options, WordSeparator, WordSplitter};

use super::page::{BOLD, DIM, Page};
use crate::format::{NOT_SEEN, printable};

/// Spaces between columns.
const GAP: usize = 2;

/// Text columns are not made narrower.
const NARROWEST: usize = 6;

/// One column.
pub(crate) struct Column {
    head: String,
    cells: Vec<String>,
    /// Numbers stand right-aligned and never wrap.
    number: bool,
    /// Only says what a row is.
    label: bool,
    style: Style,
    /// Spaces after it.
    gap: usize,
    /// Columns with a higher rank are left out first; 0 stays.
    rank: u8,
    /// The column is at most this wide, also where there is room.
    most: usize,
    /// Text that is wider stands on lines of its own, broken behind slashes.
    is_path: bool,
}

/// Heads of columns that were not drawn.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// Every value is missing.
    pub(crate) unseen: Vec<String>,
    /// The page is too narrow.
    pub(crate) no_room: Vec<String>,
}

impl Column {
    fn new(head: &str, number: bool, cells: impl IntoIterator<Item = String>) -> Self {
        Self {
            head: printable(head),
            cells: cells.into_iter().map(|cell| printable(&cell)).collect(),
            number,
            label: false,
            style: Style::new(),
            gap: GAP,
            rank: 0,
            most: usize::MAX,
            is_path: false,
        }
    }

    /// Paths: those longer than so many columns stand on lines of their own, before the rest
    /// of their row.
    pub(crate) fn paths(head: &str, most: usize, cells: impl IntoIterator<Item = String>) -> Self {
        let mut column = Self::label(head, cells);
        column.most = most;
        column.is_path = true;
        column
    }

    /// Left-aligned; wraps when there is no room.
    pub(crate) fn text(head: &str, cells: impl IntoIterator<Item = String>) -> Self {
        Self::new(head, false, cells)
    }

    /// Left-aligned text that says what a row is.
    pub(crate) fn label(head: &str, cells: impl IntoIterator<Item = String>) -> Self {
        let mut column = Self::text(head, cells);
        column.label = true;
        column
    }

    /// Right-aligned.
    pub(crate) fn number(head: &str, cells: impl IntoIterator<Item = String>) -> Self {
        Self::new(head, true, cells)
    }

    /// The numbers by which rows are cited.
    pub(crate) fn row_numbers(numbers: impl IntoIterator<Item = usize>) -> Self {
        let mut column = Self::number("", numbers.into_iter().map(|number| number.to_string()));
        column.label = true;
        column.style = DIM;
        column.gap = 1;
        column
    }

    /// Gives way when the page is narrow; the higher the sooner.
    pub(crate) fn rank(mut self, rank: u8) -> Self {
        self.rank = rank;
        self
    }

    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| display_width(cell));
        let widest = cells.chain([display_width(&self.head)]).max().unwrap_or(0);
        widest.min(self.most)
    }

    fn longest_word(&self) -> usize {
        let words = self
            .cells
            .iter()
            .chain([&self.head])
            .flat_map(|cell| cell.split(' '));
        let longest = words.map(display_width).max().unwrap_or(0);
        longest.min(self.most).max(NARROWEST)
    }

    fn is_unseen(&self) -> bool {
        !self.cells.is_empty() && self.cells.iter().all(|cell| cell == NOT_SEEN)
    }
}

/// Columns of equal length, with titles between their rows.
pub(crate) struct Table {
    columns: Vec<Column>,
    /// Text by the row before which it stands.
    titles: BTreeMap<usize, Vec<String>>,
    indent: usize,
}

impl Table {
    pub(crate) fn new(indent: usize, columns: Vec<Column>) -> Self {
        Self {
            columns,
            titles: BTreeMap::new(),
            indent,
        }
    }

    /// A line of its own before row `row`.
    pub(crate) fn title(&mut self, row: usize, text: String) {
        self.titles.entry(row).or_default().push(text);
    }

    /// Whether there is more than labels to draw.
    pub(crate) fn has_values(&self) -> bool {
        self.columns
            .iter()
            .any(|column| !column.label && !column.is_unseen())
    }

    /// Adds the table to the page, unless it has no values.
    pub(crate) fn draw(mut self, page: &mut Page) -> LeftOut {
        let has_values = self.has_values();
        let left_out = self.leave_out(page.width());
        if !has_values {
            return left_out;
        }
        let widths = self.fit(page.width());
        let heads: Vec<&str> = self
            .columns
            .iter()
            .map(|column| column.head.as_str())
            .collect();
        self.row(page, &heads, &widths, Some(BOLD));
        let rows = self.columns.first().map_or(0, |column| column.cells.len());
        for row in 0..rows {
            for text in self.titles.get(&row).into_iter().flatten() {
                page.paragraph(self.indent, text);
            }
            let cells: Vec<&str> = self
                .columns
                .iter()
                .map(|column| column.cells[row].as_str())
                .collect();
            let cells = self.paths_apart(page, cells, &widths);
            self.row(page, &cells, &widths, None);
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

    fn total(&self, widths: &[usize]) -> usize {
        let gaps = self.columns.iter().rev().skip(1).map(|column| column.gap);
        self.indent + widths.iter().sum::<usize>() + gaps.sum::<usize>()
    }

    /// Widths that fit the page, as far as text columns can give way: the widest
    /// first, and within words only when nothing else is left.
    fn fit(&self, width: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(Column::width).collect();
        for floor in [Column::longest_word, |_: &Column| NARROWEST] {
            while self.total(&widths) > width {
                let texts = self.columns.iter().zip(&mut widths);
                let widest = texts
                    .filter(|(column, width)| !column.number && **width > floor(column))
                    .max_by_key(|(_, width)| **width);
                match widest {
                    Some((_, widest)) => *widest -= 1,
                    None => break,
                }
            }
        }
        widths
    }

    /// Writes paths that are wider than their column, and leaves their cells empty.
    fn paths_apart<'c>(
        &self,
        page: &mut Page,
        cells: Vec<&'c str>,
        widths: &[usize],
    ) -> Vec<&'c str> {
        let mut apart = cells;
        for ((column, cell), width) in self.columns.iter().zip(&mut apart).zip(widths) {
            if column.is_path && display_width(cell) > *width {
                let indent = " ".repeat(self.indent);
                for line in path_lines(cell, page.width() - self.indent) {
                    page.line(&format!("{indent}{line}"));
                }
                *cell = "";
            }
        }
        apart
    }

    fn row(&self, page: &mut Page, cells: &[&str], widths: &[usize], style: Option<Style>) {
        let wrapped: Vec<Vec<String>> = self
            .columns
            .iter()
            .zip(cells.iter().zip(widths))
            .map(|(column, (cell, width))| column.lines(cell, *width))
            .collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
        for number in 0..height {
            let mut line = " ".repeat(self.indent);
            let mut spaces = 0;
            for (column, (lines, width)) in self.columns.iter().zip(wrapped.iter().zip(widths)) {
                let text = lines.get(number).map_or("", String::as_str);
                let free = width.saturating_sub(display_width(text));
                let (before, after) = if column.number { (free, 0) } else { (0, free) };
                if text.is_empty() {
                    spaces += width + column.gap;
                    continue;
                }
                line.push_str(&" ".repeat(spaces + before));
                line.push_str(&page.paint(text, style.unwrap_or(column.style)));
                spaces = after + column.gap;
            }
            page.line(&line);
        }
    }
}

impl Column {
    fn lines(&self, cell: &str, width: usize) -> Vec<String> {
        if self.number {
            return vec![cell.to_owned()];
        }
        textwrap::wrap(cell, width)
            .into_iter()
            .map(Cow::into_owned)
            .collect()
    }
}

/// A path in lines of at most `width`, broken behind slashes where that is possible.
fn path_lines(path: &str, width: usize) -> Vec<Cow<'_, str>> {
    let mut options = Options::new(width);
    options.word_splitter = WordSplitter::NoHyphenation;
    options.word_separator =
        WordSeparator::Custom(|path| Box::new(path.split_inclusive('/').map(Word::from)));
    textwrap::wrap(path, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn table() -> Table {
        Table::new(
            2,
            vec![
                Column::row_numbers([9, 10]),
                Column::text("what", cells(&["a", "sixteen letters, wide 漢"])),
                Column::number("first B", cells(&["1", "1,024"])).rank(2),
                Column::number("last", cells(&[NOT_SEEN, NOT_SEEN])),
                Column::number("of all", cells(&["7", NOT_SEEN])).rank(1),
            ],
        )
    }

    fn drawn(table: Table, width: usize) -> (String, LeftOut) {
        let mut page = Page::new(width, false);
        let left_out = table.draw(&mut page);
        (page.finish(), left_out)
    }

    #[test]
    fn what_is_missing_everywhere_is_left_out() {
        let mut table = table();
        table.title(1, "a title".to_owned());
        let (text, left_out) = drawn(table, 80);
        insta::assert_snapshot!(text, @r"
           what                      first B  of all
         9 a                               1       7
        a title
        10 sixteen letters, wide 漢    1,024     n/a
        ");
        assert_eq!(left_out.unseen, ["last"]);
        assert!(left_out.no_room.is_empty());
    }

    #[test]
    fn labels_alone_are_no_table() {
        let columns = vec![
            Column::label("what", cells(&["a"])),
            Column::number("B", cells(&[NOT_SEEN])),
        ];
        let (text, left_out) = drawn(Table::new(0, columns), 80);
        assert_eq!(
            (text.as_str(), left_out.unseen.as_slice()),
            ("", &["B".to_owned()][..])
        );
    }

    #[test]
    fn ranked_columns_go_before_text_wraps() {
        let (text, left_out) = drawn(table(), 40);
        insta::assert_snapshot!(text, @r"
           what                      of all
         9 a                              7
        10 sixteen letters, wide 漢     n/a
        ");
        assert_eq!(left_out.no_room, ["first B"]);
    }

    #[test]
    fn text_wraps_where_nothing_else_gives_way() {
        let long = "a path that needs far more room than one line of this page has";
        let columns = vec![
            Column::text("path", cells(&[long])),
            Column::number("B", cells(&["1"])),
        ];
        insta::assert_snapshot!(drawn(Table::new(0, columns), 40).0, @r"
        path                                   B
        a path that needs far more room than   1
        one line of this page has
        ");
    }

    #[test]
    fn long_paths_stand_before_their_row() {
        let paths = ["a/b.db", "a/very/long/way-to/the/file-with-a-name.db"];
        let columns = vec![
            Column::paths("file", 8, cells(&paths)),
            Column::number("B", cells(&["1", "2"])),
        ];
        insta::assert_snapshot!(drawn(Table::new(2, columns), 40).0, @r"
          file      B
          a/b.db    1
          a/very/long/way-to/the/
          file-with-a-name.db
                    2
        ");
    }
}
