//! What of a trace is drawn.

use clap::{Args, ValueEnum};
use iostrata_report::terminal::trace::{By, Style};

/// Parts that come after the summary.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Shown {
    /// Show every finding of a trace, with its evidence and advice
    #[arg(long)]
    findings: bool,

    /// Show every file of a trace
    #[arg(long)]
    files: bool,

    /// Show every call of a trace, over all files and of each file
    #[arg(long)]
    calls: bool,

    /// Show every process or thread of a trace
    #[arg(long, value_enum, value_name = "WHO")]
    by: Option<Who>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Who {
    Process,
    Thread,
}

impl Shown {
    /// Whether anything is asked for.
    pub(crate) fn is_given(self) -> bool {
        self.findings || self.files || self.calls || self.by.is_some()
    }

    /// As the renderer takes it.
    pub(crate) fn style(self, colour: bool) -> Style {
        Style {
            colour,
            findings: self.findings,
            files: self.files,
            calls: self.calls,
            by: self.by.map(|by| match by {
                Who::Process => By::Process,
                Who::Thread => By::Thread,
            }),
        }
    }
}
