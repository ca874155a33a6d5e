//! A page before it is drawn: headings, text, entries and tables, in order.

use std::iter;

use iostrata_core::bytes::grouped;

use super::section::SectionId;
use super::table::Table;
use crate::format::join;
use crate::words::Words;

/// A space at which lines are not broken.
pub(crate) const GLUE: &str = "\u{a0}";

/// Separator between facts on one line. The dot stays on the line that it ends.
pub(crate) const SEPARATOR: &str = "\u{a0}· ";

/// Narrower pages are drawn this wide.
const NARROWEST: usize = 40;

/// Wider than any content; sums with it do not overflow.
const ENDLESS: usize = usize::MAX / 2;

/// The emphasis of a text. It never carries information alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Strong,
    Quiet,
    /// As claimed.
    Good,
    /// Not as claimed.
    Bad,
    /// Important, before the rest.
    Warning,
}

/// A piece of a page. Columns and indents apply to media that have them.
#[derive(Debug)]
pub(crate) enum Block {
    Blank,
    /// The title of a result, or of one experiment of it, and facts about it.
    Title {
        anchor: &'static str,
        name: String,
        facts: Vec<String>,
    },
    /// Starts a part.
    Heading {
        level: Level,
        /// The section that it begins: that of a part.
        id: Option<SectionId>,
        text: String,
        /// Whether a terminal shows it.
        spoken: bool,
    },
    Text {
        indent: usize,
        tone: Tone,
        text: String,
    },
    Entry(Entry),
    Answered(Answered),
    /// Continues below the text of the previous entry.
    More {
        column: usize,
        text: String,
        rows: Vec<usize>,
    },
    /// A line for a shell, to be copied: it is never broken. Continues the last entry.
    Command(String),
    /// A list item; below an entry it is indented to the entry's text.
    Bullet {
        indent: usize,
        text: String,
    },
    Table(Table),
    /// The place of a drawing with this name, in media that have drawings.
    Drawing(String),
}

impl Block {
    pub(crate) fn part(id: SectionId, text: &str, spoken: bool) -> Self {
        Self::Heading {
            level: Level::Part,
            id: Some(id),
            text: text.to_owned(),
            spoken,
        }
    }
}

/// `lead`, and next to it `text` from `column` on.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Shown by a terminal before the lead; elsewhere the heading has it.
    pub(crate) label: String,
    pub(crate) lead: Words,
    pub(crate) tone: Tone,
    pub(crate) column: usize,
    /// Characters that show shares, before the text, which repeats them.
    pub(crate) bar: Option<String>,
    /// Empty if the next entry's text applies.
    pub(crate) text: Words,
}

/// A question, its answer from `column` on, and additional sentences.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) question: String,
    pub(crate) answer: String,
    /// Sentences after the answer.
    pub(crate) more: Vec<String>,
    /// Number of sentences about other file systems; the rest is the reason.
    pub(crate) others: usize,
    /// Whether each of them has a separate line.
    pub(crate) stacked: bool,
    /// Emphasis of the answer's first word; plain for a fact.
    pub(crate) tone: Tone,
    /// 0 if the answer is below the question.
    pub(crate) column: usize,
    pub(crate) rows: Vec<usize>,
}

/// Indent of an answer below its question.
const BELOW_QUESTION: usize = 2;

impl Answered {
    /// The answer and additional sentences, in lines of at most `width` columns without indent.
    pub(crate) fn wrapped(&self, width: usize, safe: impl Fn(&str) -> String) -> Vec<String> {
        let room = width.saturating_sub(self.indent()).max(1);
        let paragraphs = if self.stacked {
            self.sentences().cloned().collect()
        } else {
            vec![join(self.sentences(), " ")]
        };
        let lines = paragraphs.iter().flat_map(|text: &String| {
            let text = with_units(&safe(text));
            // A range is not broken across lines.
            let options = textwrap::Options::new(room);
            let options = options.word_splitter(textwrap::WordSplitter::NoHyphenation);
            let lines = textwrap::wrap(&text, options).into_iter();
            lines.map(std::borrow::Cow::into_owned).collect::<Vec<_>>()
        });
        lines.collect()
    }

    /// The answer, and what comes after it.
    pub(crate) fn sentences(&self) -> impl Iterator<Item = &String> {
        iter::once(&self.answer).chain(&self.more)
    }

    pub(crate) fn indent(&self) -> usize {
        if self.column == 0 {
            BELOW_QUESTION
        } else {
            self.column
        }
    }

    pub(crate) fn lines(&self, width: usize) -> usize {
        self.wrapped(width, str::to_owned).len() + usize::from(self.column == 0)
    }
}

/// Figures stay with their units.
fn with_units(text: &str) -> String {
    const UNITS: [&str; 11] = [
        "B", "KiB", "MiB", "GiB", "kB", "MB", "s", "ms", "µs", "ns", "%",
    ];
    let mut all = String::new();
    for word in text.split(' ') {
        let bare = word.trim_end_matches(['.', ',', ';', ':', ')']);
        let is_unit = UNITS.contains(&bare) && all.ends_with(|last: char| last.is_ascii_digit());
        if !all.is_empty() {
            all.push_str(if is_unit { GLUE } else { " " });
        }
        all.push_str(word);
    }
    all
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Part,
    /// Below a part.
    Section,
}

/// A part of a page. Its first block is its title or heading, if it has one.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) id: SectionId,
    pub(crate) blocks: Vec<Block>,
}

#[derive(Debug)]
pub(crate) struct Page {
    sections: Vec<Section>,
    width: usize,
}

impl Page {
    /// For a medium with this many columns.
    pub(crate) fn new(width: usize) -> Self {
        Self {
            sections: Vec::new(),
            width: width.max(NARROWEST),
        }
    }

    /// For a medium without omissions or shortening.
    pub(crate) fn endless() -> Self {
        Self::new(ENDLESS)
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Whether nothing may be left out or shortened.
    pub(crate) fn is_endless(&self) -> bool {
        self.width == ENDLESS
    }

    /// Keeps the sections accepted by `keeps`, in order.
    pub(crate) fn retain(&mut self, keeps: impl Fn(SectionId) -> bool) {
        self.sections.retain(|section| keeps(section.id));
    }

    /// Splits off the sections from the first one with a heading on.
    pub(crate) fn split_parts(&mut self) -> Self {
        let first = self.sections.iter().position(|one| one.id.is_part());
        Self {
            sections: self
                .sections
                .split_off(first.unwrap_or(self.sections.len())),
            width: self.width,
        }
    }

    pub(crate) fn answered(&mut self, answered: Answered) {
        self.push(Block::Answered(answered));
    }

    /// A page of the same width, to be added to this one if it fits.
    pub(crate) fn draft(&self) -> Self {
        Self::new(self.width)
    }

    /// Adds the sections of another page; what stands before its first heading continues the last
    /// one here.
    pub(crate) fn append(&mut self, other: Self) {
        for section in other.sections {
            match self.sections.last_mut() {
                Some(last) if section.id == SectionId::Head => last.blocks.extend(section.blocks),
                _ => self.sections.push(section),
            }
        }
    }

    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.sections.iter().flat_map(|section| &section.blocks)
    }

    pub(crate) fn into_sections(self) -> Vec<Section> {
        self.sections
    }

    fn start(&mut self, id: SectionId, blocks: Vec<Block>) {
        self.sections.push(Section { id, blocks });
    }

    /// Continues the last section.
    fn push(&mut self, block: Block) {
        match self.sections.last_mut() {
            Some(section) => section.blocks.push(block),
            None => self.start(SectionId::Head, vec![block]),
        }
    }

    fn last_mut(&mut self) -> Option<&mut Block> {
        self.sections.last_mut()?.blocks.last_mut()
    }

    pub(crate) fn blank(&mut self) {
        self.push(Block::Blank);
    }

    /// The title of the page, or of its next independent part.
    pub(crate) fn title(&mut self, anchor: &'static str, name: &str, facts: Vec<String>) {
        let name = name.to_owned();
        let title = Block::Title {
            anchor,
            name,
            facts,
        };
        self.start(SectionId::Title, vec![title]);
    }

    /// Where it ran comes next, without a heading.
    pub(crate) fn machine(&mut self) {
        self.start(SectionId::Machine, Vec::new());
    }

    pub(crate) fn heading(&mut self, id: SectionId, text: &str) {
        self.start(id, vec![Block::part(id, text, true)]);
    }

    /// A line that starts a section of a part.
    pub(crate) fn section(&mut self, text: &str) {
        self.push(Block::Heading {
            level: Level::Section,
            id: None,
            text: text.to_owned(),
            spoken: true,
        });
    }

    /// Starts a part that a terminal separates only by an empty line.
    pub(crate) fn part(&mut self, id: SectionId, text: &str) {
        self.start(id, vec![Block::part(id, text, false)]);
    }

    pub(crate) fn paragraph(&mut self, indent: usize, text: &str) {
        self.styled(indent, text, Tone::Plain);
    }

    pub(crate) fn styled(&mut self, indent: usize, text: &str, tone: Tone) {
        let text = text.to_owned();
        self.push(Block::Text { indent, tone, text });
    }

    /// `lead`, then `text` from `column` on. An entry without a text shares the next one's.
    pub(crate) fn entry(
        &mut self,
        lead: impl Into<Words>,
        tone: Tone,
        column: usize,
        text: impl Into<Words>,
    ) {
        self.push(Block::Entry(Entry {
            label: String::new(),
            lead: lead.into(),
            tone,
            column,
            bar: None,
            text: text.into(),
        }));
    }

    /// The last entry has a bar of characters before its text.
    pub(crate) fn with_bar(&mut self, bar: Option<String>) {
        if let Some(Block::Entry(entry)) = self.last_mut() {
            entry.bar = bar;
        }
    }

    /// A terminal shows a label before the last entry.
    pub(crate) fn with_label(&mut self, label: &str) {
        if let Some(Block::Entry(entry)) = self.last_mut() {
            label.clone_into(&mut entry.label);
        }
    }

    /// Columns without room.
    pub(crate) fn no_room(&mut self, heads: &[String]) {
        if heads.is_empty() {
            return;
        }
        let (width, heads) = (self.width, heads.join(", "));
        let text =
            format!("hidden at {width} columns: {heads}; a wider terminal or --json shows them");
        self.paragraph(0, &text);
    }

    /// States that a list has `hidden` more entries, such as `maps`, and which option shows them.
    pub(crate) fn and_more(&mut self, indent: usize, hidden: usize, of: &str, option: &str) {
        if hidden > 0 {
            let hidden = grouped(hidden as u64);
            self.paragraph(indent, &format!("and {hidden} more{of}; {option}"));
        }
    }

    /// More about the last entry, below its text.
    pub(crate) fn more(&mut self, column: usize, text: &str) {
        self.more_of_rows(column, text, &[]);
    }

    /// More about the last entry, and the rows that decided it.
    pub(crate) fn more_of_rows(&mut self, column: usize, text: &str, rows: &[usize]) {
        self.push(Block::More {
            column,
            text: text.to_owned(),
            rows: rows.to_vec(),
        });
    }

    /// A line for a shell, below the last entry.
    pub(crate) fn command(&mut self, line: &str) {
        self.push(Block::Command(line.to_owned()));
    }

    pub(crate) fn bullet(&mut self, indent: usize, text: &str) {
        let text = text.to_owned();
        self.push(Block::Bullet { indent, text });
    }

    pub(crate) fn table(&mut self, table: Table) {
        self.push(Block::Table(table));
    }

    pub(crate) fn drawing(&mut self, name: String) {
        self.push(Block::Drawing(name));
    }
}
