//! Every saved result is valid by its schema and reads back as it is; results that the reader refuses are not valid.

use std::collections::BTreeSet;
use std::fs;

use jsonschema::Validator;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{RESULTS, path, schema};
use crate::cache::CacheResult;
use crate::compare::{self, Comparison, Limit, Pair, Sides};
use crate::crash::{CalibrateResult, CrashResult};
use crate::doctor::DoctorResult;
use crate::lab::LabResult;
use crate::top::{self, Interval};
use crate::trace::TraceResult;

const ROOMS: [&str; 3] = [
    "docs/results",
    "crates/report/tests/saved",
    "crates/report/tests/browser/saved",
];

/// Saved results up to this size are changed place by place: they have every kind of row.
const CHANGED_BYTES: usize = 120_000;

/// Every saved result by its path, and comparisons of some.
fn results() -> Vec<(String, Value)> {
    let mut results = Vec::new();
    for room in ROOMS {
        for entry in fs::read_dir(path(room)).unwrap() {
            let path = entry.unwrap().path();
            let result = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            results.push((path.display().to_string(), result));
        }
    }
    results.push(("two labs".to_owned(), labs_compared()));
    results.push(("two traces".to_owned(), traces_compared()));
    let [counted, of_proc] = top::tests::intervals();
    results.push(("an interval".to_owned(), counted));
    results.push(("an interval of /proc".to_owned(), of_proc));
    results
}

fn read<T: DeserializeOwned>(name: &str) -> T {
    serde_json::from_slice(&fs::read(path(name)).unwrap()).unwrap()
}

fn names() -> Sides<String> {
    Sides {
        base: "base.json".to_owned(),
        new: "new.json".to_owned(),
    }
}

fn labs_compared() -> Value {
    let base: LabResult = read("docs/results/quick.json");
    let mut new = base.clone();
    new.environment.kernel.push('x');
    let pair = Pair {
        names: names(),
        results: Sides {
            base: &base,
            new: &new,
        },
    };
    let mut compared = compare::lab(&pair, &[]);
    compared.fail_on(Limit::parse("5%").unwrap());
    serde_json::to_value(compared).unwrap()
}

fn traces_compared() -> Value {
    let base: TraceResult = read("crates/report/tests/browser/saved/trace.json");
    let mut new = base.clone();
    for call in &mut new.syscalls {
        call.stats.count += 1;
    }
    let mut compared = compare::trace(names(), &base, &new);
    compared.fail_on(Limit::parse("5%").unwrap());
    serde_json::to_value(compared).unwrap()
}

fn validator(result: &Value) -> Validator {
    let mut kinds = RESULTS.iter().filter(|(name, _)| result["schema"] == *name);
    let (name, derived) = kinds.next().unwrap();
    jsonschema::draft202012::new(&schema(name, *derived)).unwrap()
}

/// The result, read and written again; `None` where the reader refuses it.
fn again(result: &Value) -> Option<Value> {
    fn written<T: DeserializeOwned + Serialize>(result: &Value) -> Option<Value> {
        let read = T::deserialize(result).ok()?;
        Some(serde_json::to_value(read).unwrap())
    }
    match result["schema"].as_str() {
        Some(crate::cache::SCHEMA) => written::<CacheResult>(result),
        Some(compare::SCHEMA) => written::<Comparison>(result),
        Some(crate::crash::SCHEMA) => written::<CrashResult>(result),
        Some(crate::crash::CALIBRATE_SCHEMA) => written::<CalibrateResult>(result),
        Some(crate::doctor::SCHEMA) => written::<DoctorResult>(result),
        Some(crate::lab::SCHEMA) => written::<LabResult>(result),
        Some(top::SCHEMA) => written::<Interval>(result),
        Some(crate::trace::SCHEMA) => written::<TraceResult>(result),
        _ => None,
    }
}

#[test]
fn every_saved_result_is_one_by_its_schema() {
    let results = results();
    let kinds: BTreeSet<_> = results
        .iter()
        .map(|(_, result)| result["schema"].as_str())
        .collect();
    assert_eq!(kinds.len(), RESULTS.len(), "{kinds:?}");
    for (name, result) in results {
        let validator = validator(&result);
        let errors: Vec<_> = validator
            .iter_errors(&result)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
    }
}

/// The words of gaps, which `iostrata_report::words` makes from their codes.
fn drop_words(value: &mut Value) {
    match value {
        Value::Object(object) if object.contains_key("code") => {
            object.retain(|name, _| name != "what" && name != "why");
        }
        Value::Object(object) => object.values_mut().for_each(drop_words),
        Value::Array(items) => items.iter_mut().for_each(drop_words),
        _ => {}
    }
}

#[test]
fn every_saved_result_reads_back_as_it_is() {
    for (name, mut result) in results() {
        let mut read = again(&result).unwrap();
        drop_words(&mut read);
        drop_words(&mut result);
        assert_eq!(read, result, "{name}");
    }
}

/// Pointers to every place of a value; of a list, the items whose fields differ from those of
/// earlier items.
fn pointers(
    value: &Value,
    at: &str,
    seen: &mut BTreeSet<String>,
    kind: &str,
    into: &mut Vec<String>,
) {
    if !seen.insert(format!("{kind} {}", fields(value))) {
        return;
    }
    if !at.is_empty() {
        into.push(at.to_owned());
    }
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let kind = format!("{kind}.{name}");
                pointers(
                    field,
                    &format!("{at}/{}", name.replace('/', "~1")),
                    seen,
                    &kind,
                    into,
                );
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                pointers(
                    item,
                    &format!("{at}/{number}"),
                    seen,
                    &format!("{kind}[]"),
                    into,
                );
            }
        }
        _ => {}
    }
}

/// The property that distinguishes values at one place, as far as their schema does.
fn fields(value: &Value) -> String {
    match value {
        Value::Object(fields) => fields.keys().cloned().collect::<Vec<_>>().join(","),
        Value::Array(items) => format!("[{}", items.len().min(2)),
        Value::Null => "null".to_owned(),
        _ => "value".to_owned(),
    }
}

/// The value with another type in a place, and without the place.
fn hostile(result: &Value, pointer: &str) -> Vec<Value> {
    let mut other = result.clone();
    let value = other.pointer_mut(pointer).unwrap();
    *value = match value {
        Value::String(_) | Value::Bool(_) | Value::Null => json!([{}]),
        Value::Number(_) | Value::Array(_) => json!("other"),
        Value::Object(_) => json!(17),
    };
    let mut absent = result.clone();
    let (object, name) = pointer.rsplit_once('/').unwrap();
    let fields = absent.pointer_mut(object).and_then(Value::as_object_mut);
    let removed = fields.and_then(|fields| fields.shift_remove(&name.replace("~1", "/")));
    let mut hostile = vec![other];
    hostile.extend(removed.map(|_| absent));
    hostile
}

#[test]
fn what_the_reader_of_results_refuses_is_none_by_the_schema() {
    let (mut refused, mut seen) = (0, BTreeSet::new());
    for (name, result) in results() {
        if result.to_string().len() > CHANGED_BYTES {
            continue;
        }
        let validator = validator(&result);
        let mut places = Vec::new();
        let kind = result["schema"].as_str().unwrap();
        pointers(&result, "", &mut seen, kind, &mut places);
        // A schema that lists every code of what is missing is longer than all the rest.
        let places = places.iter().filter(|place| !place.contains("/code/"));
        for place in places {
            for hostile in hostile(&result, place) {
                if again(&hostile).is_none() {
                    refused += 1;
                    assert!(
                        !validator.is_valid(&hostile),
                        "{name}: {place} may be anything"
                    );
                }
            }
        }
    }
    assert!(refused > 1500, "{refused}");
}
