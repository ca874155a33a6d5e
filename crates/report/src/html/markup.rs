//! HTML under construction: the only place where text becomes markup.
//!
//! Names of elements and attributes are written in this program; everything else is escaped
//! here, so that no caller can forget it.

use crate::format::printable;

/// Attributes of an element. An empty value stands for one without a value.
pub(super) type Attributes<'a> = &'a [(&'static str, &'a str)];

/// A part of a document.
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
