//! A run as Chrome trace events, which ui.perfetto.dev opens ("Trace Event Format", Google, 2016).
//!
//! An event has its time from the result or the log. Data that a result holds only as sums over
//! buckets of time is a counter.

mod event;
mod log;
mod run;

use std::io::{self, Write};

use iostrata_core::trace::TraceResult;

use super::log::Logged;
use event::Events;

/// Writes a result of `trace`, the operations of a log, or both of one run. Memory does not grow
/// with the number of operations.
///
/// # Errors
/// When `output` accepts no more bytes.
pub fn write(
    result: Option<&TraceResult>,
    operations: &mut dyn Iterator<Item = Logged>,
    output: &mut dyn Write,
) -> io::Result<()> {
    let mut events = Events::begin(output)?;
    if let Some(result) = result {
        run::write(result, &mut events)?;
    }
    log::write(operations, &mut events)?;
    events.finish()
}

#[cfg(test)]
mod tests;
