//! The chart over time: zoom, which makes bins finer, its keys, its words and its tracks.

use iostrata_core::evidence::Cause;
use iostrata_core::trace::Timeline;
use iostrata_core::trace::timeline::{CallSeries, Purpose, RequestSeries};
use serde_json::json;

use crate::charts::TIP;
use crate::page::{DESK, Look, PHONE, Page};
use crate::results::{page_of_trace, timed};

const TIMELINE: &str = "document.querySelector('figure[data-buckets]')";
const TIMES: &str = "document.getElementById('trace-timeline-table')";

/// 4,000 buckets of 2.5 ms: 3 writes in every fourth, one sync with its requests at 5 s.
fn timeline() -> Timeline {
    let zeros = || vec![0_u64; 4000];
    let mut writes = zeros();
    for count in writes.iter_mut().step_by(4) {
        *count = 3;
    }
    let (mut syncs, mut data) = (zeros(), zeros());
    syncs[2000] = 1;
    data[2000] = 7;
    let calls = |group, counts: Vec<u64>| CallSeries {
        group,
        bytes: zeros(),
        time_s: vec![0.0; 4000],
        counts,
    };
    Timeline {
        bucket_s: 0.0025,
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
    let mut result = timed();
    result.timeline = Some(timeline());
    result.wall_s = 10.0;
    let mut page = Page::open(name, &page_of_trace(&result))?;
    page.unfold();
    Some(page)
}

/// What the timeline shows: the buckets of its view, and the names on its axis.
fn shown(page: &mut Page) -> (String, String) {
    let view = page.text(&format!(
        "{TIMELINE}.querySelector('svg.zoomed').getAttribute('viewBox')"
    ));
    let ticks = page.text(&format!(
        "[...{TIMELINE}.querySelectorAll('.axis text')]\
         .filter(t => t.getAttribute('visibility') !== 'hidden').map(t => t.textContent).join(' ')"
    ));
    (view, ticks)
}

fn button(name: &str) -> String {
    format!("{TIMELINE}.querySelector('button[aria-label=\"{name}\"]')")
}

/// Bins that a lane of the drawing has, as its path tells.
fn bins(page: &mut Page, lane: &str) -> u64 {
    let path = format!("{TIMELINE}.querySelector('svg[data-lane={lane}] .area').getAttribute('d')");
    page.count(&format!("[...{path}.matchAll(/H/g)]"))
}

fn peak(page: &mut Page) -> String {
    page.text(&format!("{TIMELINE}.querySelector('.figure').textContent"))
}

#[test]
fn zoom_makes_bins_finer() {
    let Some(mut page) = timeline_page("zoom") else {
        return;
    };
    let whole = shown(&mut page);
    assert_eq!(whole, ("0 0 4000 30".to_owned(), "0 2 4 6 8 10".to_owned()));
    let range = format!("{TIMELINE}.querySelector('output').textContent");
    // Bins of 8 buckets, each with two groups of writes.
    assert_eq!(page.text(&range), "0 s to 10 s, in bins of 20 ms");
    assert_eq!(
        (bins(&mut page, "write"), peak(&mut page)),
        (500, "≤ 6".to_owned())
    );
    let rows = format!("[...{TIMES}.tBodies[0].rows]");
    assert_eq!(page.count(&rows), 500);
    page.picture("whole");
    page.click(&button("zoom in"));
    assert_eq!(
        shown(&mut page),
        ("1000 0 2000 30".to_owned(), "3 4 5 6 7".to_owned())
    );
    assert_eq!(page.text(&range), "2.5 s to 7.5 s, in bins of 10 ms");
    assert_eq!(
        (bins(&mut page, "write"), peak(&mut page)),
        (500, "≤ 3".to_owned())
    );
    page.picture("in");
    for _ in 0..3 {
        page.click(&button("zoom in"));
    }
    // 250 buckets, each drawn: every fourth has writes.
    assert_eq!(page.text(&range), "4.6875 s to 5.3125 s, in bins of 2.5 ms");
    assert_eq!(
        (bins(&mut page, "write"), peak(&mut page)),
        (250, "≤ 3".to_owned())
    );
    let times =
        format!("{rows}.slice(0, 3).map(row => [...row.cells].map(c => c.textContent).join(' '))");
    assert_eq!(
        page.ask(&times),
        json!(["4.69 3 0 0 0", "4.7 3 0 0 0", "4.71 3 0 0 0"])
    );
    page.picture("finest");
    page.click(&button("show all"));
    assert_eq!(shown(&mut page), whole);
    assert_eq!((bins(&mut page, "write"), page.count(&rows)), (500, 500));
    page.is_quiet();
}

#[test]
fn a_drag_chooses_what_is_shown() {
    let Some(mut page) = timeline_page("drag") else {
        return;
    };
    let area = format!("{TIMELINE}.querySelector('svg[data-lane]')");
    page.drag(&area, 0.4, 0.6);
    let (dragged, _) = shown(&mut page);
    let parts: Vec<f64> = dragged
        .split(' ')
        .map(|part| part.parse().unwrap())
        .collect();
    assert!(
        (parts[0] - 1600.0).abs() <= 12.0 && (parts[2] - 800.0).abs() <= 24.0,
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
    assert_eq!(page.text(TIP), "9.98 s: write 6");
    page.press("ArrowLeft");
    assert_eq!(page.text(TIP), "9.96 s: write 6");
    page.press("Home");
    assert_eq!(page.text(TIP), "0 s: write 6");
    page.press("+");
    assert_eq!(shown(&mut page).0, "0 0 2000 30");
    page.press("ArrowRight");
    assert_eq!(page.text(TIP), "0.01 s: write 3", "bins are half as long");
    page.press("0");
    assert_eq!(shown(&mut page).0, "0 0 4000 30");
    page.press("Escape");
    assert_eq!(page.text(TIP), "");
    page.is_quiet();
}

#[test]
fn pointing_names_the_moment() {
    let Some(mut page) = timeline_page("moment") else {
        return;
    };
    // The middle of 4,000 buckets is the beginning of bucket 2,000, or the end of the one before.
    page.point_at(&format!("{TIMELINE}.querySelector('svg[data-lane]')"));
    let words = page.text(TIP);
    assert!(
        words == "5 s: write 6, sync 1, data 7" || words == "4.98 s: write 6",
        "{words}"
    );
    page.is_quiet();
}

#[test]
fn processes_and_files_share_the_axis() {
    let Some(mut page) = timeline_page("tracks") else {
        return;
    };
    for (width, class) in [(DESK, "wide"), (PHONE, "narrow")] {
        page.look(width, Look::Light);
        page.load();
        page.unfold();
        let svg = format!("{TIMELINE}.querySelector('.plots')");
        let groups = page.text(&format!(
            "[...{svg}.querySelectorAll('.group')].map(t => t.textContent).join('; ')"
        ));
        let expected = "calls on files; device requests; processes, from start to end \
            (3 of 3); files, from first to last call (2 of 2)";
        let expected = expected.replace(" (3 of 3)", "").replace(" (2 of 2)", "");
        assert_eq!(groups, expected);
        // Every lane and track begins and ends where the others do.
        let plots = page.ask(&format!(
            "(() => {{ const of = [...{svg}.querySelectorAll('.zoomed, .grid')].map(r => r.getBoundingClientRect());\
             return [new Set(of.map(b => b.left)).size, new Set(of.map(b => b.right)).size]; }})()"
        ));
        assert_eq!(plots, json!([1, 1]));
        // The second process lives from 2 s to 4 s of 10.
        let place = page.ask(&format!(
            "(() => {{ const mark = {svg}.querySelector('[data-process=\"102\"]'); \
             const lane = mark.querySelector('.zoomed').getBoundingClientRect(); \
             const bar = mark.querySelector('.track').getBoundingClientRect(); \
             return [(bar.left - lane.left) / lane.width, bar.width / lane.width]; }})()"
        ));
        let share = |index: usize| place[index].as_f64().unwrap();
        assert!(
            (share(0) - 0.2).abs() < 0.01 && (share(1) - 0.2).abs() < 0.01,
            "{place}"
        );
        page.picture(class);
    }
    page.look(DESK, Look::Light);
    page.load();
    page.unfold();
    page.click(&button("zoom in"));
    let views = page.ask(&format!(
        "[...new Set([...{TIMELINE}.querySelectorAll('svg.zoomed')]\
         .map(s => s.getAttribute('viewBox').split(' ').filter((_, i) => i % 2 === 0).join(' ')))]"
    ));
    assert_eq!(views, json!(["1000 2000"]), "all are zoomed alike");
    page.is_quiet();
}
