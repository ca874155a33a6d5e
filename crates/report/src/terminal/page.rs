//! Lines of text with hanging indents.

use anstyle::{AnsiColor, Style};
use textwrap::Options;
use textwrap::core::display_width;

use crate::format::printable;

/// A space that lines are not broken at; it is printed as a space.
pub(crate) const GLUE: &str = "\u{a0}";

/// Between facts of one line. The dot stays on the line it ends.
pub(crate) const SEPARATOR: &str = "\u{a0}· ";

/// What stands out.
pub(crate) const BOLD: Style = Style::new().bold();
/// What may be passed over.
pub(crate) const DIM: Style = Style::new().dimmed();
/// What is as claimed.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// What is not as claimed.
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
/// What the reader must know before the rest.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// Narrower pages are drawn this wide.
const NARROWEST: usize = 40;

/// Columns that text needs to be readable.
const ROOM: usize = 24;

/// Where text stands that has no room beside its lead.
const BELOW: usize = 6;

/// Text under construction. Everything added is made safe for a terminal.
pub(crate) struct Page {
    text: String,
    width: usize,
    colour: bool,
}

impl Page {
    pub(crate) fn new(width: usize, colour: bool) -> Self {
        Self {
            text: String::new(),
            width: width.max(NARROWEST),
            colour,
        }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// A page of the same width and colour, to be added to this one when it is good.
    pub(crate) fn draft(&self) -> Self {
        Self::new(self.width, self.colour)
    }

    /// Lines it has.
    pub(crate) fn lines(&self) -> usize {
        self.text.lines().count()
    }

    /// Adds what another one holds.
    pub(crate) fn append(&mut self, other: &Self) {
        self.text.push_str(&other.text);
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }

    pub(crate) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// A line that begins a part, after an empty one.
    pub(crate) fn heading(&mut self, text: &str) {
        self.blank();
        self.styled(0, text, BOLD);
    }

    pub(crate) fn paragraph(&mut self, indent: usize, text: &str) {
        self.styled(indent, text, Style::new());
    }

    pub(crate) fn styled(&mut self, indent: usize, text: &str, style: Style) {
        let hanging = " ".repeat(indent);
        let options = Options::new(self.width)
            .initial_indent(&hanging)
            .subsequent_indent(&hanging);
        for line in textwrap::wrap(&running(text), options) {
            let words = self.paint(line.trim_start(), style);
            self.line(&format!("{hanging}{words}"));
        }
    }

    /// `lead`, then `text` from `column` on. A lead that reaches the column, and
    /// a column that leaves too little room, put the text below.
    pub(crate) fn entry(&mut self, lead: &str, style: Style, column: usize, text: &str) {
        let plain = printable(lead);
        let used = display_width(&plain);
        let column = if column + ROOM > self.width {
            BELOW
        } else {
            column
        };
        if used >= column {
            let indent = plain.len() - plain.trim_start().len();
            self.styled(indent, plain.trim_start(), style);
            self.paragraph(column, text);
            return;
        }
        let first = format!("{plain}{}", " ".repeat(column - used));
        let hanging = " ".repeat(column);
        let options = Options::new(self.width)
            .initial_indent(&first)
            .subsequent_indent(&hanging);
        for (position, line) in textwrap::wrap(&running(text), options).iter().enumerate() {
            match line.strip_prefix(&plain).filter(|_| position == 0) {
                Some(rest) => {
                    let words = self.paint(plain.trim_start(), style);
                    let indent = " ".repeat(plain.len() - plain.trim_start().len());
                    self.line(&format!("{indent}{words}{rest}"));
                }
                None => self.line(line),
            }
        }
    }

    /// A line as it is, without its trailing spaces.
    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line.replace(GLUE, " ").trim_end());
        self.text.push('\n');
    }

    /// `text` in a style, where colour is wanted.
    pub(super) fn paint(&self, text: &str, style: Style) -> String {
        if self.colour && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}

/// Text that may be broken into lines, but not before a per-cent sign.
fn running(text: &str) -> String {
    printable(text).replace(" %", &format!("{GLUE}%"))
}
