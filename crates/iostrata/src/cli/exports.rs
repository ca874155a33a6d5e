//! What other programs read results as.

use std::path::PathBuf;

use clap::Args;

use super::Viewers;

#[derive(Debug, Clone, Args)]
pub(crate) struct Exports {
    /// Write tables to this directory as Parquet files; draw nothing
    #[arg(long, value_name = "DIR")]
    pub(crate) parquet: Option<PathBuf>,

    /// Write the same tables as CSV files; draw nothing
    #[arg(long, value_name = "DIR")]
    pub(crate) csv: Option<PathBuf>,

    /// Write metrics for Prometheus, of the 20 files with the most time in a trace; draw
    /// nothing; to standard output with -
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
