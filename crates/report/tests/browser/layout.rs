//! The page without a click: its length, its first screen, and the parts that stay in sight.

use serde_json::json;

use crate::page::{DESK, Look, PHONE, Page, TABLET};
use crate::results::{every_page, page_of_crash, page_of_lab, page_of_trace, sync, trace};

const WIDTHS: [u32; 3] = [DESK, TABLET, PHONE];

/// Before anything is opened, pixels.
const TALLEST: f64 = 6_000.0;

/// Latest start of the first finding or answer, pixels.
const FIRST: f64 = 900.0;

fn each(check: impl Fn(&mut Page, &str, u32)) {
    let Some(mut page) = Page::empty() else {
        return;
    };
    for drawing in every_page() {
        page.turn_to(drawing.name, &drawing.html);
        for width in WIDTHS {
            page.look(width, Look::Light);
            page.load();
            check(&mut page, drawing.name, width);
            page.is_quiet();
        }
    }
}

#[test]
fn nothing_is_long_before_it_is_opened() {
    each(|page, name, width| {
        let height = page.number("document.documentElement.scrollHeight");
        assert!(height <= TALLEST, "{name} at {width}: {height} pixels");
    });
}

#[test]
fn the_first_screen_has_findings_or_answers() {
    each(|page, name, width| {
        let first = "document.querySelector('.findings dl > div, .findings > p, .digest li, \
                     .answers dl > div, .experiments tbody tr')";
        if page.ask(&format!("{first} !== null")) == json!(false) {
            assert!(["cache", "doctor"].contains(&name), "{name} has none");
            return;
        }
        let bottom = page.number(&format!(
            "(({first}).querySelector('p') ?? {first}).getBoundingClientRect().bottom + scrollY"
        ));
        assert!(bottom <= FIRST, "{name} at {width}: {bottom} pixels");
    });
}

#[test]
fn a_trace_begins_with_its_verdict_and_its_time() {
    let Some(mut page) = Page::open("first", &page_of_trace(&trace())) else {
        return;
    };
    for width in WIDTHS {
        page.look(width, Look::Light);
        page.load();
        let place = |page: &mut Page, element: &str| {
            let element = format!("document.querySelector('{element}')");
            page.number(&format!("{element}.getBoundingClientRect().top"))
        };
        let verdict = place(&mut page, ".verdict");
        let bar = place(&mut page, ".bar-of-time");
        let finding = place(&mut page, ".findings dl");
        assert!(verdict < bar && bar < finding, "{width}");
        let drawn = page.number(
            "[...document.querySelectorAll('.bar-of-time rect')]\
             .reduce((sum, rect) => sum + rect.getBoundingClientRect().width, 0)",
        );
        let whole =
            page.number("document.querySelector('.bar-of-time').getBoundingClientRect().width");
        assert!((drawn - whole).abs() < whole * 0.02, "{drawn} of {whole}");
        let named = page.count("document.querySelectorAll('.time .key li')");
        assert_eq!(
            named,
            page.count("document.querySelectorAll('.bar-of-time rect')")
        );
    }
    page.is_quiet();
}

#[test]
fn a_crash_shows_its_operations_without_a_script() {
    let Some(mut page) = Page::open_without_script("crash-first", &page_of_crash()) else {
        return;
    };
    for width in WIDTHS {
        page.look(width, Look::Light);
        page.load();
        let top = page.number(
            "document.querySelector('.findings h3').getBoundingClientRect().bottom + scrollY",
        );
        assert!(top <= FIRST, "{width}: {top} pixels");
        // Ten operations of two threads; the finding is about the last two of them.
        let drawing = "[...document.querySelectorAll('.findings figure .drawing > .plots')]\
                       .find(plots => plots.getBoundingClientRect().height > 50)";
        for (what, count) in [(".mark", 10), (".mark .held", 3), (".mark.cited", 2)] {
            let all = format!("({drawing}).querySelectorAll('{what}')");
            assert_eq!(page.count(&all), count, "{what} at {width}");
        }
        let below = page.ask(&format!(
            "(() => {{ const y = e => e.getBoundingClientRect().bottom; const all = {drawing}; \
             return [...all.querySelectorAll('.mark')].every(mark => \
             y(mark) <= y(all.querySelector('.crash')) + 1); }})()"
        ));
        assert_eq!(below, json!(true), "the crash comes last, {width}");
        page.picture(&width.to_string());
    }
    page.is_quiet();
}

#[test]
fn parts_of_the_bar_differ_without_colour() {
    let Some(mut page) = Page::open("patterns", &page_of_trace(&trace())) else {
        return;
    };
    // Each except the first and the last has its own fill pattern.
    let patterns = page.ask(
        "(() => { const all = [...document.querySelectorAll('pattern')]\
         .map(one => one.getAttribute('patternTransform') + one.querySelector('path').getAttribute('d'));\
         return [all.length, new Set(all).size]; })()",
    );
    assert_eq!(patterns, json!([6, 6]));
    let fills = "[...document.querySelectorAll('.bar-of-time rect')]\
         .map(rect => getComputedStyle(rect).fill)";
    let fills = page.ask(&format!("[{fills}.length, new Set({fills}).size]"));
    assert_eq!(fills[0], fills[1], "{fills}");
    page.is_quiet();
}

/// A table with more files than fit a screen.
fn long() -> String {
    let mut result = trace();
    let model = result.files[0].clone();
    result.files = (0..200)
        .map(|number| {
            let mut file = model.clone();
            file.path = format!("/srv/app/data/segment-{number:08}.log");
            file.inode = number;
            file
        })
        .collect();
    page_of_trace(&result)
}

#[test]
fn heads_and_names_stay_in_sight() {
    let Some(mut page) = Page::open("sticky", &long()) else {
        return;
    };
    for width in WIDTHS {
        page.look(width, Look::Light);
        page.load();
        page.unfold();
        let table = "document.getElementById('trace-files-table')";
        let places = page.ask(&format!(
            "(() => {{ const table = {table}; const box = table.parentElement; \
             box.scrollTop = 900; box.scrollLeft = 300; \
             const of = (e) => e.getBoundingClientRect(); \
             const row = [...table.tBodies[0].rows].find(r => of(r).top > of(box).top + 100); \
             const head = table.tHead.rows[0].cells[0]; \
             return [box.scrollTop, of(head).top - of(box).top, of(head).left - of(box).left, \
                     of(row.cells[0]).left - of(box).left, \
                     of(row.cells[0]).width / of(box).width]; }})()"
        ));
        let place = |index: usize| places[index].as_f64().unwrap();
        assert!(place(0) > 800.0, "{width}: it scrolls: {places}");
        for index in 1..4 {
            assert!(place(index).abs() <= 2.0, "{width}: {places}");
        }
        assert!(place(4) <= 0.6, "{width}: room for figures: {places}");
    }
    page.is_quiet();
}

#[test]
fn files_of_one_name_are_one_row() {
    let mut result = trace();
    let journal = result.files[0].clone();
    result.files = (0..300)
        .map(|inode| {
            let mut file = journal.clone();
            file.inode = inode;
            file
        })
        .collect();
    let Some(mut page) = Page::open("names", &page_of_trace(&result)) else {
        return;
    };
    page.unfold();
    let row = "document.querySelectorAll('#trace-files-table tbody tr')";
    assert_eq!(page.count(row), 1);
    let text = page.text(&format!("{row}[0].textContent"));
    assert!(text.contains("(300 files)"), "{text}");
    page.is_quiet();
}

#[test]
fn links_open_what_they_lead_to_and_mark_every_row() {
    let Some(mut page) = Page::open("links", &page_of_lab(&sync())) else {
        return;
    };
    // The first answer that names several rows.
    let list = "[...document.querySelectorAll('.rows')]\
        .find(list => list.textContent.includes('1, 2') || list.textContent.includes('1–'))";
    let row = "document.getElementById('sync-row-2')";
    let is_shown = format!("{row}.checkVisibility({{contentVisibilityAuto: true}})");
    assert_eq!(page.ask(&is_shown), json!(false), "it is closed at first");
    page.click(&format!("{list}.querySelector('a')"));
    assert_eq!(page.ask(&is_shown), json!(true));
    let named = "[...document.querySelectorAll('tr.named')].map(row => row.id).join(' ')";
    assert_eq!(page.text(named), "sync-row-1 sync-row-2");
    let inside = page.ask(&format!(
        "(() => {{ const b = {row}.getBoundingClientRect(); return b.top >= 0 && b.bottom <= innerHeight; }})()"
    ));
    assert_eq!(inside, json!(true));
    page.is_quiet();
}

#[test]
fn an_address_opens_what_it_leads_to() {
    let Some(mut page) = Page::open("address", &page_of_trace(&trace())) else {
        return;
    };
    let open = "document.getElementById('trace-files').closest('details').open";
    assert_eq!(page.ask(open), json!(false));
    page.ask("location.hash = '#trace-files'; new Promise(done => setTimeout(done, 50))");
    assert_eq!(page.ask(open), json!(true));
    page.is_quiet();
}

#[test]
fn the_calls_of_copies_are_one_table_with_a_choice() {
    let copy = every_page().into_iter().find(|page| page.name == "copy");
    let Some(mut page) = Page::open("choice", &copy.unwrap().html) else {
        return;
    };
    page.unfold();
    let part = "document.querySelector('section.every-call')";
    assert_eq!(page.count(&format!("{part}.querySelectorAll('table')")), 1);
    let choice = format!("{part}.querySelector('select')");
    let shown = format!("[...{part}.querySelectorAll('tbody')].filter(body => !body.hidden)");
    assert_eq!(page.count(&shown), 1, "the first one");
    let all = page.count(&format!("{part}.querySelectorAll('tbody')"));
    assert_eq!(page.count(&format!("{choice}.options")), all + 1);
    page.ask(&format!(
        "{choice}.value = ''; {choice}.dispatchEvent(new Event('change')); 0"
    ));
    assert_eq!(page.count(&shown), all);
    page.is_quiet();
}

#[test]
fn nothing_in_a_drawing_is_cut_off() {
    each(|page, name, width| {
        page.unfold();
        let cut = "[...document.querySelectorAll('.drawing')]\
            .filter(drawing => drawing.getClientRects().length > 0).flatMap(drawing => { \
              const box = drawing.getBoundingClientRect(); \
              return [...drawing.querySelectorAll('text, span, li, p')].filter(text => { \
                const place = text.getBoundingClientRect(); \
                return getComputedStyle(text).visibility !== 'hidden' && place.width > 0 && (place.left < box.left - 3 || place.right > box.right + 3); \
              }).map(text => text.textContent); })";
        assert_eq!(page.ask(cut), json!([]), "{name} at {width}");
    });
}
