//! Options of `iostrata merge`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Merge {
    /// Saved lab results, each from another machine, or all parts of one crash; - for standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// Machine name, one for each file in order, instead of a label made from disk, CPUs and kernel
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) machine: Vec<String>,

    /// Show every row of every file system, not only those of the host
    #[arg(long)]
    pub(crate) all_rows: bool,

    /// Of parts of crash: the recording, where it is not in the directory that they name
    #[arg(long, value_name = "DIR")]
    pub(crate) from: Option<PathBuf>,

    /// Also write the result as JSON; - for standard output, without text
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  iostrata merge web1.json web2.json
  iostrata merge --machine old,new old.json new.json --json both.json
  iostrata report both.json --html both.html
  iostrata merge part-*.json --json whole.json";
