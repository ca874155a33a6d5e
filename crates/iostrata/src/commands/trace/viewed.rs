//! Exports of a run that was just observed: for viewers and for issues.

use std::iter;

use iostrata_core::record::Limits;
use iostrata_core::trace::TraceResult;
use iostrata_report::markdown;

use crate::cli::Trace;
use crate::commands::report::read::{self, Saved};
use crate::commands::report::viewers;
use crate::commands::written::Markdown;
use crate::commands::written::Viewers;
use crate::error::Failure;

/// The requested files. They are checked to be writable before the program is started.
pub(super) struct Viewed {
    issue: Markdown,
    viewers: Viewers,
}

impl Viewed {
    pub(super) fn open(options: &Trace) -> Result<Self, Failure> {
        Ok(Self {
            issue: Markdown::open(&options.markdown)?,
            viewers: Viewers::open(&options.viewers)?,
        })
    }

    pub(super) fn is_standard_output(&self) -> bool {
        self.issue.is_standard_output() || self.viewers.is_standard_output()
    }

    /// Writes all of them, even if one of them fails.
    pub(super) fn save(self, options: &Trace, result: &TraceResult) -> Result<(), Failure> {
        let style = options.shown.style(false);
        let written = self.issue.save(|| markdown::trace(result, &style));
        let exported = export(options, self.viewers, result);
        written.and(exported)
    }
}

/// With the calls of the operation log, where one was written.
fn export(options: &Trace, to: Viewers, result: &TraceResult) -> Result<(), Failure> {
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
