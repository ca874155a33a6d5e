//! Options of `iostrata cache`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = EXAMPLES
)]
pub(crate) struct Cache {
    /// What to do
    #[command(subcommand)]
    pub(crate) action: CacheAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CacheAction {
    /// Show how much of files and trees is in the page cache, and where in each file
    #[command(after_help = SHOW)]
    Show(CacheFiles),
    /// Read files into the page cache, and verify that they are there
    #[command(after_help = WARM)]
    Warm(Warm),
    /// Let files go from the page cache, and verify that they are gone
    #[command(after_help = EVICT)]
    Evict(Evict),
}

/// Which files, and what is told of them.
#[derive(Debug, Args)]
pub(crate) struct CacheFiles {
    /// Files, and directories with all that is below them
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// Show every file, not only those with the most resident bytes
    #[arg(long)]
    pub(crate) all_rows: bool,

    /// Also enter directories on other file systems
    #[arg(long)]
    pub(crate) cross: bool,

    /// Also write the result as JSON (iostrata.cache/1); to standard output, and no text, with -
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Warm {
    #[command(flatten)]
    pub(crate) files: CacheFiles,

    /// Begin even if there is less memory than the files need
    #[arg(long)]
    pub(crate) anyway: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Evict {
    #[command(flatten)]
    pub(crate) files: CacheFiles,

    /// Write dirty pages to the storage first (fdatasync): only clean ones can go
    #[arg(long)]
    pub(crate) sync: bool,
}

const EXAMPLES: &str = "\
Examples:
  iostrata cache show /var/lib/postgresql
  iostrata cache warm model.bin
  iostrata cache evict --sync results.db";

const SHOW: &str = "\
Examples:
  iostrata cache show /var/lib/postgresql
  iostrata cache show --all-rows --json cache.json big.db

Nothing is read and nothing changes. Exit code 3 if any file could not be asked.";

const WARM: &str = "\
Examples:
  iostrata cache warm model.bin
  iostrata cache warm --json - data/

Exit code 3 if any file is not wholly resident afterwards; the reasons are listed.";

const EVICT: &str = "\
Examples:
  iostrata cache evict data/
  iostrata cache evict --sync results.db

Only the files that are named are asked to go, never the whole page cache. The kernel begins to
write dirty pages when it is asked, and keeps them; --sync waits until they are written. Exit
code 3 if anything stays resident; the reasons are listed: who maps it, what is dirty.";
