//! Damaged saved results: each is refused, or drawn, exported and compared.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "test helpers")]

use std::io;
use std::path::Path;

use iostrata_core::cache::CacheResult;
use iostrata_core::compare::{self, Limit, Pair, Sides};
use iostrata_core::doctor::DoctorResult;
use iostrata_core::lab::LabResult;
use iostrata_core::trace::{Selection, TraceResult};
use iostrata_report::export::{self, Content, Format, Source, Table, prometheus};
use iostrata_report::html::{Drawn, Titled, page};
use iostrata_report::terminal::lab_screen::{self, Parts, Screen};
use iostrata_report::terminal::{Style, cache, compare as comparison, doctor, trace};
use iostrata_report::{Json, markdown};
use serde_json::Value;

#[path = "../../../core/tests/mutation/mod.rs"]
mod mutation;
mod shapes;

use mutation::{changed, inputs, limited, steps};
use shapes::{Places, shapes};

const WIDTH: usize = 80;

const LAB: &str = include_str!("../saved/lab.json");
const TRACE: &str = include_str!("../saved/trace.json");
const DOCTOR: &str = include_str!("../saved/doctor.json");
const CACHE: &str = include_str!("../saved/cache.json");

/// Reads results with changed bytes; readable ones are used.
fn bytes<T: Json>(test: &str, saved: &str, used: impl Fn(&T)) {
    assert!(T::from_json(saved.as_bytes()).is_ok());
    limited(test, |watch| {
        inputs(|random| {
            let input = changed(saved.as_bytes(), &steps(random));
            watch.input(|| T::from_json(&input).map(|result| used(&result)).ok());
        });
    });
}

/// The same for results with changed values.
fn values<T: Json>(test: &str, saved: &str, used: impl Fn(&T)) {
    let saved: Value = serde_json::from_str(saved).unwrap();
    let places = Places::of(&saved);
    limited(test, |watch| {
        inputs(|random| {
            let input = places.shaped(&saved, &shapes(random)).to_string();
            watch.input(|| {
                T::from_json(input.as_bytes())
                    .map(|result| used(&result))
                    .ok()
            });
        });
    });
}

/// The same for two results, which are compared.
fn both<T: Json>(test: &str, saved: &str, used: impl Fn(&T, &T)) {
    let saved: Value = serde_json::from_str(saved).unwrap();
    let places = Places::of(&saved);
    limited(test, |watch| {
        inputs(|random| {
            let (one, other) = (shapes(random), shapes(random));
            let read = |shapes: &[_]| {
                let input = places.shaped(&saved, shapes).to_string();
                T::from_json(input.as_bytes()).ok()
            };
            watch.input(|| {
                if let (Some(one), Some(other)) = (read(&one), read(&other)) {
                    used(&one, &other);
                }
            });
        });
    });
}

fn source(content: Content<'_>) -> Source<'_> {
    Source {
        number: 1,
        path: Path::new("saved.json"),
        content,
    }
}

/// No name on a page or in a text has an effect.
fn paged(result: Drawn<'_>) {
    let name = Some("saved.json".to_owned());
    let page = page(&[Titled { name, result }]);
    assert!(page.trim_end().ends_with("</html>"));
    plain(&page, "\n\t");
}

#[track_caller]
fn plain(text: &str, but: &str) {
    let control = text
        .chars()
        .find(|it| it.is_control() && !but.contains(*it));
    assert_eq!(control, None);
}

fn names() -> Sides<String> {
    Sides {
        base: "base".to_owned(),
        new: "new".to_owned(),
    }
}

fn compared(mut found: compare::Comparison) {
    found.fail_on(Limit { percent: 5.0 });
    for all_rows in [false, true] {
        let style = |colour| Style { colour, all_rows };
        comparison(&found, WIDTH, style(true));
        plain(&comparison(&found, WIDTH, style(false)), "\n");
    }
    paged(Drawn::Comparison(&found));
    plain(&markdown::compare(&found, true), "\n");
    serde_json::to_string(&found).unwrap();
}

fn trace_is_used(result: &TraceResult) {
    let style = |colour| trace::Style {
        colour,
        findings: true,
        files: true,
        calls: true,
        by: Some(trace::By::Process),
        selection: Selection::default(),
    };
    trace::draw(result, WIDTH, &style(true));
    plain(&trace::draw(result, WIDTH, &style(false)), "\n");
    paged(Drawn::Trace(result));
    let sources = [source(Content::Trace(result))];
    written(export::trace::tables(&[(1, result)]), &sources);
    let base = TraceResult::from_json(TRACE.as_bytes()).unwrap();
    compared(compare::trace(names(), &base, result));
}

fn lab_is_used(result: &LabResult) {
    let screen = |colour| Screen {
        colour,
        parts: Some(Parts::ALL),
        all_rows: true,
        ..Screen::default()
    };
    lab_screen::draw(result, WIDTH, &screen(true));
    plain(&lab_screen::draw(result, WIDTH, &screen(false)), "\n");
    paged(Drawn::Lab(result));
    let sources = [source(Content::Lab(result))];
    written(export::lab::tables(&[(1, result)]), &sources);
}

/// Tables and metrics.
fn written(tables: Vec<Table<'_>>, sources: &[Source<'_>]) {
    let of_all = [export::results(sources), export::missing(sources)];
    for table in tables.into_iter().chain(of_all) {
        table.write(Format::Csv, &mut io::sink()).unwrap();
    }
    prometheus::write(sources, io::sink()).unwrap();
}

fn labs_are_compared(base: &LabResult, new: &LabResult) {
    let pair = |base, new| Pair {
        names: names(),
        results: Sides { base, new },
    };
    compared(compare::lab(&pair(base, new), &[]));
    compared(compare::lab(
        &pair(base, new),
        &[pair(new, base), pair(base, base)],
    ));
}

fn doctor_is_used(result: &DoctorResult) {
    plain(&doctor(result, WIDTH), "\n");
    paged(Drawn::Doctor(result));
}

fn cache_is_used(result: &CacheResult) {
    let style = |colour| Style {
        colour,
        all_rows: true,
    };
    cache(result, WIDTH, style(true));
    plain(&cache(result, WIDTH, style(false)), "\n");
    paged(Drawn::Cache(result));
}

#[test]
fn traces_that_were_changed() {
    bytes("traces_that_were_changed", TRACE, trace_is_used);
}

#[test]
fn traces_with_other_values() {
    values("traces_with_other_values", TRACE, trace_is_used);
}

#[test]
fn labs_that_were_changed() {
    bytes("labs_that_were_changed", LAB, lab_is_used);
}

#[test]
fn labs_with_other_values() {
    values("labs_with_other_values", LAB, lab_is_used);
}

#[test]
fn doctors_that_were_changed() {
    bytes("doctors_that_were_changed", DOCTOR, doctor_is_used);
}

#[test]
fn doctors_with_other_values() {
    values("doctors_with_other_values", DOCTOR, doctor_is_used);
}

#[test]
fn caches_that_were_changed() {
    bytes("caches_that_were_changed", CACHE, cache_is_used);
}

#[test]
fn caches_with_other_values() {
    values("caches_with_other_values", CACHE, cache_is_used);
}

#[test]
fn pairs_of_labs_with_other_values() {
    both("pairs_of_labs_with_other_values", LAB, labs_are_compared);
}

#[test]
fn pairs_of_traces_with_other_values() {
    both("pairs_of_traces_with_other_values", TRACE, |base, new| {
        compared(compare::trace(names(), base, new));
    });
}
