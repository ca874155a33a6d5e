//! Results as one page of HTML that needs nothing beside itself: no network, no other file, and
//! no script to be read.

mod blocks;
mod charts;
mod document;
mod figure;
mod markup;
mod outline;
mod table;

use iostrata_core::cache::CacheResult;
use iostrata_core::doctor::DoctorResult;
use iostrata_core::lab::LabResult;
use iostrata_core::trace::TraceResult;

use self::blocks::Drawing;
use self::document::Document;
use self::markup::Markup;
use self::outline::Outline;
use self::table::Room;
use crate::view;
use crate::view::lab::Extent;
use crate::view::page::{Block, Page};

/// What a page of one result has room for. Ten thousand files stay below 5 MB and
/// are laid out in less than a second.
const ROOM: Room = Room {
    rows: 1_000,
    bytes: 300_000,
};

/// What each of many results has room for at least.
const LEAST: Room = Room {
    rows: 50,
    bytes: 20_000,
};

/// A result of any kind.
#[derive(Debug, Clone, Copy)]
pub enum Drawn<'a> {
    /// Of `lab`.
    Lab(&'a LabResult),
    /// Of `trace`.
    Trace(&'a TraceResult),
    /// Of `doctor`.
    Doctor(&'a DoctorResult),
    /// Of `cache`.
    Cache(&'a CacheResult),
}

/// A result, and what it is called.
#[derive(Debug, Clone)]
pub struct Titled<'a> {
    /// Of the file that holds it; `None` where it was not saved.
    pub name: Option<String>,
    /// The result.
    pub result: Drawn<'a>,
}

/// The page: a whole document. What it does not hold of very long results it says.
pub fn page(results: &[Titled<'_>]) -> String {
    let drawn: Vec<(Page, &Titled<'_>)> = results
        .iter()
        .map(|titled| (blocks_of(titled.result), titled))
        .collect();
    let titles = drawn.iter().map(|(page, _)| titles(page));
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
    for (page, titled) in &drawn {
        if level > 1 {
            let name = titled.name.as_deref().unwrap_or("not saved");
            let id = outline.name("result");
            outline.add(level - 1, &id, name);
            body.element("h2", &[("id", &id), ("class", "file")], name);
        }
        let charts = match titled.result {
            Drawn::Lab(result) => charts::of_lab(result),
            Drawn::Trace(result) => charts::of_trace(result),
            Drawn::Doctor(_) => Vec::new(),
            Drawn::Cache(result) => charts::of_cache(result),
        };
        has_charts |= !charts.is_empty();
        let drawing = Drawing {
            blocks: page.blocks(),
            charts: &charts,
            has_experiments: matches!(titled.result, Drawn::Lab(_)),
            level,
            room: room(results.len()),
        };
        blocks::draw(&mut body, &mut outline, &drawing);
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

fn blocks_of(result: Drawn<'_>) -> Page {
    let mut page = Page::endless();
    match result {
        Drawn::Lab(result) => view::lab::show(&mut page, result, Extent::Everything),
        Drawn::Trace(result) => view::trace::show_all(&mut page, result),
        Drawn::Doctor(result) => view::doctor::show(&mut page, result),
        Drawn::Cache(result) => view::cache::show(&mut page, result, true),
    }
    page
}

fn titles(page: &Page) -> impl Iterator<Item = &str> {
    page.blocks().iter().filter_map(|block| match block {
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

#[cfg(test)]
mod tests;
