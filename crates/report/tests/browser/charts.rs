//! Charts: tooltips, keys, and zoom.

use iostrata_core::evidence::Cause;
use iostrata_core::trace::Timeline;
use iostrata_core::trace::timeline::{CallSeries, Purpose, RequestSeries};

use crate::page::{DESK, Look, PHONE, Page};
use crate::results::{page_of_lab, page_of_trace, sync, trace};

const TIP: &str = "document.querySelector('figure.chart .tip:not([hidden])')?.textContent ?? ''";
const TIMELINE: &str = "document.querySelector('figure[data-buckets]')";

/// 1,000 buckets of 10 ms: writes in every second one, one sync with its requests at 5 s.
fn timeline() -> Timeline {
    let zeros = || vec![0_u64; 1000];
    let mut writes = zeros();
    for count in writes.iter_mut().step_by(2) {
        *count = 3;
    }
    let (mut syncs, mut data) = (zeros(), zeros());
    syncs[500] = 1;
    data[500] = 7;
    let calls = |group, counts: Vec<u64>| CallSeries {
        group,
        bytes: zeros(),
        time_s: vec![0.0; 1000],
        counts,
    };
    Timeline {
        bucket_s: 0.01,
        calls: vec![calls(Purpose::Write, writes), calls(Purpose::Sync, syncs)],
        requests: Some(vec![RequestSeries {
            cause: Cause::Data,
            bytes: zeros(),
            counts: data,
        }]),
        flushes: Some(zeros()),
        shared: false,
    }
}

fn timeline_page(name: &str) -> Option<Page> {
    let mut result = trace();
    result.timeline = Some(timeline());
    let mut page = Page::open(name, &page_of_trace(&result))?;
    page.unfold();
    Some(page)
}

/// The timeline's buckets in view, and the labels on its axis.
fn shown(page: &mut Page) -> (String, String) {
    let view = page.text(&format!(
        "{TIMELINE}.querySelector('svg.zoomed').getAttribute('viewBox')"
    ));
    let ticks = page.text(&format!(
        "[...{TIMELINE}.querySelectorAll('svg.wide text.time')]\
         .filter(t => t.getAttribute('visibility') !== 'hidden').map(t => t.textContent).join(' ')"
    ));
    (view, ticks)
}

#[test]
fn zoom_changes_what_is_shown() {
    let Some(mut page) = timeline_page("zoom") else {
        return;
    };
    let whole = shown(&mut page);
    assert_eq!(whole, ("0 0 1000 30".to_owned(), "0 2 4 6 8 10".to_owned()));
    let button = |name: &str| format!("{TIMELINE}.querySelector('button[aria-label=\"{name}\"]')");
    page.click(&button("zoom in"));
    assert_eq!(
        shown(&mut page),
        ("250 0 500 30".to_owned(), "3 4 5 6 7".to_owned())
    );
    let range = format!("{TIMELINE}.querySelector('output').textContent");
    assert_eq!(page.text(&range), "2.5 s to 7.5 s");
    // Every second bucket from 250 to 749.
    let rows = format!(
        "[...{TIMELINE}.querySelectorAll('tbody tr')].filter(row => row.getClientRects().length > 0)"
    );
    assert_eq!(page.count(&rows), 250);
    page.picture("in");
    page.click(&button("later"));
    assert_eq!(shown(&mut page).0, "500 0 500 30");
    page.click(&button("show all"));
    assert_eq!(shown(&mut page), whole);
    let area = format!("{TIMELINE}.querySelector('svg.wide .ground-lane')");
    page.drag(&area, 0.4, 0.6);
    let (dragged, _) = shown(&mut page);
    let parts: Vec<f64> = dragged
        .split(' ')
        .map(|part| part.parse().unwrap())
        .collect();
    assert!(
        (parts[0] - 400.0).abs() <= 3.0 && (parts[2] - 200.0).abs() <= 6.0,
        "{dragged}"
    );
    page.is_quiet();
}

#[test]
fn keys_zoom_and_read() {
    let Some(mut page) = timeline_page("keys") else {
        return;
    };
    page.ask(&format!("{TIMELINE}.querySelector('.drawing').focus()"));
    page.press("End");
    assert_eq!(page.text(TIP), "9.98 s: write 3");
    page.press("ArrowLeft");
    assert_eq!(page.text(TIP), "9.96 s: write 3");
    page.press("Home");
    assert_eq!(page.text(TIP), "0 s: write 3");
    page.press("+");
    assert_eq!(shown(&mut page).0, "0 0 500 30");
    page.press("0");
    assert_eq!(shown(&mut page).0, "0 0 1000 30");
    page.press("Escape");
    assert_eq!(page.text(TIP), "");
    page.is_quiet();
}

#[test]
fn pointing_names_the_moment() {
    let Some(mut page) = timeline_page("moment") else {
        return;
    };
    // The middle of 1,000 buckets is the beginning of bucket 500.
    page.point_at(&format!(
        "{TIMELINE}.querySelector('svg.wide .ground-lane')"
    ));
    let words = page.text(TIP);
    assert!(
        words == "5 s: write 3, sync 1, data 7" || words == "4.99 s: nothing",
        "{words}"
    );
    page.is_quiet();
}

#[test]
fn pointing_at_a_mark_says_what_it_is() {
    let Some(mut page) = Page::open("tip", &page_of_lab(&sync())) else {
        return;
    };
    for (width, class) in [(DESK, "wide"), (PHONE, "narrow")] {
        page.look(width, Look::Light);
        page.load();
        page.unfold();
        page.point_at(&format!("document.querySelector('svg.{class} .mark .dot')"));
        let words = page.text(TIP);
        assert!(
            words.starts_with("row 1 · fsync append 1 KiB on ext4: "),
            "{words}"
        );
        assert!(words.contains("syncs/s (range: "), "{words}");
        let inside = "(() => { const b = document.querySelector('.tip:not([hidden])')\
            .getBoundingClientRect(); return b.left >= 0 && b.right <= innerWidth; })()";
        assert_eq!(page.ask(inside), serde_json::json!(true));
        page.picture(class);
        page.is_quiet();
    }
}

#[test]
fn arrows_go_from_mark_to_mark() {
    let Some(mut page) = Page::open("arrows", &page_of_lab(&sync())) else {
        return;
    };
    page.unfold();
    page.ask("document.querySelector('figure.chart .drawing').focus()");
    page.press("ArrowRight");
    let first = page.text(TIP);
    page.press("ArrowRight");
    let second = page.text(TIP);
    assert!(
        first.starts_with("row 1 ·") && second.starts_with("row 2 ·"),
        "{first}; {second}"
    );
    page.press("ArrowLeft");
    assert_eq!(page.text(TIP), first);
    page.press("Tab");
    assert_eq!(page.text(TIP), "", "the words go with the focus");
    page.is_quiet();
}
