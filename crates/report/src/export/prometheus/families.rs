//! Metrics by name, as the format wants them: all samples of one together, after its help.

use std::fmt::Write as _;

/// A label's name and value.
pub(super) type Label<'l> = (&'l str, &'l str);

/// A value: counts are exact, whatever their size.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    Count(u64),
    Signed(i64),
    Real(f64),
}

impl From<u64> for Number {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<i32> for Number {
    fn from(number: i32) -> Self {
        Self::Signed(number.into())
    }
}

impl From<f64> for Number {
    fn from(real: f64) -> Self {
        // The sum of nothing is -0.0.
        Self::Real(real + 0.0)
    }
}

/// All metrics, in the order in which they came first.
#[derive(Debug, Default)]
pub(super) struct Families(Vec<Family>);

#[derive(Debug)]
struct Family {
    name: &'static str,
    help: &'static str,
    /// Lines.
    samples: String,
}

impl Families {
    /// Adds a sample of the metric `iostrata_NAME`; `None` adds nothing.
    pub(super) fn add<N: Into<Number>>(
        &mut self,
        (name, help): (&'static str, &'static str),
        labels: &[Label<'_>],
        value: Option<N>,
    ) {
        let Some(value) = value else { return };
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
        _ = match value.into() {
            Number::Count(count) => writeln!(samples, "}} {count}"),
            Number::Signed(number) => writeln!(samples, "}} {number}"),
            Number::Real(real) => writeln!(samples, "}} {real}"),
        };
    }

    /// The text.
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

/// The format escapes these three in the values of labels.
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
            Some(u64::MAX),
        );
        families.add(("b_seconds", "Second"), &[], Some(0.1));
        families.add(("a_bytes", "First"), &[("path", "e"), ("x", "")], Some(-1));
        families.add(("c", "Unknown"), &[], None::<u64>);
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
