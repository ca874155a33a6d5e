//! Saved results can be changed by any user: whatever figures a file contains, drawing it produces
//! text and never panics.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "test helpers")]

use iostrata_core::cache::CacheResult;
use iostrata_core::compare::{self, Comparison, Limit, Pair, Sides};
use iostrata_core::doctor::DoctorResult;
use iostrata_core::lab::LabResult;
use iostrata_core::trace::{Selection, TraceResult};
use iostrata_report::markdown;
use iostrata_report::terminal::lab_screen::{self, Parts, Screen};
use iostrata_report::terminal::{Style, cache, compare as comparison, doctor, trace};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Width of a page.
const WIDTHS: [usize; 3] = [1, 80, 300];

/// Every place of a result that contains a figure or a text.
fn places(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                places(field, format!("{at}/{}", name.replace('/', "~1")), found);
            }
        }
        Value::Array(items) => {
            for (position, item) in items.iter().enumerate() {
                places(item, format!("{at}/{position}"), found);
            }
        }
        Value::Number(_) | Value::String(_) => found.push(at),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Draws the result with each figure in turn at one extreme, and with all of them at each.
fn survives<T: DeserializeOwned>(saved: &str, draw: impl Fn(&T, usize)) {
    let saved: Value = serde_json::from_str(saved).unwrap();
    let mut found = Vec::new();
    places(&saved, String::new(), &mut found);
    for place in &found {
        let mut one = saved.clone();
        *one.pointer_mut(place).unwrap() = json!(u64::MAX);
        // Some places do not accept it: then it is not a result.
        if let Ok(result) = serde_json::from_value::<T>(one) {
            draw(&result, 80);
        }
    }
    for extreme in [
        json!(u64::MAX),
        json!(u32::MAX),
        json!(0),
        json!(f64::MAX),
        json!(-1.5),
        json!("\u{1b}[2J\n"),
    ] {
        let mut all = saved.clone();
        for place in &found {
            let before = std::mem::replace(all.pointer_mut(place).unwrap(), extreme.clone());
            if T::deserialize(&all).is_err() {
                *all.pointer_mut(place).unwrap() = before;
            }
        }
        let result = T::deserialize(&all).unwrap();
        for width in WIDTHS {
            draw(&result, width);
        }
    }
}

#[test]
fn traces() {
    let everything = trace::Style {
        colour: true,
        findings: true,
        files: true,
        calls: true,
        by: Some(trace::By::Process),
        selection: Selection::default(),
    };
    survives(
        include_str!("saved/trace.json"),
        |result: &TraceResult, width| {
            trace::draw(result, width, &everything);
        },
    );
}

#[test]
fn labs() {
    let everything = Screen {
        colour: true,
        parts: Some(Parts::ALL),
        all_rows: true,
        ..Screen::default()
    };
    survives(
        include_str!("saved/lab.json"),
        |result: &LabResult, width| {
            lab_screen::draw(result, width, &everything);
        },
    );
}

#[test]
fn doctors() {
    survives(
        include_str!("saved/doctor.json"),
        |result: &DoctorResult, width| {
            doctor(result, width);
        },
    );
}

#[test]
fn caches() {
    let everything = Style {
        colour: true,
        all_rows: true,
    };
    survives(
        include_str!("saved/cache.json"),
        |result: &CacheResult, width| {
            cache(result, width, everything);
        },
    );
}

/// A width in a format has 16 bits.
#[test]
fn a_setting_may_be_long() {
    let saved = include_str!("saved/doctor.json");
    let mut result: DoctorResult = serde_json::from_str(saved).unwrap();
    result.settings[0].value = "x".repeat(70_000);
    result.settings[1].name = "y".repeat(70_000);
    let text = doctor(&result, 80);
    assert!(text.contains("xxx") && text.contains("yyy"));
}

/// Compares a saved result with itself after its figures were changed, and draws the result.
fn compared<T: DeserializeOwned>(
    saved: &'static str,
    compare: impl Fn(Sides<String>, &T, &T) -> Comparison,
) {
    let base: T = serde_json::from_str(saved).unwrap();
    let style = Style {
        colour: true,
        all_rows: true,
    };
    survives(saved, |new: &T, width| {
        let names = Sides {
            base: "base".to_owned(),
            new: "\u{1b}[2J".to_owned(),
        };
        let mut found = compare(names, &base, new);
        found.fail_on(Limit { percent: 5.0 });
        comparison(&found, width, style);
        markdown::compare(&found, true);
    });
}

#[test]
fn comparisons() {
    for count in [1, 3] {
        compared(include_str!("saved/lab.json"), |names, base, new| {
            let results = Sides { base, new };
            let pairs = vec![Pair { names, results }; count];
            compare::lab(&pairs[0], &pairs[1..])
        });
    }
    compared(include_str!("saved/trace.json"), compare::trace);
}
