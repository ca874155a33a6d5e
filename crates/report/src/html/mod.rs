//! Results as one self-contained HTML page: no network, no other file, and readable without
//! scripts.

mod arrange;
mod blocks;
mod charts;
mod document;
mod lead;
mod markup;
mod outline;
mod scope;
mod table;
mod time_bar;

use iostrata_core::cache::CacheResult;
use iostrata_core::compare::Comparison;
use iostrata_core::crash::CrashResult;
use iostrata_core::doctor::DoctorResult;
use iostrata_core::lab::LabResult;
use iostrata_core::trace::TraceResult;

use self::blocks::Drawing;
use self::charts::Chart;
use self::document::Document;
use self::lead::Lead;
use self::markup::Markup;
use self::outline::Outline;
use self::table::{Names, Room};
use crate::view;
use crate::view::lab::Extent;
use crate::view::page::{Block, Page};
use crate::view::section::SectionId;

/// Limits of a page of one result. Ten thousand files stay below 5 MB and
/// are laid out in less than a second.
const ROOM: Room = Room {
    rows: 1_000,
    bytes: 300_000,
};

/// Minimum room for each of many results.
const LEAST: Room = Room {
    rows: 50,
    bytes: 20_000,
};

#[derive(Debug, Clone, Copy)]
pub enum Drawn<'a> {
    Lab(&'a LabResult),
    Trace(&'a TraceResult),
    Doctor(&'a DoctorResult),
    Cache(&'a CacheResult),
    Crash(&'a CrashResult),
    Comparison(&'a Comparison),
}

#[derive(Debug, Clone)]
pub struct Titled<'a> {
    /// Name of its file; `None` if it was not saved.
    pub name: Option<String>,
    pub result: Drawn<'a>,
}

/// More results of one page than this are closed at first, each behind its name.
const OPEN_RESULTS: usize = 3;

struct Made<'a> {
    name: Option<&'a str>,
    result: Drawn<'a>,
    blocks: Vec<Block>,
    charts: Vec<Chart>,
}

impl<'a> Made<'a> {
    fn of(titled: &'a Titled<'a>) -> Self {
        let result = titled.result;
        let charts = charts_of(result);
        let has_time = charts
            .iter()
            .any(|chart| chart.after.part == SectionId::OverTime);
        Self {
            name: titled.name.as_deref(),
            result,
            blocks: arrange::arranged(result, blocks_of(result), has_time),
            charts,
        }
    }
}

/// The page: a whole document. What it does not hold of very long results it says.
pub fn page(results: &[Titled<'_>]) -> String {
    let made: Vec<Made<'_>> = results.iter().map(Made::of).collect();
    let titles = made.iter().map(|made| titles(&made.blocks));
    let titles: Vec<&str> = titles.flatten().collect();
    let mut outline = Outline::default();
    let mut body = Markup::default();
    let mut has_charts = false;
    // One title of one result is the page's; otherwise each stands below the page's own.
    let level = match (results, titles.as_slice()) {
        ([_], [_]) => 0,
        ([_], _) => 1,
        _ => 2,
    };
    let title = match (results, titles.as_slice()) {
        ([_], [only]) => (*only).to_owned(),
        ([_], several) => format!("lab: {}", several.join(", ")),
        (several, _) => format!("{} results", several.len()),
    };
    if level > 0 {
        body.element("h1", &[], &title);
    }
    let fold = match results.len() {
        0 | 1 => Fold::Open,
        few if few <= OPEN_RESULTS => Fold::Opened,
        _ => Fold::Closed,
    };
    for made in &made {
        if level > 1 {
            let name = made.name.unwrap_or("not saved");
            let id = outline.name("result");
            outline.add(level - 1, &id, name);
            fold.open(&mut body, "result", |body| {
                body.element("h2", &[("id", &id), ("class", "file")], name);
            });
        }
        has_charts |= draw(&mut body, &mut outline, made, (level, results.len()));
        if level > 1 {
            fold.close(&mut body);
        }
    }
    let names = results.iter().filter_map(|titled| titled.name.as_deref());
    let document = Document {
        title: &title,
        outline: &outline,
        body,
        names: names.collect(),
        has_charts,
    };
    document.draw()
}

/// Adds a result, one of so many. Returns whether it has charts.
fn draw(
    body: &mut Markup,
    outline: &mut Outline,
    made: &Made<'_>,
    (level, results): (usize, usize),
) -> bool {
    let is_folded = titles(&made.blocks).count() > 1;
    let drawing = Drawing {
        blocks: &made.blocks,
        charts: &made.charts,
        result: made.result,
        lead: match made.result {
            Drawn::Trace(result) => Some(Lead::Trace(lead::of_trace(outline, result))),
            Drawn::Lab(result) if !is_folded => Some(Lead::Experiment(result)),
            _ => None,
        },
        is_folded,
        level,
        room: room(results),
    };
    let mut whole = Markup::default();
    let scopes = blocks::draw(&mut whole, outline, &drawing);
    if let Drawn::Lab(result) = made.result
        && is_folded
    {
        body.append(&lead::of_lab(result, &scopes));
    }
    body.append(&whole);
    !made.charts.is_empty()
}

fn charts_of(result: Drawn<'_>) -> Vec<Chart> {
    match result {
        Drawn::Lab(result) => charts::of_lab(result),
        Drawn::Trace(result) => charts::of_trace(result),
        Drawn::Doctor(_) | Drawn::Comparison(_) => Vec::new(),
        Drawn::Crash(result) => charts::of_crash(result),
        Drawn::Cache(result) => charts::of_cache(result),
    }
}

fn blocks_of(result: Drawn<'_>) -> Page {
    let mut page = Page::endless();
    match result {
        Drawn::Lab(result) => view::lab::show(&mut page, result, Extent::Everything),
        Drawn::Trace(result) => view::trace::show_all(&mut page, result),
        Drawn::Doctor(result) => view::doctor::show(&mut page, result),
        Drawn::Cache(result) => view::cache::show(&mut page, result, true),
        Drawn::Crash(result) => view::crash::show_all(&mut page, result),
        Drawn::Comparison(result) => {
            view::compare::show(&mut page, result, view::compare::Extent::All);
        }
    }
    page
}

fn titles(blocks: &[Block]) -> impl Iterator<Item = &str> {
    blocks.iter().filter_map(|block| match block {
        Block::Title { name, .. } => Some(name.as_str()),
        _ => None,
    })
}

/// The page's room, shared by its results.
fn room(results: usize) -> Room {
    let results = results.max(1);
    Room {
        rows: (ROOM.rows / results).max(LEAST.rows),
        bytes: (ROOM.bytes / results).max(LEAST.bytes),
    }
}

/// The table of a chart has a row for each of its marks.
const FIGURE_ROOM: Room = Room {
    rows: 2_500,
    bytes: 400_000,
};

/// Adds the chart under a name. `values` is the name of the table that has its figures, where it
/// does not bring its own.
fn draw_figure(
    markup: &mut Markup,
    outline: &mut Outline,
    name: &str,
    (chart, values): (&Chart, Option<&str>),
) {
    let figure = format!("figure-{name}");
    let caption = format!("{figure}-caption");
    let own = [("class", "chart"), ("id", figure.as_str())];
    let data = chart
        .data
        .iter()
        .map(|(name, value)| (*name, value.as_str()));
    let attributes: Vec<_> = own.into_iter().chain(data).collect();
    markup.open("figure", &attributes);
    markup.open("figcaption", &[("id", &caption)]);
    markup.element("strong", &[], &chart.title);
    markup.open("p", &[]);
    markup.text(&chart.summary);
    if let Some(values) = values.filter(|_| chart.tables.is_empty()) {
        markup.text(" ");
        let link = format!("#{values}");
        markup.element("a", &[("href", &link)], "The figures are in the table");
        markup.text(".");
    }
    markup.close("p");
    markup.close("figcaption");
    let attributes = [
        ("class", "drawing"),
        ("role", "img"),
        ("aria-labelledby", &caption),
    ];
    markup.open("div", &attributes);
    markup.append(&chart.drawing);
    markup.close("div");
    if !chart.tables.is_empty() {
        markup.open("details", &[]);
        markup.element("summary", &[], "the figures as a table");
        for table in &chart.tables {
            let id = outline.name(&format!("{name}-table"));
            let names = Names {
                id: &id,
                rows: &format!("{id}-row-"),
                repeats: false,
                caption: if table.name.is_empty() {
                    &chart.title
                } else {
                    &table.name
                },
            };
            table::draw(markup, outline, table, &names, FIGURE_ROOM);
        }
        markup.close("details");
    }
    markup.end("figure");
}

/// How a part stands on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fold {
    /// Always open.
    Open,
    /// Open at first.
    Opened,
    /// Closed at first, and not printed while it is closed.
    Closed,
    /// Closed at first; printed all the same, with the first rows of its tables.
    Printed,
}

impl Fold {
    fn of(result: Drawn<'_>, id: SectionId) -> Self {
        use SectionId::{
            Bytes, Calls, Caveats, Changed, Experiments, Files, Findings, Limit, Missing,
            NotJudged, Notes, Open, OverTime, Reasons, Rows, Strata,
        };
        match (result, id) {
            (Drawn::Trace(_), Findings)
            | (Drawn::Comparison(_), Limit | Open | Experiments | Strata | Findings)
            | (Drawn::Doctor(_) | Drawn::Crash(_), _) => Self::Open,
            (Drawn::Cache(_), Files) => Self::Opened,
            (Drawn::Trace(_), OverTime | Bytes | Files | Calls | Missing)
            | (Drawn::Lab(_), Caveats | Notes)
            | (Drawn::Cache(_), Reasons)
            | (Drawn::Comparison(_), Rows | Changed | NotJudged | Notes) => Self::Printed,
            _ => Self::Closed,
        }
    }

    /// Begins what [`Fold::close`] ends; `summary` draws what is seen of it when it is closed.
    fn open(self, markup: &mut Markup, class: &'static str, summary: impl FnOnce(&mut Markup)) {
        let (class, paper) = match self {
            Self::Open => {
                summary(markup);
                markup.line();
                return;
            }
            Self::Opened | Self::Closed => (class, ""),
            Self::Printed => (class, " on-paper"),
        };
        let class = format!("{class}{paper}");
        match self {
            Self::Opened => markup.open("details", &[("class", &class), ("open", "")]),
            _ => markup.open("details", &[("class", &class)]),
        }
        markup.open("summary", &[]);
        summary(markup);
        markup.end("summary");
    }

    fn close(self, markup: &mut Markup) {
        if self != Self::Open {
            markup.end("details");
        }
    }
}

#[cfg(test)]
mod tests;
