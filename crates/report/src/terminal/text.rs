//! Lines of text with hanging indents.

use anstyle::{AnsiColor, Style};
use textwrap::core::display_width;
use textwrap::{Options, WordSplitter};

use super::table;
use crate::format::{self, printable};
use crate::view::page::{Answered, Block, Entry, GLUE, Page, SEPARATOR, Tone};

/// Minimum columns of readable text.
const ROOM: usize = 24;

/// The column of text that has no room next to its lead.
const BELOW: usize = 6;

/// Longer lists of rows may be broken across lines.
const LONGEST_TOGETHER: usize = 40;

/// The lines of a page. Everything in them is safe for a terminal.
pub(crate) fn draw(page: &Page, colour: bool) -> String {
    let mut text = Text {
        lines: String::new(),
        width: page.width(),
        colour,
    };
    for block in page.blocks() {
        text.block(block);
    }
    text.lines
}

pub(super) struct Text {
    lines: String,
    pub(super) width: usize,
    colour: bool,
}

impl Text {
    fn block(&mut self, block: &Block) {
        match block {
            Block::Blank => self.lines.push('\n'),
            Block::Title { name, facts, .. } => {
                let words = [std::slice::from_ref(name), facts].concat();
                self.styled(0, &words.join(SEPARATOR), Tone::Strong);
            }
            Block::Heading { text, spoken, .. } => {
                if *spoken {
                    self.lines.push('\n');
                    self.styled(0, text, Tone::Strong);
                }
            }
            Block::Text { indent, tone, text } => self.styled(*indent, text, *tone),
            Block::Entry(entry) => self.entry(entry),
            Block::Answered(answered) => self.answered(answered),
            Block::More { column, text, rows } => {
                let text = if rows.is_empty() {
                    text.clone()
                } else {
                    format!("{text} [{}]", together(rows))
                };
                self.paragraph(self.column(*column), &text);
            }
            Block::Command(line) => self.line(&format!("  {}", printable(line))),
            Block::Bullet { indent, text } => {
                let lead = format!("{}-", " ".repeat(*indent));
                self.beside(&lead, Tone::Plain, indent + 2, text);
            }
            Block::Table(table) => table::draw(self, table),
            Block::Drawing(_) => {}
        }
    }

    pub(super) fn paragraph(&mut self, indent: usize, text: &str) {
        self.styled(indent, text, Tone::Plain);
    }

    fn styled(&mut self, indent: usize, text: &str, tone: Tone) {
        let hanging = " ".repeat(indent);
        let options = unbroken(self.width)
            .initial_indent(&hanging)
            .subsequent_indent(&hanging);
        for line in textwrap::wrap(&running(text), options) {
            let words = self.paint(line.trim_start(), tone);
            self.line(&format!("{hanging}{words}"));
        }
    }

    fn entry(&mut self, entry: &Entry) {
        let text = match &entry.bar {
            Some(bar) => format!("{bar}  {}", entry.text),
            None => entry.text.open().to_owned(),
        };
        let lead = [entry.label.as_str(), entry.lead.open()].concat();
        self.beside(&lead, entry.tone, entry.column, &text);
    }

    /// The first word of the answer has its tone.
    fn answered(&mut self, answered: &Answered) {
        let (column, question) = (answered.indent(), printable(&answered.question));
        let below = answered.column == 0;
        if below {
            self.line(&question);
        }
        for (position, line) in answered.wrapped(self.width, running).iter().enumerate() {
            let (first, rest) = match position {
                0 => line.split_at(line.find([' ', ':', ',', '.']).unwrap_or(line.len())),
                _ => ("", line.as_str()),
            };
            let lead = if position == 0 && !below {
                &question
            } else {
                ""
            };
            let gap = " ".repeat(column.saturating_sub(display_width(lead)));
            let first = match answered.tone {
                Tone::Plain => first.to_owned(),
                tone => self.paint(first, tone),
            };
            self.line(&format!("{lead}{gap}{first}{rest}"));
        }
    }

    /// `lead`, then `text` from `column` on. If the lead reaches the column, the text is below.
    fn beside(&mut self, lead: &str, tone: Tone, column: usize, text: &str) {
        let plain = printable(lead);
        let used = display_width(&plain);
        let column = self.column(column);
        if used >= column {
            let indent = plain.len() - plain.trim_start().len();
            self.styled(indent, plain.trim_start(), tone);
            self.paragraph(column, text);
            return;
        }
        let first = format!("{plain}{}", " ".repeat(column - used));
        let hanging = " ".repeat(column);
        let options = unbroken(self.width)
            .initial_indent(&first)
            .subsequent_indent(&hanging);
        for (position, line) in textwrap::wrap(&running(text), options).iter().enumerate() {
            match line.strip_prefix(&plain).filter(|_| position == 0) {
                Some(rest) => {
                    let words = self.paint(plain.trim_start(), tone);
                    let indent = " ".repeat(plain.len() - plain.trim_start().len());
                    self.line(&format!("{indent}{words}{rest}"));
                }
                None => self.line(line),
            }
        }
    }

    /// A column that leaves too little room is ignored.
    fn column(&self, column: usize) -> usize {
        if column + ROOM > self.width {
            BELOW
        } else {
            column
        }
    }

    /// An unchanged line, without its trailing spaces.
    pub(super) fn line(&mut self, line: &str) {
        self.lines.push_str(line.replace(GLUE, " ").trim_end());
        self.lines.push('\n');
    }

    /// `text` in a tone, if colour is wanted.
    pub(super) fn paint(&self, text: &str, tone: Tone) -> String {
        if self.colour && !text.is_empty() {
            let style = style(tone);
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}

fn style(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Strong => Style::new().bold(),
        Tone::Quiet => Style::new().dimmed(),
        Tone::Good => AnsiColor::Green.on_default(),
        Tone::Bad => AnsiColor::Red.on_default(),
        Tone::Warning => AnsiColor::Yellow.on_default().bold(),
    }
}

/// Lines that end only between words: names of rules and files have hyphens, and are copied.
fn unbroken(width: usize) -> Options<'static> {
    Options::new(width).word_splitter(WordSplitter::NoHyphenation)
}

/// Text that may be broken into lines, but not before a per-cent sign.
fn running(text: &str) -> String {
    printable(text).replace(" %", &format!("{GLUE}%"))
}

/// A short list of rows stays together; a long one breaks like other text, but not after "rows".
fn together(rows: &[usize]) -> String {
    let rows = format::rows(rows);
    if rows.chars().count() <= LONGEST_TOGETHER {
        rows.replace(' ', GLUE)
    } else {
        rows.replacen(' ', GLUE, 1)
    }
}
