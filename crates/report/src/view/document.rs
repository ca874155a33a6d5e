//! Pages of the documentation, which are written in Markdown.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use textwrap::core::display_width;

use super::page::{Page, Tone};
use super::table::{Column, Table};

/// Columns before a line for a shell, and before its continuation.
const SHELL: &str = "  ";
const GOES_ON: &str = "    ";

/// Spaces between the columns of a table.
const GAP: usize = 2;

/// Adds a page without its Markdown marks.
pub(crate) fn show(page: &mut Page, markdown: &str) {
    let mut shown = Shown {
        page,
        text: String::new(),
        strong: 0,
        is_strong: true,
        lists: Vec::new(),
        is_item: false,
        link: None,
        rows: Vec::new(),
        is_first: true,
    };
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        shown.event(event);
    }
}

struct Shown<'a> {
    page: &'a mut Page,
    /// The text of the paragraph, heading, cell or block of code so far.
    text: String,
    /// Number of open marks for strong text.
    strong: usize,
    /// Whether all of the text was inside them.
    is_strong: bool,
    /// The number of the next item of each open list; `None` for bullets.
    lists: Vec<Option<u64>>,
    /// Whether the next paragraph starts an item.
    is_item: bool,
    link: Option<String>,
    /// Cells of the open table, its heads first.
    rows: Vec<Vec<String>>,
    is_first: bool,
}

impl Shown<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.say(&text);
            }
            Event::SoftBreak | Event::HardBreak => self.text.push(' '),
            _ => {}
        }
    }

    fn say(&mut self, text: &str) {
        self.is_strong &= self.strong > 0;
        self.text.push_str(text);
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::Heading { .. } => self.is_strong = true,
            Tag::Strong => self.strong += 1,
            Tag::List(first) => {
                // Text of the item that contains the list.
                self.paragraph();
                if self.lists.is_empty() {
                    self.apart();
                }
                self.lists.push(first);
            }
            Tag::Item => self.is_item = true,
            Tag::Link { dest_url, .. } => self.link = Some(dest_url.into_string()),
            Tag::TableHead | Tag::TableRow => self.rows.push(Vec::new()),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::Item => self.paragraph(),
            TagEnd::Heading(level) => self.heading(level),
            TagEnd::Strong => self.strong -= 1,
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Link => self.leads_to(),
            TagEnd::CodeBlock => self.code(),
            TagEnd::TableCell => {
                let cell = self.taken();
                self.rows
                    .last_mut()
                    .into_iter()
                    .for_each(|row| row.push(cell.clone()));
            }
            TagEnd::Table => self.table(),
            _ => {}
        }
    }

    fn taken(&mut self) -> String {
        std::mem::take(&mut self.text).trim().to_owned()
    }

    /// A blank line before everything except the first block.
    fn apart(&mut self) {
        if !std::mem::replace(&mut self.is_first, false) {
            self.page.blank();
        }
    }

    fn heading(&mut self, level: HeadingLevel) {
        let text = self.taken();
        self.apart();
        if level == HeadingLevel::H1 {
            self.page.title("page", &text, Vec::new());
        } else {
            self.page.styled(0, &text, Tone::Strong);
        }
    }

    fn paragraph(&mut self) {
        let text = self.taken();
        if text.is_empty() {
            return;
        }
        let depth = self.lists.len();
        let indent = 2 * depth.saturating_sub(1);
        let begins = std::mem::take(&mut self.is_item);
        match self.lists.last_mut() {
            None => {
                self.apart();
                let tone = if self.is_strong {
                    Tone::Strong
                } else {
                    Tone::Plain
                };
                self.page.styled(0, &text, tone);
            }
            Some(Some(number)) if begins => {
                let lead = format!("{}{number}.", " ".repeat(indent));
                *number += 1;
                self.page.entry(&lead, Tone::Plain, lead.len() + 1, &text);
            }
            Some(None) if begins => self.page.bullet(indent, &text),
            Some(_) => self.page.paragraph(indent + 2, &text),
        }
    }

    /// The address of an external page; pages of this documentation are found by name.
    fn leads_to(&mut self) {
        let link = self.link.take();
        let elsewhere = link.filter(|link| link.contains("://") && !self.text.ends_with(link));
        if let Some(link) = elsewhere {
            self.say(&format!(" ({link})"));
        }
    }

    /// Unchanged lines; a long one continues in the next.
    fn code(&mut self) {
        let code = std::mem::take(&mut self.text);
        self.apart();
        for line in code.trim_end().lines() {
            for part in shell_lines(line, self.page.width() - SHELL.len()) {
                self.page.command(&part);
            }
        }
    }

    /// A table, or if its longest words are too wide for one, each row below its first cell.
    fn table(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let Some((heads, rows)) = rows.split_first() else {
            return;
        };
        self.apart();
        let cells = |position: usize| {
            rows.iter()
                .map(move |row| row.get(position).map_or("", String::as_str))
        };
        let longest = |position: usize| {
            let cells = cells(position).chain([heads[position].as_str()]);
            let words = cells.flat_map(|cell| cell.split(' ').map(display_width));
            words.max().unwrap_or(0) + GAP
        };
        let least: usize = (0..heads.len()).map(longest).sum();
        if least <= self.page.width() + GAP {
            let columns = heads.iter().enumerate();
            let columns = columns.map(|(position, head)| Column::text(head, cells(position)));
            self.page.table(Table::new(0, columns.collect()));
            return;
        }
        for row in rows {
            let (lead, rest) = row
                .split_first()
                .map_or(("", row.as_slice()), |(lead, rest)| (lead.as_str(), rest));
            self.page.paragraph(0, lead);
            for (head, cell) in heads.iter().skip(1).zip(rest) {
                self.page.paragraph(2, &format!("{head}: {cell}"));
            }
        }
    }
}

/// A line of code in lines of at most `width` columns, as far as its words allow; one for a shell
/// stays copyable.
fn shell_lines(line: &str, width: usize) -> Vec<String> {
    let is_command = line.trim_start().starts_with("iostrata ") || line.starts_with("sudo ");
    if display_width(line) <= width {
        return vec![line.to_owned()];
    }
    let goes_on = if is_command { " \\" } else { "" };
    let mut lines: Vec<String> = Vec::new();
    for words in with_values(line) {
        match lines.last_mut() {
            // Room for the continuation mark.
            Some(last) if display_width(last) + 1 + display_width(&words) + 2 <= width => {
                last.push(' ');
                last.push_str(&words);
            }
            Some(last) => {
                last.push_str(goes_on);
                lines.push(format!("{GOES_ON}{words}"));
            }
            None => lines.push(words),
        }
    }
    lines
}

/// The words of a command, each option with its value.
fn with_values(line: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        match all.last_mut() {
            Some(last)
                if last.starts_with("--") && !last.contains(' ') && !word.starts_with('-') =>
            {
                last.push(' ');
                last.push_str(word);
            }
            _ => all.push(word.to_owned()),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use crate::terminal::document as draw;

    const PAGE: &str = "\
# A page

**What is it?** See [other](other.md), `x | y` and [the
manual](https://e.org/m).

**All of it is strong.**

    iostrata lab sync --fs host,ext4,xfs --call fsync,fdatasync
    as   it is
    broken where it is longer than the page is wide

## Part

- one `--flag` that is explained at some length, longer than a line
- two

1. first
2. second

| call | makes durable |
|---|---|
| `sync_file_range` | *nothing* for certain |
| `syncfs` | everything on the file system |
";

    #[test]
    fn marks_are_gone_and_lines_fit() {
        insta::assert_snapshot!(draw(PAGE, 44, false));
    }

    #[test]
    fn strong_lines_have_colour_where_it_is_wanted() {
        let text = draw(PAGE, 80, true);
        assert!(
            text.contains("\u{1b}[1mAll of it is strong.\u{1b}[0m\n"),
            "{text}"
        );
        assert!(text.starts_with("\u{1b}[1mA page\u{1b}[0m\n"), "{text}");
    }

    #[test]
    fn a_table_whose_words_are_too_wide_is_a_list() {
        let table = "| path | of what |\n|---|---|\n\
                     | /proc/sys/vm/dirty_writeback_centisecs | kernel.threads.writeback |\n";
        assert_eq!(
            draw(table, 60, false),
            "/proc/sys/vm/dirty_writeback_centisecs\n  of what: kernel.threads.writeback\n"
        );
        assert_eq!(draw(table, 64, false).lines().count(), 2);
    }
}
