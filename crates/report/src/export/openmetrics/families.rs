//! Metrics of one name, with their samples.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use crate::fields::Value;
use crate::format::is_printable;
use crate::words::help;

pub(super) type Labels<'a> = Vec<(&'static str, &'a str)>;

type Sample<'l> = (Labels<'l>, Value<'static>);

pub(super) struct Families<'a, 'b>(&'a mut DescriptorEncoder<'b>);

impl<'a, 'b> Families<'a, 'b> {
    pub(super) fn new(encoder: &'a mut DescriptorEncoder<'b>) -> Self {
        Self(encoder)
    }

    /// A sum that only grows. Its name gets `_total`; without samples it is left out.
    pub(super) fn counter<'l>(
        &mut self,
        name: &str,
        samples: impl IntoIterator<Item = Sample<'l>>,
    ) -> fmt::Result {
        self.described_counter(name, help(name), samples)
    }

    pub(super) fn described_counter<'l>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = Sample<'l>>,
    ) -> fmt::Result {
        self.family(name, help, MetricType::Counter, samples)
    }

    /// A value of this moment.
    pub(super) fn gauge<'l>(
        &mut self,
        name: &str,
        samples: impl IntoIterator<Item = Sample<'l>>,
    ) -> fmt::Result {
        self.family(name, help(name), MetricType::Gauge, samples)
    }

    fn family<'l>(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        samples: impl IntoIterator<Item = Sample<'l>>,
    ) -> fmt::Result {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_none() {
            return Ok(());
        }
        let mut family = self.0.encode_descriptor(name, help, None, kind)?;
        for (labels, value) in samples {
            if labels.is_empty() {
                sample(&mut family, kind, &value)?;
            } else {
                let shown = labels.iter();
                let shown: Vec<_> = shown.map(|(name, text)| (*name, visible(text))).collect();
                sample(&mut family.encode_family(&shown)?, kind, &value)?;
            }
        }
        Ok(())
    }
}

/// Without what would act on a terminal; the formats have an escape for a line break.
fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for char in text.chars() {
        if is_printable(char) || char == '\n' {
            visible.push(char);
        } else {
            visible.extend(char.escape_unicode());
        }
    }
    visible
}

fn sample(metric: &mut MetricEncoder<'_>, kind: MetricType, value: &Value<'_>) -> fmt::Result {
    let is_counter = matches!(kind, MetricType::Counter);
    match value {
        Value::Count(count) if is_counter => {
            metric.encode_counter::<NoLabelSet, _, u64>(count, None)
        }
        Value::Real(real) if is_counter => metric.encode_counter::<NoLabelSet, _, u64>(real, None),
        Value::Count(count) => metric.encode_gauge(count),
        Value::Real(real) => metric.encode_gauge(real),
        // Not a number: there is no sample.
        Value::Null => Ok(()),
        Value::Signed(_) | Value::Flag(_) | Value::Text(_) => Err(fmt::Error),
    }
}
