//! The sums of `iostrata serve` as metrics, in the two text formats that Prometheus reads.
//!
//! All that is summed is a counter: it never falls, and rates are Prometheus' business. What is
//! unknown has no sample.

mod families;
mod rows;

use std::fmt;
use std::sync::Arc;

use iostrata_core::top::Sums;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, prometheus_text, text};
use prometheus_client::registry::Registry;

use families::Families;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    OpenMetrics,
    /// The text exposition format of Prometheus, version 0.0.4.
    Text,
}

impl Format {
    /// For the header `Content-Type`.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

const PREFIX: &str = "iostrata";

#[derive(Debug)]
struct Written(Arc<Sums>);

impl Collector for Written {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut families = Families::new(&mut encoder);
        rows::machine(&mut families, &self.0)?;
        rows::disks(&mut families, &self.0)?;
        rows::processes(&mut families, &self.0.processes)?;
        rows::files(&mut families, &self.0.files)?;
        rows::cgroups(&mut families, &self.0.cgroups)?;
        rows::places(&mut families, &self.0)?;
        rows::observer(&mut families, &self.0)
    }
}

/// The metrics as text.
///
/// # Errors
/// None that a `String` has: memory for it is not an error.
pub fn write(sums: &Arc<Sums>, format: Format) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix(PREFIX);
    registry.register_collector(Box::new(Written(Arc::clone(sums))));
    let mut written = String::new();
    match format {
        Format::OpenMetrics => text::encode(&mut written, &registry)?,
        Format::Text => prometheus_text::encode(&mut written, &registry)?,
    }
    Ok(written)
}

#[cfg(test)]
mod tests;
