//! Saved results that somebody has changed: each is refused, or drawn, exported and compared.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "test helpers")]

use std::io;
use std::path::Path;

use iostrata_core::cache::CacheResult;
use iostrata_core::compare::{self, Pair, Sides};
use iostrata_core::doctor::DoctorResult;
use iostrata_core::lab::LabResult;
use iostrata_core::trace::TraceResult;
use iostrata_report::export::{self, Content, Format, Source, Table};
use iostrata_report::terminal::{cache, compare as comparison, doctor, lab, trace};
use iostrata_report::{Json, markdown};
use proptest::prelude::*;

#[path = "../../core/tests/mutation/mod.rs"]
mod mutation;

use mutation::{changed, inputs, limited, steps};

const WIDTH: usize = 80;

/// Reads changed results; what can be read is used.
fn reader<T: Json>(test: &str, saved: &str, used: impl Fn(&T)) {
    assert!(T::from_json(saved.as_bytes()).is_ok());
    limited(test, |watch| {
        proptest!(inputs(), |(steps in steps())| {
            let input = changed(saved.as_bytes(), &steps);
            watch.input(|| T::from_json(&input).map(|result| used(&result)).ok());
        });
    });
}

fn exported(tables: Vec<Table<'_>>) {
    for table in tables {
        table.write(Format::Csv, &mut io::sink()).unwrap();
    }
}

fn source(content: Content<'_>) -> Source<'_> {
    Source {
        number: 1,
        path: Path::new("saved.json"),
        content,
    }
}

fn names() -> Sides<String> {
    Sides {
        base: "base".to_owned(),
        new: "new".to_owned(),
    }
}

fn compared(found: &compare::Comparison) {
    let style = comparison::Style {
        colour: true,
        all_rows: true,
    };
    comparison::draw(found, WIDTH, style);
    markdown::compare::draw(found, true);
}

#[test]
fn traces_that_were_changed() {
    let saved = include_str!("saved/trace.json");
    let base = TraceResult::from_json(saved.as_bytes()).unwrap();
    let style = trace::Style {
        colour: true,
        findings: true,
        files: true,
        calls: true,
        by: Some(trace::By::Process),
    };
    reader("traces_that_were_changed", saved, |result: &TraceResult| {
        trace::draw(result, WIDTH, style);
        exported(export::trace::tables(&[(1, result)]));
        exported(vec![export::results(&[source(Content::Trace(result))])]);
        compared(&compare::trace(names(), &base, result));
    });
}

#[test]
fn labs_that_were_changed() {
    let saved = include_str!("saved/lab.json");
    let base = LabResult::from_json(saved.as_bytes()).unwrap();
    let style = lab::Style {
        colour: true,
        all_rows: true,
    };
    reader("labs_that_were_changed", saved, |result: &LabResult| {
        lab::draw(result, WIDTH, style);
        exported(export::lab::tables(&[(1, result)]));
        exported(vec![export::missing(&[source(Content::Lab(result))])]);
        let results = Sides {
            base: &base,
            new: result,
        };
        let pair = Pair {
            names: names(),
            results,
        };
        compared(&compare::lab(&pair, &[]));
    });
}

#[test]
fn doctors_that_were_changed() {
    let saved = include_str!("saved/doctor.json");
    reader(
        "doctors_that_were_changed",
        saved,
        |result: &DoctorResult| {
            doctor::draw(result, WIDTH);
        },
    );
}

#[test]
fn caches_that_were_changed() {
    let saved = include_str!("saved/cache.json");
    let style = cache::Style {
        colour: true,
        all_rows: true,
    };
    reader("caches_that_were_changed", saved, |result: &CacheResult| {
        cache::draw(result, WIDTH, style);
    });
}
