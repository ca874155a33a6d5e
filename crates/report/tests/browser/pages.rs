//! Every kind of page: wide and narrow, light and dark, on paper, and without its scripts.

use serde_json::Value;

use crate::page::{DESK, Look, PHONE, Page, TABLET};
use crate::results::every_page;

/// Pages of one result on paper.
const MOST_PAGES: usize = 6;

/// Width of a sheet between its margins, pixels.
const PAPER: u32 = 720;

/// Problems found by a check in the page, as text.
fn problems(page: &mut Page, check: &str) -> Vec<String> {
    let found = page.ask(check);
    let found = found.as_array().expect("checks answer with a list");
    found
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// Elements that make the page wider than its window; boxes with their own scroll bar do not.
fn beyond(width: u32) -> String {
    format!(
        "document.documentElement.scrollWidth <= {width} ? [] : \
         [...document.querySelectorAll('body *')]\
         .filter(e => e.getBoundingClientRect().right > {width} && !e.closest('.scroll'))\
         .map(e => e.outerHTML.slice(0, 150))"
    )
}

#[test]
fn every_page_is_sound_at_every_width_and_colour() {
    let Some(mut page) = Page::empty() else {
        return;
    };
    for drawing in every_page() {
        page.turn_to(drawing.name, &drawing.html);
        for (width, at) in [(DESK, "wide"), (TABLET, "middle"), (PHONE, "narrow")] {
            for (look, colours) in [(Look::Light, "light"), (Look::Dark, "dark")] {
                page.look(width, look);
                page.load();
                page.picture(&format!("{at}-{colours}"));
                let name = format!("{} {at} {colours}", drawing.name);
                let closed = problems(&mut page, &beyond(width));
                assert!(closed.is_empty(), "{name}: {closed:#?}");
                page.unfold();
                page.picture(&format!("{at}-{colours}-open"));
                let beyond = problems(&mut page, &beyond(width));
                assert!(beyond.is_empty(), "{name}, opened: {beyond:#?}");
                let structure = problems(&mut page, include_str!("structure.js"));
                assert!(structure.is_empty(), "{name}: {structure:#?}");
                let contrast = problems(&mut page, include_str!("contrast.js"));
                assert!(contrast.is_empty(), "{name}: {contrast:#?}");
                page.is_quiet();
            }
        }
    }
}

#[test]
fn paper_is_a_report() {
    let Some(mut page) = Page::empty() else {
        return;
    };
    for drawing in every_page() {
        page.turn_to(drawing.name, &drawing.html);
        page.look(PAPER, Look::Print);
        page.picture("paper");
        let tools = "[...document.querySelectorAll('nav, .tools, .controls, .tip')]\
            .filter(e => e.getClientRects().length > 0)";
        assert_eq!(page.count(tools), 0, "{}", drawing.name);
        let scrolls = "[...document.querySelectorAll('.scroll')]\
            .filter(e => ['auto', 'scroll'].includes(getComputedStyle(e).overflowY))";
        assert_eq!(page.count(scrolls), 0, "{}", drawing.name);
        let pages = page.printed_pages();
        let results = page
            .count("document.querySelectorAll('details.result')")
            .max(1);
        let most = MOST_PAGES * usize::try_from(results).unwrap();
        assert!(
            (1..=most).contains(&pages),
            "{}: {pages} pages",
            drawing.name
        );
        page.is_quiet();
    }
}

#[test]
fn without_scripts_every_table_and_drawing_is_there() {
    let counts = "JSON.stringify([...document.querySelectorAll('main table')]\
        .map(t => [t.id, t.rows.length]))";
    let drawings = "[...document.querySelectorAll('.drawing > .plots')]\
        .filter(e => e.getBoundingClientRect().height > 50)";
    let (Some(mut with), Some(mut without)) = (Page::empty(), Page::empty_without_script()) else {
        return;
    };
    for drawing in every_page() {
        with.turn_to(drawing.name, &drawing.html);
        without.turn_to(drawing.name, &drawing.html);
        with.unfold();
        without.unfold();
        let controls = "document.querySelectorAll('.tools, .controls, thead button')";
        assert_eq!(without.count(controls), 0, "scripts are off");
        assert_eq!(with.text(counts), without.text(counts), "{}", drawing.name);
        let shown = without.count(drawings);
        assert_eq!(with.count(drawings), shown, "{}", drawing.name);
        assert_eq!(shown, without.count("document.querySelectorAll('figure')"));
        without.picture("no-script");
        without.is_quiet();
    }
}
