//! Results as metrics in the text exposition format, for the textfile collector of
//! `node_exporter` (Prometheus documentation, "Exposition formats").
//!
//! All are gauges: a result is a run that has ended, and the next one begins anew. What is
//! unknown has no sample.

mod families;
mod lab;
mod trace;

use std::io::{self, Write};

use super::results::{Content, Source};
use families::Families;

/// Files of a trace that have metrics of their own: those with the most time. A database of
/// metrics keeps a series for every path that ever was in it.
pub const MOST_FILES: usize = 20;

/// Writes the metrics of lab and trace results. Those of an operation log there are none of.
///
/// # Errors
/// When `output` takes no more.
pub fn write(sources: &[Source<'_>], mut output: impl Write) -> io::Result<()> {
    let mut families = Families::default();
    for source in sources {
        let result = source.path.to_string_lossy();
        match source.content {
            Content::Lab(lab) => lab::add(&mut families, &result, lab),
            Content::Trace(trace) => trace::add(&mut families, &result, trace),
            Content::Log(_) => {}
        }
    }
    output.write_all(families.text().as_bytes())
}
