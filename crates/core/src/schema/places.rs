//! What a schema requires of each place in the JSON, in any notation.
//!
//! A place is a path such as `experiments[]<sync>.rows[].timing.median_s`: `[]` is every item, `{}`
//! every value of a map, `<sync>` the value of a tag in the JSON (`id`, `is`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

type Words<'a> = BTreeSet<&'a str>;

/// Tags whose value selects one of several forms of an object.
const TOLD_APART_BY: [&str; 2] = ["id", "is"];

const BOUNDS: [&str; 6] = [
    "maximum",
    "minItems",
    "maxItems",
    "minLength",
    "pattern",
    "format",
];

/// The requirements on a place.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Place {
    /// Possible types of a value; `any` without a restriction.
    pub(super) types: BTreeSet<String>,
    /// The only possible values of a string; empty without a restriction.
    pub(super) values: BTreeSet<String>,
    /// Whether it may be absent.
    pub(super) is_optional: bool,
    /// The minimum number.
    pub(super) minimum: Option<i64>,
    /// Limits of lengths and characters.
    pub(super) bounds: BTreeSet<String>,
}

/// Every place that a schema names.
pub(super) fn places(schema: &Value) -> BTreeMap<String, Place> {
    let mut places = BTreeMap::new();
    Reader { root: schema }.walk("", &[schema], &mut places);
    places
}

/// One of the forms of a value, with all its requirements.
#[derive(Default, Clone)]
struct Form<'a> {
    types: Option<Words<'a>>,
    values: Option<Words<'a>>,
    properties: BTreeMap<&'a str, Vec<&'a Value>>,
    required: Words<'a>,
    items: Vec<&'a Value>,
    map: Vec<&'a Value>,
    minimum: Option<i64>,
    bounds: BTreeSet<String>,
}

struct Reader<'a> {
    root: &'a Value,
}

impl<'a> Reader<'a> {
    fn walk(&self, path: &str, nodes: &[&'a Value], places: &mut BTreeMap<String, Place>) {
        let start = vec![Form::default()];
        let forms = nodes
            .iter()
            .fold(start, |forms, node| both(&forms, &self.forms(node)));
        let place = places.entry(path.to_owned()).or_default();
        for form in &forms {
            form.add_to(place);
        }
        let mut groups: BTreeMap<String, Vec<&Form<'a>>> = BTreeMap::new();
        for form in &forms {
            let names = if forms.len() > 1 {
                self.names(form)
            } else {
                Vec::new()
            };
            for name in if names.is_empty() {
                vec![String::new()]
            } else {
                names
            } {
                groups.entry(name).or_default().push(form);
            }
        }
        for (name, group) in groups {
            let path = format!("{path}{name}");
            for form in &group {
                for (property, nodes) in &form.properties {
                    if !name.is_empty() && TOLD_APART_BY.contains(property) {
                        continue;
                    }
                    let path = format!("{path}.{property}");
                    self.walk(&path, nodes, places);
                    let is_object = |form: &&&Form| {
                        form.types
                            .as_ref()
                            .is_none_or(|types| types.contains("object"))
                    };
                    let place = places.entry(path).or_default();
                    let mut objects = group.iter().filter(is_object);
                    place.is_optional |= !objects.all(|form| form.required.contains(property));
                }
                if !form.items.is_empty() {
                    self.walk(&format!("{path}[]"), &form.items, places);
                }
                if !form.map.is_empty() {
                    self.walk(&format!("{path}{{}}"), &form.map, places);
                }
            }
        }
    }

    fn names(&self, form: &Form<'a>) -> Vec<String> {
        let told = TOLD_APART_BY
            .iter()
            .find_map(|key| form.properties.get(key));
        let forms = told.into_iter().flatten().flat_map(|node| self.forms(node));
        let values = forms.filter_map(|form| form.values).flatten();
        values.map(|value| format!("<{value}>")).collect()
    }

    fn forms(&self, node: &'a Value) -> Vec<Form<'a>> {
        let mut forms = vec![Form::of(node)];
        if let Some(target) = node.get("$ref").and_then(Value::as_str) {
            let target = self.root.pointer(target.trim_start_matches('#'));
            forms = both(
                &forms,
                &self.forms(target.expect("a schema refers to what it has")),
            );
        }
        let mut conditional = Vec::new();
        for part in array(node, "allOf") {
            if let (Some(condition), Some(then)) = (part.get("if"), part.get("then")) {
                conditional.extend(both(&self.forms(condition), &self.forms(then)));
            } else {
                forms = both(&forms, &self.forms(part));
            }
        }
        let of = |key| {
            array(node, key)
                .iter()
                .flat_map(|part| self.forms(part))
                .collect()
        };
        for alternatives in [conditional, of("anyOf"), of("oneOf")] {
            if !alternatives.is_empty() {
                forms = both(&forms, &alternatives);
            }
        }
        forms
    }
}

impl<'a> Form<'a> {
    /// The schema's own requirements, without those of referenced schemas.
    fn of(node: &'a Value) -> Self {
        let values: Vec<_> = array(node, "enum")
            .iter()
            .chain(node.get("const"))
            .collect();
        let strings: Words = values.iter().filter_map(|value| value.as_str()).collect();
        let mut types: Words = array(node, "type")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        types.extend(node.get("type").and_then(Value::as_str));
        if types.is_empty() {
            types = values.iter().map(|value| type_of(value)).collect();
        }
        let properties = node.get("properties").and_then(Value::as_object);
        let items = array(node, "prefixItems").iter().chain(node.get("items"));
        let bounds = BOUNDS
            .iter()
            .filter_map(|key| Some(format!("{key} {}", node.get(key)?)));
        Self {
            types: Some(types).filter(|types| !types.is_empty()),
            values: Some(strings).filter(|strings| !strings.is_empty()),
            properties: properties
                .into_iter()
                .flatten()
                .map(|(name, property)| (name.as_str(), vec![property]))
                .collect(),
            required: array(node, "required")
                .iter()
                .filter_map(Value::as_str)
                .collect(),
            items: items.filter(|items| items.is_object()).collect(),
            map: node.get("additionalProperties").into_iter().collect(),
            // A number above 0 is at least 0.
            minimum: ["minimum", "exclusiveMinimum"]
                .iter()
                .find_map(|key| node.get(key)?.as_i64()),
            bounds: bounds.collect(),
        }
    }

    /// The combination of both; `None` if it is impossible.
    fn and(&self, other: &Self) -> Option<Self> {
        let mut both = self.clone();
        both.types = common(self.types.as_ref(), other.types.as_ref());
        both.values = common(self.values.as_ref(), other.values.as_ref());
        if both.types.as_ref().is_some_and(BTreeSet::is_empty) {
            return None;
        }
        for (name, nodes) in &other.properties {
            both.properties.entry(name).or_default().extend(nodes);
        }
        both.required.extend(&other.required);
        both.items.extend(&other.items);
        both.map.extend(&other.map);
        both.minimum = both.minimum.max(other.minimum);
        both.bounds.extend(other.bounds.iter().cloned());
        Some(both)
    }

    fn add_to(&self, place: &mut Place) {
        match &self.types {
            None => place.types.insert("any".to_owned()),
            Some(types) => {
                place.types.extend(types.iter().map(|&one| one.to_owned()));
                true
            }
        };
        let values = self.values.iter().flatten().map(|&value| value.to_owned());
        place.values.extend(values);
        place.minimum = place.minimum.or(self.minimum);
        place.bounds.extend(self.bounds.iter().cloned());
    }
}

fn both<'a>(one: &[Form<'a>], other: &[Form<'a>]) -> Vec<Form<'a>> {
    one.iter()
        .flat_map(|one| other.iter().filter_map(|other| one.and(other)))
        .collect()
}

fn common<'a>(one: Option<&Words<'a>>, other: Option<&Words<'a>>) -> Option<Words<'a>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one & other),
        (one, other) => one.or(other).cloned(),
    }
}

fn array<'a>(node: &'a Value, key: &str) -> &'a [Value] {
    node.get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[test]
fn a_place_has_what_all_ways_of_saying_it_say() {
    let schema = serde_json::json!({
        "type": "object",
        "required": ["unit"],
        "properties": {"unit": {"$ref": "#/$defs/unit"}, "of": {"type": "array", "items": {
            "properties": {"id": {"type": "string"}},
            "allOf": [{"if": {"properties": {"id": {"const": "a"}}}, "then": {"required": ["x"],
                "properties": {"x": {"anyOf": [{"enum": ["y", "z"]}, {"type": "null"}]}}}}]
        }}},
        "$defs": {"unit": {"type": ["integer", "null"], "minimum": 0}}
    });
    let places = places(&schema);
    let names: Vec<_> = places.keys().map(String::as_str).collect();
    assert_eq!(names, ["", ".of", ".of[]", ".of[].id", ".of[].x", ".unit"]);
    let words = |words: &[&str]| {
        words
            .iter()
            .map(|&word| word.to_owned())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(places[".unit"].types, words(&["integer", "null"]));
    assert!(!places[".unit"].is_optional && places[".of"].is_optional);
    assert_eq!(places[".of[].x"].values, words(&["y", "z"]));
    assert_eq!(places[".unit"].minimum, Some(0));
}
