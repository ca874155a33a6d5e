//! Every change that contradicts a published schema has a line here.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use super::places::{Place, places};
use super::{RESULTS, file, path, schema};

/// An intended change: kind of result, part of the places, the change, and why readers can handle
/// it.
type Known = (&'static str, &'static str, &'static str, &'static str);

const CRASH: &str = crate::crash::SCHEMA;
const LAB: &str = crate::lab::SCHEMA;
const COMPARE: &str = crate::compare::SCHEMA;
const TRACE: &str = crate::trace::SCHEMA;

const OLDER: &str = "results of earlier versions lack it, and are read";
const BOTH_ENDS: &str = "both were always there";
const REFUSED: &str = "iostrata never read a result without it";
const WHOLE: &str = "it was always written as a whole number";
const ONE_TYPE: &str =
    "the type is that of traces, of which others may share the disk; lab writes figures";

const KNOWN: [Known; 21] = [
    (
        CRASH,
        ".modes[].model",
        "can now be null",
        "only of runs in block mode, which are asked for by name",
    ),
    (
        COMPARE,
        ".interval_percent",
        "is limited by minItems 2",
        BOTH_ENDS,
    ),
    (
        COMPARE,
        ".interval_percent",
        "is limited by maxItems 2",
        BOTH_ENDS,
    ),
    (
        COMPARE,
        ".others_requests.base",
        "is no longer number",
        WHOLE,
    ),
    (
        COMPARE,
        ".others_requests.base",
        "can now be integer",
        WHOLE,
    ),
    (
        COMPARE,
        ".others_requests.base",
        "has a higher minimum",
        WHOLE,
    ),
    (
        COMPARE,
        ".others_requests.new",
        "is no longer number",
        WHOLE,
    ),
    (COMPARE, ".others_requests.new", "can now be integer", WHOLE),
    (
        COMPARE,
        ".others_requests.new",
        "has a higher minimum",
        WHOLE,
    ),
    (LAB, ".evidence.device.", "can now be null", ONE_TYPE),
    (
        LAB,
        ".evidence.device_after_exit.",
        "can now be null",
        ONE_TYPE,
    ),
    (
        LAB,
        "<atime>.method.warm_up_runs",
        "is no longer required",
        OLDER,
    ),
    (
        LAB,
        "<copy>.method.warm_up_runs",
        "is no longer required",
        OLDER,
    ),
    (
        LAB,
        "<sync>.method.warm_up_runs",
        "is no longer required",
        OLDER,
    ),
    (
        LAB,
        "<buffering>.method.planned_rows",
        "is now required",
        REFUSED,
    ),
    (
        LAB,
        "<page-cache>.method.planned_rows",
        "is now required",
        REFUSED,
    ),
    (
        LAB,
        "<copy>.rows[].case.destination",
        "is no longer required",
        OLDER,
    ),
    (
        LAB,
        "<sync>.method.timing_runs",
        "is limited by minItems 2",
        BOTH_ENDS,
    ),
    (
        LAB,
        "<sync>.method.timing_runs",
        "is limited by maxItems 2",
        BOTH_ENDS,
    ),
    (
        LAB,
        "<sync>.settings",
        "is no longer required",
        "it is not of `sync` alone",
    ),
    (TRACE, ".timeline", "is no longer required", OLDER),
];

fn published(name: &str) -> Value {
    let path = path("crates/core/tests/published").join(file(name));
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// What a reader or a writer using the previous schema would find in the new one: place, and
/// difference.
fn broken(before: &Value, after: &Value) -> Vec<(String, String)> {
    let after = places(after);
    let mut broken = Vec::new();
    for (path, before) in places(before) {
        let said = match after.get(&path) {
            None => vec!["is gone".to_owned()],
            Some(after) => differences(&before, after),
        };
        broken.extend(said.into_iter().map(|what| (path.clone(), what)));
    }
    broken
}

fn differences(before: &Place, after: &Place) -> Vec<String> {
    let mut said = Vec::new();
    let mut say = |what: &str, words: Vec<&String>| {
        said.extend(words.iter().map(|word| format!("{what} {word}")));
    };
    say("is no longer", missing(&before.types, &after.types));
    say("can now be", missing(&after.types, &before.types));
    say("is limited by", missing(&after.bounds, &before.bounds));
    if !after.values.is_empty() {
        say("is never again", missing(&before.values, &after.values));
    }
    if before.values.is_empty() && !after.values.is_empty() {
        said.push("is one of few values".to_owned());
    }
    if after.minimum > before.minimum {
        said.push("has a higher minimum".to_owned());
    }
    if before.is_optional != after.is_optional {
        let now = if after.is_optional {
            "no longer"
        } else {
            "now"
        };
        said.push(format!("is {now} required"));
    }
    said
}

fn missing<'a>(from: &'a BTreeSet<String>, other: &BTreeSet<String>) -> Vec<&'a String> {
    from.iter().filter(|word| !other.contains(*word)).collect()
}

#[test]
fn nothing_that_was_published_has_changed_unseen() {
    let mut known = BTreeSet::new();
    let mut unseen = Vec::new();
    for (name, derived) in RESULTS {
        for (path, what) in broken(&published(name), &schema(name, derived)) {
            let is_it =
                |known: &&Known| known.0 == name && path.contains(known.1) && known.2 == what;
            match KNOWN.iter().find(is_it) {
                Some(one) => drop(known.insert(one)),
                None => unseen.push(format!("{name} {path} {what}")),
            }
        }
    }
    assert!(unseen.is_empty(), "{unseen:#?}");
    assert_eq!(
        known.len(),
        KNOWN.len(),
        "of these some are no longer so: {KNOWN:#?}"
    );
}

#[test]
fn every_kind_of_break_is_seen() {
    let before = json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": "integer"}, "b": {"enum": ["x", "y"]}, "c": {"type": "string"}}});
    let break_with = |place: &str, value: Value| {
        let mut after = before.clone();
        *after.pointer_mut(place).unwrap() = value;
        let broken = broken(&before, &after);
        broken
            .into_iter()
            .map(|(path, what)| format!("{path} {what}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(break_with("/properties/c/type", json!("string")), [""; 0]);
    assert_eq!(
        break_with("/properties/a/type", json!(["integer", "null"])),
        [".a can now be null"]
    );
    assert_eq!(
        break_with("/properties/a/type", json!("string")),
        [".a is no longer integer", ".a can now be string"]
    );
    assert_eq!(
        break_with("/required", json!([])),
        [".a is no longer required"]
    );
    assert_eq!(
        break_with("/required", json!(["a", "c"])),
        [".c is now required"]
    );
    assert_eq!(
        break_with("/properties/b/enum", json!(["x", "z"])),
        [".b is never again y"]
    );
    assert_eq!(
        break_with("/properties/c", json!({"const": "z"})),
        [".c is one of few values"]
    );
    assert_eq!(
        break_with("/properties/a", json!({"type": "integer", "minimum": 1})),
        [".a has a higher minimum"]
    );
    assert_eq!(
        break_with("/properties", json!({"a": {"type": "integer"}})),
        [".b is gone", ".c is gone"]
    );
}
