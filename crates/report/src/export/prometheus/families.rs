//! Metrics by name, as the format requires: all samples of one together, after its help.

use std::fmt::Write as _;

use crate::fields::{Fields, Metric, Value};

pub(super) type Label<'l> = (&'l str, &'l str);

/// All metrics, in the order of their first occurrence.
#[derive(Debug, Default)]
pub(super) struct Families(Vec<Family>);

#[derive(Debug)]
struct Family {
    name: &'static str,
    help: &'static str,
    samples: String,
}

impl Families {
    pub(super) fn add_row<R>(&mut self, labels: &[Label<'_>], fields: &Fields<'_, R>, row: &R) {
        for (metric, value) in fields.metrics(row) {
            self.add(metric, labels, &value);
        }
    }

    /// Adds a sample of the metric `iostrata_NAME`; an unknown value adds nothing.
    pub(super) fn add(&mut self, (name, help): Metric, labels: &[Label<'_>], value: &Value<'_>) {
        let number = match value {
            Value::Count(count) => count.to_string(),
            Value::Signed(number) => number.to_string(),
            Value::Real(real) => real.to_string(),
            _ => return,
        };
        let known = self.0.iter().position(|family| family.name == name);
        let place = known.unwrap_or_else(|| {
            self.0.push(Family {
                name,
                help,
                samples: String::new(),
            });
            self.0.len() - 1
        });
        let samples = &mut self.0[place].samples;
        // Writing to a String cannot fail, here and below.
        _ = write!(samples, "iostrata_{name}{{");
        for (position, (label, text)) in labels.iter().enumerate() {
            let comma = if position == 0 { "" } else { "," };
            _ = write!(samples, "{comma}{label}=\"{}\"", escaped(text));
        }
        _ = writeln!(samples, "}} {number}");
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for family in &self.0 {
            let (name, help) = (family.name, family.help);
            _ = writeln!(text, "# HELP iostrata_{name} {help}");
            _ = writeln!(text, "# TYPE iostrata_{name} gauge");
            text += &family.samples;
        }
        text
    }
}

/// The format requires escapes for these three in label values.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_one_metric_stand_together_and_labels_are_escaped() {
        let mut families = Families::default();
        families.add(
            ("a_bytes", "First"),
            &[("path", "a\"b\\c\nd")],
            &Value::Count(u64::MAX),
        );
        families.add(("b_seconds", "Second"), &[], &Value::Real(0.1));
        families.add(
            ("a_bytes", "First"),
            &[("path", "e"), ("x", "")],
            &Value::Signed(-1),
        );
        families.add(("c", "Unknown"), &[], &Value::Null);
        assert_eq!(
            families.text(),
            "# HELP iostrata_a_bytes First\n# TYPE iostrata_a_bytes gauge\n\
             iostrata_a_bytes{path=\"a\\\"b\\\\c\\nd\"} 18446744073709551615\n\
             iostrata_a_bytes{path=\"e\",x=\"\"} -1\n\
             # HELP iostrata_b_seconds Second\n# TYPE iostrata_b_seconds gauge\n\
             iostrata_b_seconds{} 0.1\n"
        );
    }
}
