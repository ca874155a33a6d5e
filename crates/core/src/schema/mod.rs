//! The schemas of results in `docs/schema`, derived from their types.
//!
//! `UPDATE_DOCS=1 cargo test -p iostrata-core --lib schema` regenerates them.

mod layout;
mod saved;

use std::fs;
use std::path::PathBuf;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, json_schema};
use serde_json::{Map, Value, json};

use crate::cache::CacheResult;
use crate::compare::Comparison;
use crate::crash::{CalibrateResult, CrashResult};
use crate::doctor::DoctorResult;
use crate::lab::LabResult;
use crate::top::Interval;
use crate::trace::TraceResult;

/// Generates the schema of a type.
type Derived = fn() -> Value;

/// Each kind of result: its name, and the schema of its type.
const RESULTS: [(&str, Derived); 8] = [
    (crate::cache::SCHEMA, derived::<CacheResult>),
    (crate::crash::CALIBRATE_SCHEMA, derived::<CalibrateResult>),
    (crate::compare::SCHEMA, derived::<Comparison>),
    (crate::crash::SCHEMA, derived::<CrashResult>),
    (crate::doctor::SCHEMA, derived::<DoctorResult>),
    (crate::lab::SCHEMA, derived::<LabResult>),
    (crate::top::SCHEMA, derived::<Interval>),
    (crate::trace::SCHEMA, derived::<TraceResult>),
];

/// Properties of every result.
const EVERYWHERE: &str = "Units are suffixes of the names. A value that could not be had is null, \
     never 0. Further fields may appear anywhere.";

/// `iostrata.lab-1.schema.json`.
fn file(name: &str) -> String {
    format!("{}.schema.json", name.replace('/', "-"))
}

/// A file of the repository, by path.
fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name)
}

/// The form that iostrata writes.
fn derived<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(of_json))
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

/// The schema of one kind of result, with its name.
fn schema(name: &str, derived: Derived) -> Value {
    let Value::Object(mut root) = derived() else {
        panic!("the schema of {name} is no object")
    };
    root["properties"]["schema"] = json!({ "const": name });
    let description = format!("{} {EVERYWHERE}", root["description"].as_str().unwrap());
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), root["$schema"].take());
    schema.insert("$id".to_owned(), file(name).into());
    schema.insert("title".to_owned(), name.into());
    schema.insert("description".to_owned(), description.into());
    for (key, value) in root {
        schema.entry(key).or_insert(value);
    }
    schema.into()
}

/// The description of a type for readers of the JSON.
fn of_json(schema: &mut Schema) {
    schema.remove("format");
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = plain(description);
    }
    one_list_of_values(schema);
    omitted_is_not_null(schema);
    for key in ["type", "description"] {
        if let Some(value) = schema.remove(key) {
            schema
                .ensure_object()
                .shift_insert(0, key.to_owned(), value);
        }
    }
}

/// A field that is omitted when it is empty is never null.
fn omitted_is_not_null(schema: &mut Schema) {
    let Some(Value::Array(required)) = schema.remove("required") else {
        return;
    };
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    for (name, property) in properties {
        if let Value::Object(property) = property
            && !required.contains(&Value::from(name.as_str()))
        {
            property.remove("default");
            without_null(property);
        }
    }
    schema.insert("required".to_owned(), required.into());
}

fn without_null(property: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            property["type"] = only.clone();
        }
    }
    if let Some(Value::Array(forms)) = property.get_mut("anyOf") {
        forms.retain(|form| form["type"] != "null");
        if let [Value::Object(only)] = forms.as_slice() {
            let only = only.clone();
            property.remove("anyOf");
            property.extend(only);
        }
    }
}

/// A sentence of the Rust documentation, rewritten for readers of JSON: one line, with values and
/// names of JSON.
fn plain(description: &str) -> String {
    let words: Vec<_> = description.split_whitespace().collect();
    let text = words.join(" ").replace("[`", "`").replace("`]", "`");
    // For `Row::id`, JSON has the `id`.
    let parts = text
        .split('`')
        .enumerate()
        .map(|(number, part)| match part.rsplit_once("::") {
            Some((_, name)) if number % 2 == 1 => name,
            _ => part,
        });
    let text = parts.collect::<Vec<_>>().join("`");
    text.replace("`None`", "null").replace("`null`", "null")
}

/// Enum values with their own descriptions become one list.
fn one_list_of_values(schema: &mut Schema) {
    let Some(Value::Array(values)) = schema.get("oneOf") else {
        return;
    };
    let names: Option<Vec<_>> = values
        .iter()
        .map(|value| value.get("const").cloned())
        .collect();
    let Some(names) = names else { return };
    let told = values.iter().filter_map(|value| {
        let description = plain(value.get("description")?.as_str()?);
        Some(format!("`{}`: {description}", value["const"].as_str()?))
    });
    let own = schema.get("description").and_then(Value::as_str).map(plain);
    let description = own.into_iter().chain(told).collect::<Vec<_>>().join(" ");
    schema.remove("oneOf");
    schema.insert("enum".to_owned(), names.into());
    schema.insert("description".to_owned(), description.into());
}

/// The id that is written with a row; it is computed from the row.
pub(crate) fn with_id(schema: &mut Schema) {
    let id = json_schema!({
        "description": "Experiment, values of the case and target, such as \
             `sync/fsync/append/1024/1/ext4`: the same in every run and on every machine.",
        "type": "string",
    });
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert("id".to_owned(), id.to_value());
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.push("id".into());
    }
}

#[test]
fn published_schemas_are_derived_from_the_types() {
    for (name, derived) in RESULTS {
        let path = path("docs/schema").join(file(name));
        let derived = layout::text(&schema(name, derived));
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&path, &derived).unwrap();
        }
        let published = fs::read_to_string(&path).unwrap_or_default();
        let line = derived
            .lines()
            .zip(published.lines())
            .position(|(one, other)| one != other);
        assert!(
            derived == published,
            "{} is not what its type says, first in line {:?}; UPDATE_DOCS=1 writes it anew",
            path.display(),
            line.map(|line| line + 1),
        );
    }
}

#[test]
fn no_two_types_of_a_schema_have_one_name() {
    for (name, derived) in RESULTS {
        let schema = schema(name, derived);
        let names = schema["$defs"].as_object().unwrap().keys();
        let numbered: Vec<_> = names
            .filter(|name| name.ends_with(char::is_numeric))
            .collect();
        assert!(numbered.is_empty(), "{name}: {numbered:?}");
    }
}
