//! What `--perfetto` and `--folded` write of a run that was just observed.

use std::iter;

use iostrata_core::record::Limits;
use iostrata_core::trace::TraceResult;

use crate::cli::Trace;
use crate::commands::report::read::{self, Saved};
use crate::commands::report::viewers;
use crate::commands::viewers::Viewers;
use crate::error::Failure;

/// Writes them, with the calls of the operation log where one was written.
pub(super) fn save(options: &Trace, to: Viewers, result: &TraceResult) -> Result<(), Failure> {
    let recorded = options.record.as_deref();
    match recorded.filter(|_| options.viewers.perfetto.is_some()) {
        None => to.save(Some(result), &mut iter::empty()),
        Some(path) => match read::saved(path)? {
            Saved::Log(log) => {
                let reading = log.read(1, Limits::default())?;
                viewers::save(to, Some(result), &log, reading)
            }
            _ => Err(Failure::Input(format!(
                "{} is not an operation log",
                path.display()
            ))),
        },
    }
}
