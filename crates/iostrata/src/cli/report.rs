//! Options of `iostrata report`.

use std::path::PathBuf;

use clap::Args;

use super::{Exports, Html, LogLimits, Shown};

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Report {
    /// Results that lab, trace, doctor or cache saved, or operation logs to export; - for
    /// standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// Show every row of every file system of a lab result, not only the host's; every file
    /// of a cache result
    #[arg(long)]
    pub(crate) all_rows: bool,

    #[command(flatten)]
    pub(crate) shown: Shown,

    #[command(flatten)]
    pub(crate) html: Html,

    #[command(flatten)]
    pub(crate) exports: Exports,

    #[command(flatten)]
    pub(crate) limits: LogLimits,
}

const EXAMPLES: &str = "\
Examples:
  iostrata report result.json
  iostrata report --files --by process trace.json
  iostrata report --all-rows monday.json tuesday.json
  iostrata report trace.json --html trace.html --open
  iostrata report trace.json --parquet tables
  iostrata report lab.json app.log --csv tables
  iostrata report trace.json --prometheus /var/lib/node_exporter/iostrata.prom";
