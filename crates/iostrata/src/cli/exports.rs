//! Options that write a result: as a page, as Markdown, as tables, for viewers of traces and flame graphs.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Clone, Args)]
pub(crate) struct Exports {
    /// Write tables to this directory as Parquet files instead of printing
    #[arg(long, value_name = "DIR")]
    pub(crate) parquet: Option<PathBuf>,

    /// Write tables to this directory as CSV files instead of printing
    #[arg(long, value_name = "DIR")]
    pub(crate) csv: Option<PathBuf>,

    /// Write Prometheus metrics instead of printing, with the 20 files that took the most time in a
    /// trace; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) prometheus: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) viewers: Viewers,
}

impl Exports {
    /// Whether anything is asked for.
    pub(crate) fn is_given(&self) -> bool {
        self.parquet.is_some()
            || self.csv.is_some()
            || self.prometheus.is_some()
            || self.viewers.is_given()
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Html {
    /// Write a self-contained HTML page with every table; - for standard output, without text
    #[arg(long, value_name = "OUT")]
    pub(crate) html: Option<PathBuf>,

    /// Open the page on this desktop
    #[arg(long, requires = "html")]
    pub(crate) open: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Markdown {
    /// Write the answers of lab, or the summary of trace, as Markdown for an issue; to standard
    /// output, and no text, without =OUT
    #[arg(
        long,
        value_name = "OUT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "-"
    )]
    pub(crate) markdown: Option<PathBuf>,
}

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
