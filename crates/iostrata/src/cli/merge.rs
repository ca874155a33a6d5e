//! Options of `iostrata merge`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Merge {
    /// Results that lab saved, each on another machine; - for standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// Name of a machine, once for each file and in their order, instead of the label made from
    /// its disk, CPUs and kernel
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) machine: Vec<String>,

    /// Show every row of every file system, not only the host's
    #[arg(long)]
    pub(crate) all_rows: bool,

    /// Also write the result as JSON (iostrata.lab/1); to standard output, and no text, with -
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  iostrata merge web1.json web2.json
  iostrata merge --machine old,new old.json new.json --json both.json
  iostrata report both.json --html both.html";
