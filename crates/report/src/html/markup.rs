//! HTML under construction: the only place where text becomes markup.
//!
//! Names of elements and attributes are written in this program; everything else is escaped
//! here, so that no caller can forget it.

use crate::format::printable;

/// Attributes of an element. An empty value stands for one without a value.
pub(super) type Attributes<'a> = &'a [(&'static str, &'a str)];

#[derive(Debug, Default, Clone)]
pub(super) struct Markup {
    text: String,
}

impl Markup {
    pub(super) fn open(&mut self, element: &'static str, attributes: Attributes<'_>) {
        self.text.push('<');
        self.text.push_str(element);
        for (name, value) in attributes {
            self.text.push(' ');
            self.text.push_str(name);
            if !value.is_empty() {
                self.text.push_str("=\"");
                escape(value, &mut self.text);
                self.text.push('"');
            }
        }
        self.text.push('>');
    }

    pub(super) fn close(&mut self, element: &'static str) {
        self.text.push_str("</");
        self.text.push_str(element);
        self.text.push('>');
    }

    /// The same, and a line break of the source behind it.
    pub(super) fn end(&mut self, element: &'static str) {
        self.close(element);
        self.line();
    }

    /// An element with nothing but text in it.
    pub(super) fn element(
        &mut self,
        element: &'static str,
        attributes: Attributes<'_>,
        text: &str,
    ) {
        self.open(element, attributes);
        self.text(text);
        self.close(element);
    }

    pub(super) fn text(&mut self, text: &str) {
        escape(text, &mut self.text);
    }

    /// Sentences: what stands between two backticks is code.
    pub(super) fn prose(&mut self, text: &str) {
        let mut rest = text;
        while let Some((before, code, after)) = first_code(rest) {
            self.text(before);
            self.element("code", &[], code);
            rest = after;
        }
        self.text(rest);
    }

    /// A name, which lines are broken in behind its dots and underscores first. A figure behind
    /// it stays with its unit.
    pub(super) fn name(&mut self, name: &str) {
        let glued = match name.rsplit_once(' ') {
            Some((before, unit)) if before.ends_with(|char: char| char.is_ascii_digit()) => {
                format!("{before}\u{a0}{unit}")
            }
            _ => name.to_owned(),
        };
        self.broken(&glued);
    }

    fn broken(&mut self, name: &str) {
        for (position, piece) in name.split_inclusive(['.', '_']).enumerate() {
            if position > 0 {
                self.open("wbr", &[]);
            }
            self.text(piece);
        }
    }

    /// A path, which lines are broken in behind its slashes first.
    pub(super) fn path(&mut self, path: &str) {
        for (position, name) in path.split_inclusive('/').enumerate() {
            if position > 1 {
                self.open("wbr", &[]);
            }
            self.text(name);
        }
    }

    /// A line break of the source, which makes it easier to read.
    pub(super) fn line(&mut self) {
        self.text.push('\n');
    }

    /// Text of this program, as it is: a style sheet, a script, the document's first line.
    pub(super) fn verbatim(&mut self, text: &'static str) {
        self.text.push_str(text);
    }

    pub(super) fn append(&mut self, other: &Self) {
        self.text.push_str(&other.text);
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// Longer texts between backticks are no code.
const LONGEST_CODE: usize = 80;

/// The text before the first code, the code, and the text after it. A backtick that stands
/// inside a word belongs to a name and is left alone.
fn first_code(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(found) = text[from..].find('`') {
        let open = from + found;
        from = open + 1;
        let before = text[..open].chars().next_back();
        if before.is_some_and(|char| !" (\u{a0}".contains(char)) {
            continue;
        }
        let length = text[from..].find('`')?;
        let after = text[from + length + 1..].chars().next();
        let ends = after.is_none_or(|char| " ).,;:\u{a0}".contains(char));
        if ends && (1..=LONGEST_CODE).contains(&length) {
            let code = &text[from..from + length];
            return Some((&text[..open], code, &text[from + length + 1..]));
        }
    }
    None
}

/// Text as an element's content or an attribute's value, without what would be invisible.
fn escape(text: &str, into: &mut String) {
    for char in printable(text).chars() {
        match char {
            '&' => into.push_str("&amp;"),
            '<' => into.push_str("&lt;"),
            '>' => into.push_str("&gt;"),
            '"' => into.push_str("&quot;"),
            '\'' => into.push_str("&#39;"),
            other => into.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backticks_are_code_and_names_stay_whole() {
        let drawn = |text: &str| {
            let mut markup = Markup::default();
            markup.prose(text);
            markup.finish()
        };
        assert_eq!(
            drawn("run `iostrata explain <RULE>`, then (`sync`)"),
            "run <code>iostrata explain &lt;RULE&gt;</code>, then (<code>sync</code>)"
        );
        for name in ["/srv/a`b`c", "one ` alone", "``", "`a`b", "x`"] {
            assert_eq!(drawn(name), name);
        }
    }

    #[test]
    fn names_break_behind_their_dots() {
        let mut markup = Markup::default();
        markup.name("vm.dirty_bytes");
        markup.name("dirty_x 5 s");
        assert_eq!(
            markup.finish(),
            "vm.<wbr>dirty_<wbr>bytesdirty_<wbr>x 5\u{a0}s"
        );
    }

    #[test]
    fn text_stays_text() {
        let mut markup = Markup::default();
        markup.element(
            "p",
            &[("title", "\"><script>'"), ("hidden", "")],
            "a <b> & \u{202e}c\u{0}\n]]>--",
        );
        assert_eq!(
            markup.finish(),
            "<p title=\"&quot;&gt;&lt;script&gt;&#39;\" hidden>a &lt;b&gt; &amp; \
             \\u{202e}c\\u{0}\\n]]&gt;--</p>"
        );
    }
}
