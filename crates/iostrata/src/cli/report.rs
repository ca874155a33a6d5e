//! Options of `iostrata report`.

use std::path::PathBuf;

use clap::{Args, ValueEnum as _};
use iostrata_core::bytes;
use iostrata_core::record::Limits;

use super::{ExperimentName, Exports, Html, Markdown, Shown};

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Report {
    /// Saved results, or operation logs to export; - for standard input; names of experiments show
    /// their tables [default: the last result of lab or trace]
    #[arg(value_name = "FILE|EXPERIMENT")]
    pub(crate) paths: Vec<PathBuf>,

    /// List the last results of lab and trace, which are saved automatically
    #[arg(long, conflicts_with = "paths")]
    pub(crate) list: bool,

    #[command(flatten)]
    pub(crate) parts: LabParts,

    /// Show every row of every file system of a lab result, not only those of the host, and every
    /// file of a cache result
    #[arg(long)]
    pub(crate) all_rows: bool,

    #[command(flatten)]
    pub(crate) shown: Shown,

    #[command(flatten)]
    pub(crate) html: Html,

    #[command(flatten)]
    pub(crate) markdown: Markdown,

    #[command(flatten)]
    pub(crate) exports: Exports,

    #[command(flatten)]
    pub(crate) limits: LogLimits,
}

/// Parts of a lab result that come after its answers.
#[derive(Debug, Clone, Copy, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option on the command line"
)]
pub(crate) struct LabParts {
    /// Show the tables of a lab result
    #[arg(long)]
    pub(crate) rows: bool,

    /// Show the notes on rows of a lab result
    #[arg(long)]
    pub(crate) notes: bool,

    /// Show the claims behind the answers of a lab result, how its figures were measured, what is
    /// missing, and caveats
    #[arg(long)]
    pub(crate) method: bool,

    /// Show all parts of a lab result
    #[arg(long)]
    pub(crate) all: bool,
}

impl LabParts {
    /// Whether anything is asked for.
    pub(crate) fn is_given(self) -> bool {
        self.rows || self.notes || self.method || self.all
    }
}

impl Report {
    /// Takes names of experiments out of the arguments. A file of such a name is `./sync`.
    pub(crate) fn take_names(&mut self) -> Vec<&'static str> {
        let mut names = Vec::new();
        self.paths.retain(|path| {
            let name = path.to_str().and_then(experiment);
            names.extend(name);
            name.is_none()
        });
        names
    }
}

fn experiment(word: &str) -> Option<&'static str> {
    let all = ExperimentName::value_variants().iter();
    all.map(|name| name.as_str()).find(|name| *name == word)
}

const EXAMPLES: &str = "Examples:
  iostrata report                          the last result of lab or trace
  iostrata report sync                     one experiment of the last lab run, with tables
  iostrata report result.json --method
  iostrata report --files --by process trace.json
  iostrata report --all-rows monday.json tuesday.json
  iostrata report trace.json --html trace.html --open
  iostrata report trace.json --markdown    a summary to paste into an issue
  iostrata report trace.json --parquet tables
  iostrata report lab.json app.log --csv tables
  iostrata report trace.json app.log --perfetto app.trace.json
  iostrata report trace.json --folded - | flamegraph.pl > blocked.svg
  iostrata report trace.json --prometheus /var/lib/node_exporter/iostrata.prom";

#[derive(Debug, Clone, Args)]
pub(crate) struct LogLimits {
    /// Most bytes that an operation log may expand to, counting payload each time it is referenced,
    /// and paths
    #[arg(long, value_name = "SIZE", default_value = "64GiB", value_parser = bytes::parse)]
    pub(crate) log_expands: u64,

    /// Most memory for reading an operation log
    #[arg(long, value_name = "SIZE", default_value = "768MiB", value_parser = bytes::parse)]
    pub(crate) log_memory: u64,
}

impl LogLimits {
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            expanded_bytes: self.log_expands,
            memory_bytes: self.log_memory,
        }
    }
}
