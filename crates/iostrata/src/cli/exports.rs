//! Export formats of results.

use std::path::PathBuf;

use clap::Args;

use super::Viewers;

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
