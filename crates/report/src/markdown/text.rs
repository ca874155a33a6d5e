//! Text that Markdown and HTML must not act on.

use std::fmt::Write as _;

use crate::format::printable;

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

/// A table: heads, with whether their columns hold numbers, and rows of cells that are safe.
pub(super) fn table(heads: &[(&str, bool)], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(heads.iter().map(|(head, _)| (*head).to_owned()).collect());
    let rule = |number: &bool| if *number { "--:" } else { ":--" }.to_owned();
    text += &line(heads.iter().map(|(_, number)| rule(number)).collect());
    for row in rows {
        text += &line(row);
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
