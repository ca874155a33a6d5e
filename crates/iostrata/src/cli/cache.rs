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
    /// Show how much of each file is cached, and which parts
    #[command(after_help = SHOW)]
    Show(CacheFiles),
    /// Read files into the page cache, and verify that they are cached
    #[command(after_help = WARM)]
    Warm(Warm),
    /// Evict files from the page cache, and verify that they are gone
    #[command(after_help = EVICT)]
    Evict(Evict),
}

/// Which files, and how they are shown.
#[derive(Debug, Args)]
pub(crate) struct CacheFiles {
    /// Files and directories, recursively
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// Show every file, not only those with the most resident bytes
    #[arg(long)]
    pub(crate) all_rows: bool,

    /// Also enter directories on other file systems
    #[arg(long)]
    pub(crate) cross: bool,

    /// Also write the result as JSON (iostrata.cache/1); - for standard output, without text
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Warm {
    #[command(flatten)]
    pub(crate) files: CacheFiles,

    /// Start even if the files need more memory than is available
    #[arg(long)]
    pub(crate) anyway: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Evict {
    #[command(flatten)]
    pub(crate) files: CacheFiles,

    /// Write dirty pages back first (fdatasync); only clean pages can be evicted
    #[arg(long)]
    pub(crate) sync: bool,
}

const EXAMPLES: &str = "\
Examples:
  iostrata cache show /var/lib/postgresql
  iostrata cache warm model.bin
  iostrata cache evict --sync results.db";

const SHOW: &str = "Examples:
  iostrata cache show /var/lib/postgresql
  iostrata cache show --all-rows --json cache.json big.db

Nothing is read or changed. Exit code 3 if the residency of any file is unknown.";

const WARM: &str = "Examples:
  iostrata cache warm model.bin
  iostrata cache warm --json - data/

Exit code 3 if any file is not fully resident afterwards; the reasons are listed.";

const EVICT: &str = "\
Examples:
  iostrata cache evict data/
  iostrata cache evict --sync results.db

Only the named files are evicted, never the whole page cache. The kernel keeps dirty pages and only
starts their write-back; --sync waits until they are written. Exit code 3 if anything stays
resident; the reasons are listed: which processes map it, what is dirty.";
