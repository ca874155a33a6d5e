//! Results as metrics in the text exposition format, for the textfile collector of
//! `node_exporter` (Prometheus documentation, "Exposition formats").
//!
//! All are gauges: a result is a finished run, and the next one starts over. Unknown values have no
//! sample.

mod families;
mod lab;
mod trace;

use std::io::{self, Write};

use super::results::{Content, Source};
use families::Families;

/// Number of files of a trace with their own metrics: those with the most time. A metrics database
/// keeps a series for every path that it ever received.
pub const MOST_FILES: usize = 20;

/// Writes the metrics of lab and trace results. Operation logs have none.
///
/// # Errors
/// When `output` accepts no more bytes.
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
