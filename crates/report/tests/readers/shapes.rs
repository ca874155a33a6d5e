//! Results that are valid JSON by their schema, with values that no run has.

use serde_json::{Value, json};

use crate::mutation::Random;

/// One change. Indices are taken modulo the length.
#[derive(Debug, Clone)]
pub(crate) enum Shape {
    /// Replaces a figure or a text.
    Put(usize, usize),
    /// Removes a value from an array.
    Less(usize, usize),
    /// Repeats a value of an array this many times.
    More(usize, usize, usize),
    /// Empties an array or an object.
    Empty(usize),
}

/// The new value.
fn values() -> Vec<Value> {
    vec![
        json!(0),
        json!(1),
        json!(u64::MAX),
        json!(i64::MAX),
        json!(u32::MAX),
        json!(u16::MAX),
        json!(f64::MAX),
        json!(f64::MIN_POSITIVE),
        json!(1e-300),
        json!(-1),
        json!(-0.0),
        json!(f64::MIN),
        json!(""),
        json!("\u{1b}[2J\r\n\t\u{0}\u{202e}\u{9b}"),
        json!("</script><script>"),
        json!("x".repeat(70_000)),
        json!("\u{1f600}\u{301}".repeat(300)),
        json!(null),
        json!(true),
        json!(false),
    ]
}

pub(crate) fn shapes(random: &mut Random) -> Vec<Shape> {
    (0..=random.below(5)).map(|_| shape(random)).collect()
}

fn shape(random: &mut Random) -> Shape {
    let (at, which) = (random.below(1 << 20), random.below(1 << 20));
    match random.below(12) {
        0..8 => Shape::Put(at, which),
        8..10 => Shape::Less(at, which),
        10 => Shape::More(at, which, 1 + random.below(49)),
        _ => Shape::Empty(at),
    }
}

/// Paths of figures and texts, and of containers.
#[derive(Debug, Default)]
pub(crate) struct Places {
    leaves: Vec<String>,
    arrays: Vec<String>,
}

impl Places {
    pub(crate) fn of(value: &Value) -> Self {
        let mut places = Self::default();
        places.find(value, String::new());
        places
    }

    fn find(&mut self, value: &Value, at: String) {
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    self.find(field, format!("{at}/{}", name.replace('/', "~1")));
                }
            }
            Value::Array(items) => {
                for (position, item) in items.iter().enumerate() {
                    self.find(item, format!("{at}/{position}"));
                }
                self.arrays.push(at);
            }
            // The kind of the result stays.
            Value::String(_) if at == "/schema" => {}
            _ => self.leaves.push(at),
        }
    }

    /// The result with its changes. Places removed by an earlier change are skipped.
    pub(crate) fn shaped(&self, saved: &Value, shapes: &[Shape]) -> Value {
        let values = values();
        let mut result = saved.clone();
        for shape in shapes {
            match *shape {
                Shape::Put(at, which) => {
                    let place = &self.leaves[at % self.leaves.len()];
                    if let Some(value) = result.pointer_mut(place) {
                        *value = values[which % values.len()].clone();
                    }
                }
                Shape::Less(at, which) => self.items(&mut result, at, |items| {
                    drop(items.remove(which % items.len()));
                }),
                Shape::More(at, which, times) => self.items(&mut result, at, |items| {
                    let item = items[which % items.len()].clone();
                    items.extend(vec![item; times]);
                }),
                Shape::Empty(at) => self.items(&mut result, at, Vec::clear),
            }
        }
        result
    }

    fn items(&self, result: &mut Value, at: usize, change: impl Fn(&mut Vec<Value>)) {
        let place = self
            .arrays
            .get(at.checked_rem(self.arrays.len()).unwrap_or(0));
        let items = place.and_then(|place| result.pointer_mut(place)?.as_array_mut());
        if let Some(items) = items.filter(|items| !items.is_empty()) {
            change(items);
        }
    }
}
