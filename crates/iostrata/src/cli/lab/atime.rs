//! Options of `lab atime`.

use clap::Args;
use iostrata_core::atime::{Loop, Mount, Operation};
use iostrata_lab::atime;
use iostrata_lab::session::Effort;

use super::named;

#[derive(Debug, Args)]
#[command(next_help_heading = "Options of atime")]
pub(crate) struct AtimeOptions {
    /// Operations on a file, separated by commas; without the loops unless --loop is also given
    /// [default: all]
    #[arg(long, value_name = "OPERATION", value_delimiter = ',',
        value_parser = named(Operation::ALL.map(|one| (one.as_str(), one, ""))))]
    pub(crate) operation: Vec<Operation>,

    /// Files read in a timed loop; without the operations unless --operation is also given
    /// [default: both]
    #[arg(long = "loop", value_name = "LOOP", value_delimiter = ',',
        value_parser = named(Loop::ALL.map(|one| (one.as_str(), one, meaning(one)))))]
    pub(crate) files: Vec<Loop>,

    /// Mount options of the file systems created for the run, separated by commas; other file
    /// systems keep theirs [default: all]
    #[arg(long, value_name = "OPTION", value_delimiter = ',',
        value_parser = named(Mount::ALL.map(|one| (one.as_str(), one, ""))))]
    pub(crate) mount: Vec<Mount>,
}

impl AtimeOptions {
    pub(super) fn plan(&self, effort: Effort) -> atime::Plan {
        let selection = atime::Selection {
            operations: self.operation.clone(),
            loops: self.files.clone(),
            mounts: self.mount.clone(),
            effort,
        };
        selection.plan()
    }
}

fn meaning(files: Loop) -> &'static str {
    match files {
        Loop::OneFile => "one file of 4 KiB, 10,000 times",
        Loop::ManyFiles => "5,000 files of 4 KiB, each once; and once more",
    }
}
