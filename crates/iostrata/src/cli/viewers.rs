//! Options that write a run for viewers of traces and flame graphs.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Clone, Args)]
pub(crate) struct Viewers {
    /// Write Chrome trace events, which ui.perfetto.dev opens: each call where there is an operation
    /// log (--record), otherwise sums over time; to standard output, and no text, with -
    #[arg(long, value_name = "OUT")]
    pub(crate) perfetto: Option<PathBuf>,

    /// Write blocked time by call site as folded stacks in microseconds, for flamegraph.pl, inferno
    /// and speedscope; to standard output, and no text, with -
    #[arg(long, value_name = "OUT")]
    pub(crate) folded: Option<PathBuf>,
}

impl Viewers {
    /// Whether anything is asked for.
    pub(crate) fn is_given(&self) -> bool {
        self.perfetto.is_some() || self.folded.is_some()
    }
}
