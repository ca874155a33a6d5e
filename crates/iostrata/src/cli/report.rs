//! Options of `iostrata report`.

use std::path::PathBuf;

use clap::Args;

use super::Shown;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Report {
    /// Results that lab, trace or doctor saved; - for standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// Show every row of every file system of a lab result, not only the host's
    #[arg(long)]
    pub(crate) all_rows: bool,

    #[command(flatten)]
    pub(crate) shown: Shown,
}

const EXAMPLES: &str = "\
Examples:
  iostrata report result.json
  iostrata report --files --by process trace.json
  iostrata report --all-rows monday.json tuesday.json";
