//! Text in which Markdown and HTML have no effect.

use std::fmt::Write as _;
use std::ops::Range;

use crate::format::{join, printable};
use crate::view::table::{Column, Kind};

/// Foreign text as code: names and paths may contain table bars, markup, links, or the `@name` and
/// `#1` that a forge turns into notifications. Forges leave the contents of `<code>` unchanged, and
/// a character reference is never markup (`CommonMark` 0.31, 2.5).
pub(super) fn code(foreign: &str) -> String {
    let safe = printable(foreign);
    let mut text = String::from("<code>");
    for char in safe.chars() {
        let is_plain = char.is_ascii_alphanumeric() || matches!(char, ' ' | '/' | ',' | '-');
        if is_plain || !char.is_ascii() {
            text.push(char);
        } else {
            // Writing to a string cannot fail.
            _ = write!(text, "&#{};", u32::from(char));
        }
    }
    text + "</code>"
}

/// A sentence that may contain a foreign name: a word that a forge could act on becomes code.
pub(super) fn prose(text: &str) -> String {
    let words = text.split(' ').enumerate().map(|(position, word)| {
        if is_plain(word) && (position > 0 || !begins_list(word)) {
            word.to_owned()
        } else {
            code(word)
        }
    });
    // Two words of code are joined.
    join(words, " ").replace("</code> <code>", " ")
}

/// Whether no part of a word is markup, a notification or a link.
fn is_plain(word: &str) -> bool {
    let is_plain =
        |char: char| char.is_alphanumeric() || "\u{a0}.,:;()%/×·→—–█▒░?'\"+-=…".contains(char);
    let is_link = word.contains("://") || word.to_ascii_lowercase().contains("www.");
    (word.chars().all(is_plain) && !is_link) || is_interval(word) || ["<", ">"].contains(&word)
}

/// `[1.5-3]`, or an end of `[-1 to 3].`: not a link, since it contains only figures and no link
/// target follows.
fn is_interval(word: &str) -> bool {
    let is_figures = word
        .chars()
        .all(|char| char.is_ascii_digit() || "[].,;:-)".contains(char));
    is_figures && !word.contains("][")
}

/// Whether a line starting with this word is a list, a rule or a heading (`CommonMark` 0.31, 4 and
/// 5).
fn begins_list(word: &str) -> bool {
    let is_marks = word.starts_with('[') || word.chars().all(|char| "-+=>".contains(char));
    let is_number = word.strip_suffix(['.', ')']).is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    !word.is_empty() && (is_marks || is_number)
}

/// A table. Labels and paths are foreign text; all other cells are sentences.
pub(super) fn table(columns: &[Column]) -> String {
    let rows = columns.first().map_or(0, |column| column.cells.len());
    table_rows(columns, 0..rows)
}

/// The same of some of its rows.
pub(super) fn table_rows(columns: &[Column], rows: Range<usize>) -> String {
    let heads: Vec<String> = columns.iter().map(|column| prose(&column.head)).collect();
    let cells = rows.map(|row| columns.iter().map(|column| cell(column, row)).collect());
    aligned(&heads, cells, |position| columns[position].is_number())
}

fn cell(column: &Column, row: usize) -> String {
    let text = column.cells[row].as_str();
    match column.kind {
        Kind::Label | Kind::Path => code(text),
        Kind::RowNumber | Kind::Text | Kind::Number => prose(text),
    }
}

/// A table whose cells are Markdown.
pub(super) fn table_of<const N: usize>(
    heads: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    aligned(
        &heads.map(str::to_owned),
        rows.into_iter().map(Vec::from),
        |_| false,
    )
}

fn aligned(
    heads: &[String],
    rows: impl Iterator<Item = Vec<String>>,
    is_number: impl Fn(usize) -> bool,
) -> String {
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let rule = |position| if is_number(position) { "--:" } else { ":--" }.to_owned();
    let rules: Vec<String> = (0..heads.len()).map(rule).collect();
    let lines = [line(heads), line(&rules)].into_iter();
    join(lines.chain(rows.map(|cells| line(&cells))), "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_acts() {
        assert_eq!(
            code("a|b`c<d>@me #1\n**x** [l](http://w.x)_&"),
            "<code>a&#124;b&#96;c&#60;d&#62;&#64;me &#35;1&#92;n&#42;&#42;x&#42;&#42; \
             &#91;l&#93;&#40;http&#58;//w&#46;x&#41;&#95;&#38;</code>"
        );
        assert_eq!(
            prose(
                "1. wrote 3.0 KiB to a_b|c, 5 % of `x` - see www.w.x\n [1.5-3]: [a](b) [1](2) [1][2]"
            ),
            "<code>1&#46;</code> wrote 3.0 KiB to <code>a&#95;b&#124;c,</code> 5 % of \
             <code>&#96;x&#96;</code> - see <code>www&#46;w&#46;x&#92;n</code> \
             [1.5-3]: <code>&#91;a&#93;&#40;b&#41; &#91;1&#93;&#40;2&#41; &#91;1&#93;&#91;2&#93;</code>"
        );
        assert_eq!(code("é\u{202e}"), "<code>é&#92;u&#123;202e&#125;</code>");
    }
}
