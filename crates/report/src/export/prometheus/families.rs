//! Metrics by name, as the format requires: all samples of one together, after its help.

use std::borrow::Cow;
use std::io::{self, Write};
use std::rc::Rc;

use crate::fields::{Fields, Metric, Value};
use crate::format::is_printable;

pub(super) type Label<'l> = (Cow<'l, str>, Cow<'l, str>);

pub(super) fn label<'l>(name: impl Into<Cow<'l, str>>, text: impl Into<Cow<'l, str>>) -> Label<'l> {
    (name.into(), text.into())
}

/// All metrics, in the order of their first occurrence. Texts stay where they are until they are written: a path
/// of many megabytes is in each sample of its file.
#[derive(Debug, Default)]
pub(super) struct Families<'l>(Vec<Family<'l>>);

#[derive(Debug)]
struct Family<'l> {
    name: &'static str,
    help: &'static str,
    samples: Vec<(Rc<[Label<'l>]>, String)>,
}

impl<'l> Families<'l> {
    pub(super) fn add_row<R>(&mut self, labels: Vec<Label<'l>>, fields: &Fields<'_, R>, row: &R) {
        let labels = labels.into();
        for (metric, value) in fields.metrics(row) {
            self.add(metric, &labels, &value);
        }
    }

    /// Adds a sample of the metric `iostrata_NAME`; an unknown value adds nothing.
    pub(super) fn add(
        &mut self,
        (name, help): Metric,
        labels: &Rc<[Label<'l>]>,
        value: &Value<'_>,
    ) {
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
                samples: Vec::new(),
            });
            self.0.len() - 1
        });
        self.0[place].samples.push((Rc::clone(labels), number));
    }

    pub(super) fn write(&self, output: &mut impl Write) -> io::Result<()> {
        for family in &self.0 {
            let (name, help) = (family.name, family.help);
            writeln!(output, "# HELP iostrata_{name} {help}")?;
            writeln!(output, "# TYPE iostrata_{name} gauge")?;
            for (labels, number) in &family.samples {
                write!(output, "iostrata_{name}{{")?;
                for (position, (label, text)) in labels.iter().enumerate() {
                    let comma = if position == 0 { "" } else { "," };
                    write!(output, "{comma}{label}=\"")?;
                    write_escaped(text, output)?;
                    write!(output, "\"")?;
                }
                writeln!(output, "}} {number}")?;
            }
        }
        Ok(())
    }
}

/// The format requires escapes for three characters in label values. What would act on a terminal is shown as
/// `\u{1b}`, whose backslash is one of the three.
fn write_escaped(text: &str, output: &mut impl Write) -> io::Result<()> {
    let is_escaped = |char| matches!(char, '\\' | '"') || !is_printable(char);
    for piece in text.split_inclusive(is_escaped) {
        let last = piece.chars().next_back().filter(|last| is_escaped(*last));
        let plain = piece.len() - last.map_or(0, char::len_utf8);
        output.write_all(&piece.as_bytes()[..plain])?;
        match last {
            None => {}
            Some('\n') => write!(output, "\\n")?,
            Some(last @ ('\\' | '"')) => write!(output, "\\{last}")?,
            Some(last) => write!(output, "\\{}", last.escape_unicode())?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_one_metric_stand_together_and_labels_are_escaped() {
        let mut families = Families::default();
        let first = [label("path", "a\"b\\c\nd\u{1b}\u{7f}\u{9b}\u{202e}")];
        families.add(("a_bytes", "First"), &first.into(), &Value::Count(u64::MAX));
        families.add(("b_seconds", "Second"), &[].into(), &Value::Real(0.1));
        let other = [label("path", "e"), label("x", "")];
        families.add(("a_bytes", "First"), &other.into(), &Value::Signed(-1));
        families.add(("c", "Unknown"), &[].into(), &Value::Null);
        let mut text = Vec::new();
        families.write(&mut text).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "# HELP iostrata_a_bytes First\n# TYPE iostrata_a_bytes gauge\n\
             iostrata_a_bytes{path=\"a\\\"b\\\\c\\nd\\\\u{1b}\\\\u{7f}\\\\u{9b}\\\\u{202e}\"} 18446744073709551615\n\
             iostrata_a_bytes{path=\"e\",x=\"\"} -1\n\
             # HELP iostrata_b_seconds Second\n# TYPE iostrata_b_seconds gauge\n\
             iostrata_b_seconds{} 0.1\n"
        );
    }
}
