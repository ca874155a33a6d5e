//! Metrics of one name, with their samples.

use std::fmt;

use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, MetricEncoder, NoLabelSet,
};
use prometheus_client::metrics::MetricType;

pub(super) type Labels<'a> = Vec<(&'static str, &'a str)>;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    Count(u64),
    Seconds(f64),
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<f64> for Value {
    fn from(seconds: f64) -> Self {
        Self::Seconds(seconds)
    }
}

impl From<usize> for Value {
    fn from(count: usize) -> Self {
        Self::Count(u64::try_from(count).unwrap_or(u64::MAX))
    }
}

pub(super) struct Families<'a, 'b>(&'a mut DescriptorEncoder<'b>);

impl<'a, 'b> Families<'a, 'b> {
    pub(super) fn new(encoder: &'a mut DescriptorEncoder<'b>) -> Self {
        Self(encoder)
    }

    /// A sum that only grows. Its name gets `_total`; without samples it is left out.
    pub(super) fn counter<'l, V: Into<Value>>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Labels<'l>, V)>,
    ) -> fmt::Result {
        self.family(name, help, MetricType::Counter, samples, |metric, value| {
            fn add(metric: &mut MetricEncoder<'_>, value: &impl EncodeCounterValue) -> fmt::Result {
                metric.encode_counter::<NoLabelSet, _, u64>(value, None)
            }
            match value {
                Value::Count(count) => add(metric, &count),
                Value::Seconds(seconds) => add(metric, &seconds),
            }
        })
    }

    /// A value of this moment.
    pub(super) fn gauge<'l, V: Into<Value>>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Labels<'l>, V)>,
    ) -> fmt::Result {
        self.family(name, help, MetricType::Gauge, samples, |metric, value| {
            fn add(metric: &mut MetricEncoder<'_>, value: &impl EncodeGaugeValue) -> fmt::Result {
                metric.encode_gauge(value)
            }
            match value {
                Value::Count(count) => add(metric, &count),
                Value::Seconds(seconds) => add(metric, &seconds),
            }
        })
    }

    fn family<'l, V: Into<Value>>(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        samples: impl IntoIterator<Item = (Labels<'l>, V)>,
        write: impl Fn(&mut MetricEncoder<'_>, Value) -> fmt::Result,
    ) -> fmt::Result {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_none() {
            return Ok(());
        }
        let mut family = self.0.encode_descriptor(name, help, None, kind)?;
        for (labels, value) in samples {
            let value = value.into();
            if labels.is_empty() {
                write(&mut family, value)?;
            } else {
                write(&mut family.encode_family(&labels)?, value)?;
            }
        }
        Ok(())
    }
}
