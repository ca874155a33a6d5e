//! The blocks of a page as elements.

mod lists;

use std::collections::BTreeSet;

use self::lists::List;
use super::charts::{Chart, Place};
use super::lead::{self, Lead};
use super::markup::Markup;
use super::outline::{HEADINGS, Outline};
use super::scope::Scope;
use super::table::{self, Names, Room};
use super::{Drawn, Fold, draw_figure};
use crate::format::{beginning, counted, join};
use crate::view::page::{Block, Level, SEPARATOR, Tone};
use crate::view::section::SectionId;
use crate::view::table::{Kind, Table};

/// The heading has only the beginning of a longer title, such as a command line.
const LONGEST_TITLE: usize = 120;

/// Findings that are open; the others wait behind a click.
const FINDINGS: usize = 3;

/// And the text below it no more than this.
const LONGEST_NAME: usize = 8_000;

pub(super) struct Drawing<'a> {
    pub(super) blocks: &'a [Block],
    pub(super) charts: &'a [Chart],
    /// In a lab result each title is an experiment, which charts may name.
    pub(super) result: Drawn<'a>,
    /// Contents below the first title and its facts.
    pub(super) lead: Option<Lead<'a>>,
    /// Whether each title is closed at first, with what stands below it.
    pub(super) is_folded: bool,
    /// Ids of its titles, in [`HEADINGS`].
    pub(super) level: usize,
    /// For each of its tables, and for the text of each part.
    pub(super) room: Room,
}

/// Adds a result. Returns what stands below each of its titles.
pub(super) fn draw(
    markup: &mut Markup,
    outline: &mut Outline,
    drawing: &Drawing<'_>,
) -> Vec<Scope> {
    let is_title = |block: &Block| matches!(block, Block::Title { .. });
    let title = drawing.blocks.iter().position(is_title);
    let mut body = Body {
        markup,
        outline,
        drawing,
        titles: Vec::new(),
        scope: Scope::default(),
        part: Part::default(),
        list: List::None,
        undrawn: drawing.charts.iter().collect(),
    };
    // Parts that a terminal shows before the title come after it here.
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
    // A link to a place that the page does not have.
    let charts = std::mem::take(&mut body.undrawn);
    body.charts(charts, None);
    body.end_title();
    body.titles
}

#[derive(Default)]
struct Part {
    id: String,
    heading: String,
    /// How it stands on the page; `None` outside of parts.
    fold: Option<Fold>,
    /// Whether its entries are findings, of which only the first are open.
    has_findings: bool,
    /// Sections so far, and how the last one stands on the page.
    sections: usize,
    section: Option<Fold>,
    entries: usize,
    bytes: usize,
    /// Entries that there was no room for.
    skipped: usize,
}

struct Body<'a> {
    markup: &'a mut Markup,
    outline: &'a mut Outline,
    drawing: &'a Drawing<'a>,
    titles: Vec<Scope>,
    scope: Scope,
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
                id: Some(id), text, ..
            } => self.part(*id, text, after),
            Block::Heading { text, .. } => self.section(text),
            Block::Text { tone, text, .. } => self.text(*tone, text),
            Block::Entry(entry) => self.entry(entry, after),
            Block::Answered(answered) => {
                self.more(&answered.question, &[]);
                self.more(&join(answered.sentences(), " "), &answered.rows);
            }
            Block::More { text, rows, .. } => self.more(text, rows),
            Block::Command(line) => self.command(line),
            Block::Bullet { text, .. } => self.bullet(text),
            Block::Table(table) => self.table(table),
            Block::Drawing(name) => self.drawing(name),
        }
    }

    fn title(&mut self, anchor: &'static str, name: &str, facts: &[String], after: &[Block]) {
        self.end_part();
        self.end_title();
        self.scope = Scope {
            name: self.outline.name(anchor),
            linked: linked(after, self.drawing.room),
        };
        self.titles.push(self.scope.clone());
        let level = self.drawing.level;
        let heading = beginning(name, LONGEST_TITLE);
        self.outline.add(level, &self.scope.name, &heading);
        let scope = self.scope.name.clone();
        let facts = facts.join(SEPARATOR);
        self.title_fold().open(self.markup, "experiment", |markup| {
            let attributes = [("id", scope.as_str()), ("class", anchor)];
            markup.element(HEADINGS[level], &attributes, &heading);
            if !facts.is_empty() {
                let element = if self.drawing.is_folded { "span" } else { "p" };
                markup.element(element, &[("class", "facts")], &facts);
            }
        });
        if self.titles.len() == 1
            && let Some(lead) = &self.drawing.lead
        {
            match lead {
                Lead::Trace(lead) => self.markup.append(lead),
                Lead::Experiment(result) => {
                    let lead = lead::of_lab(result, std::slice::from_ref(&self.scope));
                    self.markup.append(&lead);
                }
            }
        }
        if heading.ends_with('…') {
            let whole = beginning(name, LONGEST_NAME);
            self.markup.open("details", &[("class", "evidence")]);
            self.markup.element("summary", &[], "the whole line");
            self.markup.element("code", &[], &whole);
            self.markup.end("details");
        }
    }

    fn title_fold(&self) -> Fold {
        if self.drawing.is_folded {
            Fold::Printed
        } else {
            Fold::Open
        }
    }

    fn end_title(&mut self) {
        if !self.titles.is_empty() {
            self.title_fold().close(self.markup);
        }
    }

    fn part(&mut self, section: SectionId, text: &str, after: &[Block]) {
        let anchor = section.name();
        self.end_part();
        let id = self.outline.name(&format!("{}-{anchor}", self.scope.name));
        let level = self.drawing.level + 1;
        self.outline.add(level, &id, text);
        let fold = Fold::of(self.drawing.result, section);
        self.markup.open("section", &[("class", &anchor)]);
        fold.open(self.markup, "part", |markup| {
            markup.element(HEADINGS[level], &[("id", &id)], text);
        });
        self.part = Part {
            id,
            heading: text.to_owned(),
            fold: Some(fold),
            has_findings: matches!(self.drawing.result, Drawn::Trace(_) | Drawn::Crash(_))
                && section == SectionId::Findings,
            ..Part::default()
        };
        let has_experiments = matches!(self.drawing.result, Drawn::Lab(_));
        let experiment = has_experiments.then(|| self.titles.len().saturating_sub(1));
        let place = Place {
            experiment,
            part: section,
        };
        let (here, elsewhere) = std::mem::take(&mut self.undrawn)
            .into_iter()
            .partition(|chart| chart.after == place);
        self.undrawn = elsewhere;
        self.charts(here, has_table(after).then(|| self.table_id()).as_deref());
    }

    fn charts(&mut self, charts: Vec<&Chart>, table: Option<&str>) {
        for chart in charts {
            let name = self
                .outline
                .name(&format!("{}-{}", self.scope.name, chart.id));
            draw_figure(self.markup, self.outline, &name, (chart, table));
        }
    }

    /// The drawing with this name, which no part has claimed.
    fn drawing(&mut self, name: &str) {
        self.end_list();
        let all = std::mem::take(&mut self.undrawn).into_iter();
        let (here, elsewhere) = all.partition(|chart| chart.id == name);
        self.undrawn = elsewhere;
        self.charts(here, None);
    }

    fn section(&mut self, text: &str) {
        self.end_section();
        let level = self.drawing.level + 2;
        let id = self.outline.name(&format!("{}-section", self.part.id));
        let is_crash = matches!(self.drawing.result, Drawn::Crash(_));
        let is_finding = is_crash && self.part.has_findings;
        let fold = match self.part.sections {
            some if is_finding && some >= FINDINGS => Fold::Closed,
            _ => Fold::Open,
        };
        fold.open(self.markup, "finding", |markup| {
            markup.element(HEADINGS[level], &[("id", &id)], text);
        });
        self.part.sections += 1;
        self.part.section = Some(fold);
        text.clone_into(&mut self.part.heading);
    }

    fn end_section(&mut self) {
        self.end_list();
        if let Some(fold) = self.part.section.take() {
            fold.close(self.markup);
        }
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
        self.markup.open("p", attributes);
        self.markup.prose(text);
        self.markup.end("p");
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
        let rows = self.scope.row_prefix();
        let names = Names {
            id: &id,
            rows: &rows,
            repeats: caption.eq_ignore_ascii_case(&self.part.heading),
            caption,
        };
        table::draw(self.markup, self.outline, table, &names, self.drawing.room);
    }

    /// Of the first table of the part.
    fn table_id(&self) -> String {
        format!("{}-table", self.part.id)
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

    fn end_part(&mut self) {
        self.end_section();
        if self.part.skipped > 0 {
            let more = counted(self.part.skipped, "more paragraph");
            let text = format!("and {more}; the saved result has all");
            self.markup.element("p", &[("class", "rest")], &text);
        }
        if self.part.has_findings && self.part.entries > FINDINGS {
            self.markup.close("details");
        }
        if let Some(fold) = self.part.fold {
            fold.close(self.markup);
            self.markup.end("section");
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

fn ends_part(block: &Block) -> bool {
    let is_part = matches!(
        block,
        Block::Heading {
            level: Level::Part,
            ..
        }
    );
    is_part || matches!(block, Block::Title { .. })
}

/// Whether a table comes before the next part.
fn has_table(after: &[Block]) -> bool {
    let mut here = after.iter().take_while(|block| !ends_part(block));
    here.any(|block| matches!(block, Block::Table(table) if table.rows() > 0))
}

/// Entries before the next part.
pub(super) fn entries(after: &[Block]) -> usize {
    let here = after.iter().take_while(|block| !ends_part(block));
    here.filter(|block| matches!(block, Block::Entry(_)))
        .count()
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
