//! Tables without lines: text columns shrink if the page is narrow. Existing libraries wrap or cut
//! wide text, but have no titles and no paths on separate lines.

use std::borrow::Cow;

use textwrap::core::{Word, display_width};
use textwrap::{Options, WordSeparator, WordSplitter};

use super::text::Text;
use crate::view::page::Tone;
use crate::view::table::{Column, Kind, NARROWEST, Table};

pub(super) fn draw(text: &mut Text, table: &Table) {
    let widths = fit(table, text.width);
    let heads: Vec<&str> = table
        .columns
        .iter()
        .map(|column| column.head.as_str())
        .collect();
    line(text, table, &heads, &widths, Some(Tone::Strong));
    for row in 0..table.rows() {
        for title in table.titles.get(&row).into_iter().flatten() {
            text.paragraph(table.indent, title);
        }
        let mut cells = cells(table, row);
        paths_apart(text, table, &mut cells, &widths);
        line(text, table, &cells, &widths, None);
    }
}

fn cells(table: &Table, row: usize) -> Vec<&str> {
    let columns = table.columns.iter().enumerate();
    let cells = columns.map(|(index, column)| {
        if table.is_repeated(index, row) {
            ""
        } else {
            column.cells[row].as_str()
        }
    });
    cells.collect()
}

/// Widths that fit the page, as far as text columns can shrink: the widest first, and within words
/// only if nothing else is left.
fn fit(table: &Table, width: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = table.columns.iter().map(Column::width).collect();
    for floor in [Column::longest_word, |_: &Column| NARROWEST] {
        while table.total(&widths) > width {
            let texts = table.columns.iter().zip(&mut widths);
            let widest = texts
                .filter(|(column, width)| !column.is_number() && **width > floor(column))
                .max_by_key(|(_, width)| **width);
            match widest {
                Some((_, widest)) => *widest -= 1,
                None => break,
            }
        }
    }
    widths
}

/// Writes paths wider than their column on separate lines, and leaves their cells empty.
fn paths_apart(text: &mut Text, table: &Table, cells: &mut [&str], widths: &[usize]) {
    for ((column, cell), width) in table.columns.iter().zip(cells).zip(widths) {
        if column.kind == Kind::Path && display_width(cell) > *width {
            let indent = " ".repeat(table.indent);
            for line in path_lines(cell, text.width - table.indent) {
                text.line(&format!("{indent}{line}"));
            }
            *cell = "";
        }
    }
}

fn line(text: &mut Text, table: &Table, cells: &[&str], widths: &[usize], tone: Option<Tone>) {
    let wrapped: Vec<Vec<String>> = table
        .columns
        .iter()
        .zip(cells.iter().zip(widths))
        .map(|(column, (cell, width))| lines(column, cell, *width))
        .collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
    for number in 0..height {
        let mut line = " ".repeat(table.indent);
        let mut spaces = 0;
        for (column, (lines, width)) in table.columns.iter().zip(wrapped.iter().zip(widths)) {
            let cell = lines.get(number).map_or("", String::as_str);
            let free = width.saturating_sub(display_width(cell));
            let (before, after) = if column.is_number() {
                (free, 0)
            } else {
                (0, free)
            };
            if cell.is_empty() {
                spaces += width + column.gap;
                continue;
            }
            line.push_str(&" ".repeat(spaces + before));
            line.push_str(&text.paint(cell, tone.unwrap_or(usual(column.kind))));
            spaces = after + column.gap;
        }
        text.line(&line);
    }
}

fn usual(kind: Kind) -> Tone {
    match kind {
        Kind::RowNumber => Tone::Quiet,
        Kind::Label | Kind::Path | Kind::Text | Kind::Number => Tone::Plain,
    }
}

fn lines(column: &Column, cell: &str, width: usize) -> Vec<String> {
    if column.is_number() {
        return vec![cell.to_owned()];
    }
    // Names have hyphens, and are copied.
    textwrap::wrap(
        cell,
        Options::new(width).word_splitter(WordSplitter::NoHyphenation),
    )
    .into_iter()
    .map(Cow::into_owned)
    .collect()
}

/// A path in lines of at most `width`, broken after slashes if possible.
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
    use crate::terminal::text_of;
    use crate::view::page::Page;
    use crate::view::table::{Cell, LeftOut};

    fn cells(texts: &[&str]) -> Vec<Cell> {
        let cell = |text: &&str| Cell::seen((*text != "n/a").then_some(*text), str::to_owned);
        texts.iter().map(cell).collect()
    }

    fn table() -> Table {
        Table::new(
            2,
            vec![
                Column::row_numbers([9, 10]),
                Column::text("what", cells(&["a", "sixteen letters, wide 漢"])),
                Column::number("first B", cells(&["1", "1,024"])).rank(2),
                Column::number("last", cells(&["n/a", "n/a"])),
                Column::number("of all", cells(&["7", "n/a"])).rank(1),
            ],
        )
    }

    fn drawn(table: Table, width: usize) -> (String, LeftOut) {
        let mut page = Page::new(width);
        let left_out = table.draw(&mut page);
        (text_of(&page, false), left_out)
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
            Column::number("B", cells(&["n/a"])),
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

    #[test]
    fn what_rows_share_is_said_once() {
        let columns = vec![
            Column::label("row", cells(&["1", "1", "2", "2"])).once(),
            Column::label("state", cells(&["a", "a", "a", "b"])).once(),
            Column::number("B", cells(&["7", "7", "7", "7"])),
        ];
        insta::assert_snapshot!(drawn(Table::new(0, columns), 40).0, @r"
        row  state  B
        1    a      7
                    7
        2    a      7
             b      7
        ");
    }
}
