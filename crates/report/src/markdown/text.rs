//! Text in which Markdown and HTML have no effect.

use std::fmt::Write as _;

use crate::format::printable;
use crate::view::table::{Column, Kind};

/// Foreign text as code: names and paths may hold table bars, markup, links, or the `@name` and
/// `#1` that a forge turns into messages. Forges leave the contents of `<code>` alone, and a
/// character reference is never markup (`CommonMark` 0.31, 2.5).
pub(super) fn code(foreign: &str) -> String {
    let safe = printable(foreign);
    let mut text = String::from("<code>");
    for char in safe.chars() {
        let is_plain = char.is_ascii_alphanumeric() || matches!(char, ' ' | '/' | ',' | '-');
        if is_plain || !char.is_ascii() {
            text.push(char);
        } else {
            // Writing to a string does not fail.
            _ = write!(text, "&#{};", u32::from(char));
        }
    }
    text + "</code>"
}

/// A table. Labels are foreign text; all other cells are made here and safe.
pub(super) fn table(columns: &[Column]) -> String {
    let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(columns.iter().map(|column| column.head.as_str()).collect());
    let rule = |column: &Column| if column.is_number() { "--:" } else { ":--" };
    text += &line(columns.iter().map(rule).collect());
    let rows = columns.first().map_or(0, |column| column.cells.len());
    for row in 0..rows {
        let cells = columns.iter().map(|column| match column.kind {
            Kind::Label => code(column.cells[row].as_str()),
            _ => column.cells[row].to_string(),
        });
        let cells: Vec<String> = cells.collect();
        text += &line(cells.iter().map(String::as_str).collect());
    }
    text
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
        assert_eq!(code("é\u{202e}"), "<code>é&#92;u&#123;202e&#125;</code>");
    }
}
