//! A trace narrowed to one file, one process, or a part of the run.

use serde_json::{Value, json};

use crate::page::{DESK, Look, PHONE, Page};
use crate::results::{page_of_trace, timed, trace};

const TIMELINE: &str = "document.querySelector('figure[data-buckets]')";

/// What is seen of the elements, in words.
fn texts(page: &mut Page, elements: &str) -> Value {
    page.ask(&format!(
        "[...document.querySelectorAll('{elements}')].filter(e => e.getClientRects().length > 0)\
         .map(e => e.textContent)"
    ))
}

/// Parts and charts that say they are of more than was chosen, with what.
fn marked(page: &mut Page) -> Vec<String> {
    let marked = page.ask(
        "[...document.querySelectorAll('.of-more')].map(e => \
         (e.id || e.closest('section').classList[0]) + ': ' + e.dataset.of)",
    );
    let marked = marked.as_array().unwrap().iter();
    marked.map(|one| one.as_str().unwrap().to_owned()).collect()
}

fn choose(page: &mut Page, place: usize, value: &str) {
    let list = format!("document.querySelectorAll('.chooser select')[{place}]");
    page.ask(&format!(
        "{list}.value = '{value}'; {list}.dispatchEvent(new Event('change')); 0"
    ));
}

/// Zooms to 0.25 to 0.75 of the run of 4 s.
fn zoom(page: &mut Page) {
    page.click(&format!(
        "{TIMELINE}.querySelector('button[aria-label=\"zoom in\"]')"
    ));
}

const FILES: &str = "#trace-files-table tbody th";
const PROCESSES: &str = "#trace-processes-table tbody th";

#[test]
fn a_part_of_the_run_narrows_what_has_a_time() {
    let Some(mut page) = Page::open("part", &page_of_trace(&timed())) else {
        return;
    };
    page.unfold();
    assert_eq!(
        texts(&mut page, FILES),
        json!(["early.log", "late.db", "unknown.so"])
    );
    assert_eq!(marked(&mut page), Vec::<String>::new());
    zoom(&mut page);
    // early.log was last used at 0.5 s; of unknown.so nobody knows.
    assert_eq!(texts(&mut page, FILES), json!(["late.db", "unknown.so"]));
    assert_eq!(
        texts(&mut page, "#trace-file-calls-table .group"),
        json!(["late.db", "unknown.so"])
    );
    assert_eq!(
        texts(&mut page, "#trace-calls-table tbody th"),
        json!(["fsync"])
    );
    // 101 lives from 0 to 4 s, 102 from 2 to 4 s, 103 from 3.5 s on.
    assert_eq!(texts(&mut page, PROCESSES), json!(["main", "middle"]));
    assert_eq!(
        page.count("document.querySelectorAll('#trace-threads-table tbody tr:not(.not-chosen)')"),
        2
    );
    assert_eq!(
        texts(&mut page, "section.findings dd > p:first-child"),
        json!(["small-writes\u{a0}· late.db"])
    );
    let said = page.text("document.querySelector('.chooser p').textContent");
    assert_eq!(
        said,
        "Shown: what is in use between 1 s and 3 s. The figures of each row are of the whole run; \
         what is marked was not narrowed."
    );
    let marks = marked(&mut page);
    assert!(
        marks.contains(&"bytes: of the whole run".to_owned()),
        "{marks:?}"
    );
    assert!(
        marks.contains(&"figure-trace-strata: of the whole run".to_owned()),
        "{marks:?}"
    );
    for narrowed in [
        "files:",
        "calls:",
        "processes:",
        "threads:",
        "over-time:",
        "findings:",
        "figure-trace-timeline:",
    ] {
        assert!(
            !marks.iter().any(|mark| mark.starts_with(narrowed)),
            "{marks:?}"
        );
    }
    page.picture("narrowed");
    page.click("[...document.querySelectorAll('.chooser button')].find(b => b.textContent === 'show the whole run')");
    assert_eq!(
        texts(&mut page, FILES),
        json!(["early.log", "late.db", "unknown.so"])
    );
    assert_eq!(marked(&mut page), Vec::<String>::new());
    assert_eq!(
        page.text("document.querySelector('.chooser p').textContent"),
        ""
    );
    page.is_quiet();
}

#[test]
fn results_without_times_say_that_they_show_the_whole_run() {
    let Some(mut page) = Page::open("untimed", &page_of_trace(&trace())) else {
        return;
    };
    page.unfold();
    let all = texts(&mut page, FILES);
    zoom(&mut page);
    assert_eq!(texts(&mut page, FILES), all);
    let marks = marked(&mut page);
    for part in ["files", "calls", "file-calls"] {
        let expected = format!("{part}: of the whole run");
        assert!(marks.contains(&expected), "{part}: {marks:?}");
    }
    assert!(
        !marks.iter().any(|mark| mark.starts_with("processes:")),
        "{marks:?}"
    );
    page.is_quiet();
}

#[test]
fn a_process_narrows_processes_and_threads() {
    let Some(mut page) = Page::open("process", &page_of_trace(&timed())) else {
        return;
    };
    page.unfold();
    choose(&mut page, 1, "102");
    assert_eq!(texts(&mut page, PROCESSES), json!(["middle"]));
    assert_eq!(
        texts(&mut page, "#trace-threads-table tbody th"),
        json!(["middle"])
    );
    let dimmed = page.ask(&format!(
        "[...{TIMELINE}.querySelectorAll('.mark.other')].map(m => m.dataset.process)"
    ));
    assert_eq!(dimmed, json!(["101", "103"]));
    let marks = marked(&mut page);
    for part in ["files", "calls", "findings", "over-time"] {
        let expected = format!("{part}: of all processes");
        assert!(marks.contains(&expected), "{part}: {marks:?}");
    }
    choose(&mut page, 1, "");
    assert_eq!(
        texts(&mut page, PROCESSES),
        json!(["main", "middle", "last"])
    );
    page.is_quiet();
}

#[test]
fn a_click_on_a_track_chooses_it() {
    let Some(mut page) = Page::open("track", &page_of_trace(&timed())) else {
        return;
    };
    page.unfold();
    let track = |of: &str| format!("{TIMELINE}.querySelector('[data-{of}] .track')");
    page.click(&track("file=\"late.db\""));
    assert_eq!(texts(&mut page, FILES), json!(["late.db"]));
    page.click(&track("process=\"101\""));
    assert_eq!(texts(&mut page, PROCESSES), json!(["main"]));
    let said = page.text("document.querySelector('.chooser p').textContent");
    assert!(
        said.starts_with("Shown: what is of late.db, of process 101."),
        "{said}"
    );
    let marks = marked(&mut page);
    assert!(
        marks.contains(&"bytes: of all files, all processes".to_owned()),
        "{marks:?}"
    );
    assert!(
        marks.contains(&"files: of all processes".to_owned()),
        "{marks:?}"
    );
    page.click(&track("file=\"late.db\""));
    assert_eq!(
        texts(&mut page, FILES),
        json!(["early.log", "late.db", "unknown.so"])
    );
    page.is_quiet();
}

#[test]
fn what_was_chosen_stays_in_sight_and_on_paper() {
    let Some(mut page) = Page::open("sight", &page_of_trace(&timed())) else {
        return;
    };
    for width in [DESK, PHONE] {
        page.look(width, Look::Light);
        page.load();
        page.unfold();
        choose(&mut page, 0, "late.db");
        page.ask(
            "document.getElementById('trace-threads').scrollIntoView({behavior: 'instant'}); 0",
        );
        let top = page.number("document.querySelector('.chooser').getBoundingClientRect().top");
        assert!((0.0..=2.0).contains(&top), "{width}: {top}");
        let height =
            page.number("document.querySelector('.chooser').getBoundingClientRect().height");
        assert!(height <= 230.0, "{width}: {height} pixels of the screen");
    }
    page.look(DESK, Look::Print);
    let printed = texts(&mut page, ".chooser p");
    assert!(
        printed[0].as_str().unwrap().contains("late.db"),
        "{printed}"
    );
    page.is_quiet();
}

#[test]
fn one_file_is_shown_and_the_rest_is_called_the_whole_run() {
    let Some(mut page) = Page::open("one-file", &page_of_trace(&trace())) else {
        return;
    };
    page.unfold();
    let select = "document.querySelector('.chooser select')";
    let choose = |file: &str| {
        format!("{select}.value = '{file}'; {select}.dispatchEvent(new Event('change')); 0")
    };
    let shown = |part: &str| {
        format!(
            "[...document.querySelectorAll('{part}')].filter(e => e.getClientRects().length > 0)"
        )
    };
    let rows = shown("#trace-files-table tbody tr");
    let all = page.count(&rows);
    assert!(all > 1);
    page.ask(&choose("t.db-journal"));
    assert_eq!(page.count(&rows), 1);
    let groups = shown("section.file-calls .group");
    let groups = page.ask(&format!("{groups}.map(e => e.textContent)"));
    let groups = groups.as_array().unwrap();
    assert!(
        !groups.is_empty() && groups.iter().all(|name| name == "t.db-journal (12 files)"),
        "{groups:?}"
    );
    assert_eq!(page.count(&shown("section.findings dl > div")), 1);
    let marked = "[...document.querySelectorAll('details.of-more')]\
        .map(e => e.parentElement.className).join(' ')";
    let marked = page.text(marked);
    assert!(
        marked.contains("bytes") && marked.contains("processes"),
        "{marked}"
    );
    assert!(
        !marked.contains("files") && !marked.contains("sites"),
        "{marked}"
    );
    page.picture("chosen");
    page.ask(&choose(""));
    assert_eq!(page.count(&rows), all);
    assert_eq!(page.count("document.querySelectorAll('.of-more')"), 0);
    page.is_quiet();
}
