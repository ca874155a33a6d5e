//! A trace of a million operations on ten thousand files.

use iostrata_core::evidence::{CallStats, Cause};
use iostrata_core::trace::timeline::{CallSeries, Purpose, RequestSeries};
use iostrata_core::trace::{TaskRow, Timeline, TraceResult};

use crate::page::{DESK, Look, Page};
use crate::results::{page_of_trace, trace};

const FILES: usize = 10_000;
const PROCESSES: u32 = 300;
const OPERATIONS: u64 = 1_000_000;
const BUCKETS: usize = 4_095;

/// Maximum bytes of a page.
const LARGEST: usize = 5_000_000;

/// Maximum number of elements that are laid out before anything is opened: what a browser has to do for the
/// first screen.
const LAID_OUT: u64 = 2_000;

fn large() -> TraceResult {
    let mut result = trace();
    let model = result.files[0].clone();
    let each = OPERATIONS / FILES as u64;
    result.files = (0..FILES)
        .map(|number| {
            let mut file = model.clone();
            file.path = format!("/srv/app/data/{:02}/segment-{number:08}.log", number % 100);
            file.inode = number as u64;
            file.writes = CallStats {
                count: each,
                bytes: each * 4096,
                time_s: 0.01,
                ..CallStats::default()
            };
            for call in &mut file.calls {
                (call.row.first_s, call.row.last_s) = (Some(0.5), Some(1.0));
            }
            file
        })
        .collect();
    let model = result.tasks[0].clone();
    result.tasks = (0..PROCESSES)
        .map(|number| TaskRow {
            process: number,
            thread: number,
            ..model.clone()
        })
        .collect();
    let busy = |step: usize| {
        (0..BUCKETS)
            .map(|at| (at * 7919 % step) as u64)
            .collect::<Vec<_>>()
    };
    let calls = |group, step| CallSeries {
        group,
        counts: busy(step),
        bytes: busy(step * 100),
        time_s: vec![0.001; BUCKETS],
    };
    let requests = |cause, step| RequestSeries {
        cause,
        counts: busy(step),
        bytes: busy(step * 100),
    };
    result.timeline = Some(Timeline {
        bucket_s: 0.004_194_304,
        calls: vec![
            calls(Purpose::Read, 990),
            calls(Purpose::Write, 1_777),
            calls(Purpose::Sync, 13),
            calls(Purpose::Metadata, 77),
        ],
        requests: Some(vec![
            requests(Cause::Read, 31),
            requests(Cause::Data, 177),
            requests(Cause::Journal, 17),
            requests(Cause::Commit, 5),
            requests(Cause::Metadata, 9),
        ]),
        flushes: Some(busy(7)),
        shared: false,
    });
    result
}

#[test]
fn a_million_operations_are_seen_at_once() {
    let html = page_of_trace(&large());
    assert!(html.len() <= LARGEST, "{} bytes", html.len());
    let Some(mut page) = Page::open("large", &html) else {
        return;
    };
    page.look(DESK, Look::Light);
    page.load();
    let painted = "new Promise(done => { const look = () => { \
        const entry = performance.getEntriesByName('first-contentful-paint')[0]; \
        entry ? done(entry.startTime) : setTimeout(look, 20); }; look(); })";
    let first_ms = page.number(painted);
    eprintln!(
        "a page of {} bytes, first painted after {first_ms:.0} ms",
        html.len()
    );
    let laid_out = page
        .count("[...document.querySelectorAll('*')].filter(element => element.checkVisibility())");
    assert!(laid_out <= LAID_OUT, "{laid_out} elements");
    let rows = page.count("document.querySelectorAll('section.files tbody tr')");
    let rest = page.text("document.querySelector('section.files .rest').textContent");
    assert!(
        rows > 100 && rest.contains("more rows"),
        "{rows} rows; {rest}"
    );
    let pages = page.printed_pages();
    assert!((2..=6).contains(&pages), "{pages} pages on paper");
    page.is_quiet();
}
