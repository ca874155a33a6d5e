//! The blocks of a page as elements.

use std::collections::BTreeSet;

use super::charts::{Chart, Place};
use super::figure;
use super::markup::Markup;
use super::outline::{HEADINGS, Outline};
use super::table::{self, Names, Room};
use crate::format::{self, beginning, counted, row_runs};
use crate::view::page::{Block, Entry, Level, SEPARATOR, Tone};
use crate::view::table::{Kind, Table};

/// Of a longer title, such as a command line, the heading has only the beginning.
const LONGEST_TITLE: usize = 120;

/// And the text below it no more than this.
const LONGEST_NAME: usize = 8_000;

/// A result as it is to be drawn.
pub(super) struct Drawing<'a> {
    pub(super) blocks: &'a [Block],
    pub(super) charts: &'a [Chart],
    /// Whether each title is an experiment that charts may name.
    pub(super) has_experiments: bool,
    /// Of its titles, in [`HEADINGS`].
    pub(super) level: usize,
    /// For each of its tables, and for the text of each part.
    pub(super) room: Room,
}

/// Adds a result.
pub(super) fn draw(markup: &mut Markup, outline: &mut Outline, drawing: &Drawing<'_>) {
    let is_title = |block: &Block| matches!(block, Block::Title { .. });
    let title = drawing.blocks.iter().position(is_title);
    let mut body = Body {
        markup,
        outline,
        drawing,
        titles: 0,
        scope: String::new(),
        linked: BTreeSet::new(),
        part: Part::default(),
        list: List::None,
        undrawn: drawing.charts.iter().collect(),
    };
    // What a terminal shows before the title stands below it here.
    let (before, rest) = drawing.blocks.split_at(title.unwrap_or(0));
    let (title, after) = rest.split_at(usize::from(title.is_some()));
    for blocks in [title, before] {
        for block in blocks {
            body.block(block, after);
        }
    }
    for (position, block) in after.iter().enumerate() {
        body.block(block, &after[position + 1..]);
    }
    body.end_part();
    // Of a place that the page does not have.
    let charts = std::mem::take(&mut body.undrawn);
    body.charts(charts, None);
}

/// What stands below one heading.
#[derive(Default)]
struct Part {
    id: String,
    heading: String,
    is_open: bool,
    /// Bytes of text so far.
    bytes: usize,
    /// Entries that there was no room for.
    skipped: usize,
}

/// The list that is open, and how deep.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    None,
    /// `ul`.
    Bullets,
    /// `dl`, and in it a `div` with leads.
    Leads,
    /// And a `dd`.
    Texts,
    /// And in that a `ul`.
    BulletsOfEntry,
}

struct Body<'a> {
    markup: &'a mut Markup,
    outline: &'a mut Outline,
    drawing: &'a Drawing<'a>,
    /// Drawn so far.
    titles: usize,
    /// Begins the names of what stands below the last title.
    scope: String,
    /// Rows below it that can be linked to.
    linked: BTreeSet<usize>,
    part: Part,
    list: List,
    undrawn: Vec<&'a Chart>,
}

impl Body<'_> {
    /// Adds a block. `after` is what comes then.
    fn block(&mut self, block: &Block, after: &[Block]) {
        match block {
            Block::Blank => {}
            Block::Title {
                anchor,
                name,
                facts,
            } => self.title(anchor, name, facts, after),
            Block::Heading {
                level: Level::Part,
                anchor,
                text,
                ..
            } => self.part(anchor.unwrap_or("part"), text, after),
            Block::Heading { text, .. } => self.section(text),
            Block::Text { tone, text, .. } => self.text(*tone, text),
            Block::Entry(entry) => self.entry(entry),
            Block::Answered(answered) => {
                self.more(&answered.question, &[]);
                let sentences = std::iter::once(answered.answer.as_str());
                let sentences = sentences.chain(answered.more.iter().map(String::as_str));
                let text = sentences.collect::<Vec<_>>().join(" ");
                self.more(&text, &answered.rows);
            }
            Block::More { text, rows, .. } => self.more(text, rows),
            Block::Command(line) => self.more(line, &[]),
            Block::Bullet { text, .. } => self.bullet(text),
            Block::Table(table) => self.table(table),
        }
    }

    fn title(&mut self, anchor: &'static str, name: &str, facts: &[String], after: &[Block]) {
        self.end_part();
        self.titles += 1;
        self.scope = self.outline.name(anchor);
        self.linked = linked(after, self.drawing.room);
        let level = self.drawing.level;
        self.outline
            .add(level, &self.scope, &beginning(name, LONGEST_TITLE));
        let heading = beginning(name, LONGEST_TITLE);
        let attributes = [("id", self.scope.as_str()), ("class", anchor)];
        self.markup.element(HEADINGS[level], &attributes, &heading);
        if heading.ends_with('…') {
            self.markup.open("p", &[]);
            self.markup
                .element("code", &[], &beginning(name, LONGEST_NAME));
            self.markup.close("p");
        }
        if !facts.is_empty() {
            let facts = facts.join(SEPARATOR);
            self.markup.element("p", &[("class", "facts")], &facts);
        }
        self.markup.line();
    }

    fn part(&mut self, anchor: &'static str, text: &str, after: &[Block]) {
        self.end_part();
        let id = self.outline.name(&format!("{}-{anchor}", self.scope));
        let level = self.drawing.level + 1;
        self.outline.add(level, &id, text);
        self.markup.open("section", &[("class", anchor)]);
        self.markup.element(HEADINGS[level], &[("id", &id)], text);
        self.markup.line();
        self.part = Part {
            id,
            heading: text.to_owned(),
            is_open: true,
            ..Part::default()
        };
        let experiment = self.drawing.has_experiments.then(|| self.titles - 1);
        let place = Place {
            experiment,
            part: anchor,
        };
        let (here, elsewhere) = std::mem::take(&mut self.undrawn)
            .into_iter()
            .partition(|chart| chart.after == place);
        self.undrawn = elsewhere;
        self.charts(here, has_table(after).then(|| self.table_id()).as_deref());
    }

    fn charts(&mut self, charts: Vec<&Chart>, table: Option<&str>) {
        for chart in charts {
            let name = self.outline.name(&format!("{}-{}", self.scope, chart.id));
            figure::draw(self.markup, self.outline, &name, (chart, table));
        }
    }

    fn section(&mut self, text: &str) {
        self.end_list();
        let level = self.drawing.level + 2;
        let id = self.outline.name(&format!("{}-section", self.part.id));
        self.markup.element(HEADINGS[level], &[("id", &id)], text);
        self.markup.line();
        text.clone_into(&mut self.part.heading);
    }

    fn text(&mut self, tone: Tone, text: &str) {
        self.end_list();
        if !self.has_room(text) {
            return;
        }
        let attributes: &[_] = match class(tone) {
            "" => &[],
            class => &[("class", class)],
        };
        self.markup.element("p", attributes, text);
        self.markup.line();
    }

    fn entry(&mut self, entry: &Entry) {
        if !self.has_room(&entry.text) {
            return;
        }
        match self.list {
            List::None | List::Bullets => {
                self.end_list();
                self.markup.open("dl", &[]);
                self.markup.open("div", &[]);
            }
            List::Leads => {}
            List::Texts | List::BulletsOfEntry => {
                self.end_entry();
                self.markup.open("div", &[]);
            }
        }
        let attributes: &[_] = match class(entry.tone) {
            "" => &[],
            class => &[("class", class)],
        };
        self.markup.element("dt", attributes, entry.lead.trim());
        self.list = List::Leads;
        if entry.text.is_empty() {
            return;
        }
        self.markup.open("dd", &[]);
        self.markup.open("p", &[]);
        if let Some(bar) = &entry.bar {
            let attributes = [("class", "bar"), ("aria-hidden", "true")];
            self.markup.element("span", &attributes, bar);
            self.markup.text(" ");
        }
        self.markup.text(&entry.text);
        self.markup.close("p");
        self.list = List::Texts;
    }

    /// Below an entry that had no room there is none either.
    fn more(&mut self, text: &str, rows: &[usize]) {
        if self.is_full() {
            return;
        }
        self.part.bytes += text.len();
        match self.list {
            List::Leads => self.markup.open("dd", &[]),
            List::BulletsOfEntry => self.markup.close("ul"),
            List::None | List::Bullets | List::Texts => {}
        }
        if matches!(self.list, List::Leads | List::BulletsOfEntry) {
            self.list = List::Texts;
        }
        self.markup.open("p", &[]);
        self.markup.text(text);
        if !rows.is_empty() {
            self.markup.text(" [");
            self.rows(rows);
            self.markup.text("]");
        }
        self.markup.close("p");
    }

    /// `rows 1–3, 7`, with links to those that the page has.
    fn rows(&mut self, rows: &[usize]) {
        self.markup
            .text(if rows.len() == 1 { "row " } else { "rows " });
        for (position, (first, last)) in row_runs(rows).into_iter().enumerate() {
            if position > 0 {
                self.markup.text(", ");
            }
            let text = format::run(first, last);
            if self.linked.contains(&first) {
                let link = format!("#{}{first}", self.rows_of_scope());
                self.markup.element("a", &[("href", &link)], &text);
            } else {
                self.markup.text(&text);
            }
        }
    }

    fn bullet(&mut self, text: &str) {
        match self.list {
            List::Texts | List::BulletsOfEntry => {
                if self.is_full() {
                    return;
                }
                self.part.bytes += text.len();
                if self.list == List::Texts {
                    self.markup.open("ul", &[]);
                    self.list = List::BulletsOfEntry;
                }
            }
            List::None | List::Bullets | List::Leads => {
                if !self.has_room(text) {
                    return;
                }
                if self.list != List::Bullets {
                    self.end_list();
                    self.markup.open("ul", &[]);
                    self.list = List::Bullets;
                }
            }
        }
        self.markup.element("li", &[], text);
        self.markup.line();
    }

    fn table(&mut self, table: &Table) {
        self.end_list();
        let id = self.table_id();
        let id = self.outline.name(&id);
        let caption = if table.name.is_empty() {
            &self.part.heading
        } else {
            &table.name
        };
        let rows = self.rows_of_scope();
        let names = Names {
            id: &id,
            rows: &rows,
            caption,
        };
        table::draw(self.markup, self.outline, table, &names, self.drawing.room);
    }

    /// Of the first table of the part.
    fn table_id(&self) -> String {
        format!("{}-table", self.part.id)
    }

    fn rows_of_scope(&self) -> String {
        format!("{}-row-", self.scope)
    }

    fn is_full(&self) -> bool {
        self.part.skipped > 0
    }

    /// Notes the text of an entry, or that there is no room for it.
    fn has_room(&mut self, text: &str) -> bool {
        self.part.bytes += text.len();
        let has_room = !self.is_full() && self.part.bytes <= self.drawing.room.bytes;
        self.part.skipped += usize::from(!has_room);
        has_room
    }

    fn end_entry(&mut self) {
        if self.list == List::BulletsOfEntry {
            self.markup.close("ul");
        }
        if matches!(self.list, List::BulletsOfEntry | List::Texts) {
            self.markup.close("dd");
        }
        self.markup.close("div");
        self.markup.line();
    }

    fn end_list(&mut self) {
        match self.list {
            List::None => {}
            List::Bullets => self.markup.close("ul"),
            List::Leads | List::Texts | List::BulletsOfEntry => {
                self.end_entry();
                self.markup.close("dl");
            }
        }
        self.list = List::None;
    }

    fn end_part(&mut self) {
        self.end_list();
        if self.part.skipped > 0 {
            let more = counted(self.part.skipped, "more paragraph");
            let text = format!("and {more}; the saved result has all");
            self.markup.element("p", &[("class", "rest")], &text);
        }
        if self.part.is_open {
            self.markup.close("section");
            self.markup.line();
        }
        self.part = Part::default();
    }
}

fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Strong => "strong",
        Tone::Quiet => "quiet",
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Warning => "warning",
    }
}

/// Whether a table comes before the next part.
fn has_table(after: &[Block]) -> bool {
    let next = after.iter().find(|block| {
        let is_part = matches!(
            block,
            Block::Heading {
                level: Level::Part,
                ..
            }
        );
        is_part || matches!(block, Block::Title { .. } | Block::Table(_))
    });
    matches!(next, Some(Block::Table(table)) if table.rows() > 0)
}

/// Numbers of the rows that stand in tables before the next title.
fn linked(after: &[Block], room: Room) -> BTreeSet<usize> {
    let here = after
        .iter()
        .take_while(|block| !matches!(block, Block::Title { .. }));
    let tables = here.filter_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    });
    let numbers = tables.flat_map(|table| {
        let first = table.columns.first();
        let column = first.filter(|column| column.kind == Kind::RowNumber);
        let cells = column.map_or(&[][..], |column| &column.cells);
        cells.iter().take(table::shown(table, room))
    });
    numbers
        .filter_map(|number| number.as_str().parse().ok())
        .collect()
}
