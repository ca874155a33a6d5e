//! Options of `lab buffering`.

use clap::Args;
use iostrata_core::buffering::Mode;
use iostrata_lab::buffering;
use iostrata_lab::error::LabError;
use iostrata_lab::session::Effort;

use super::{Lab, named};

#[derive(Debug, Args)]
#[command(next_help_heading = "Options of buffering")]
pub(crate) struct BufferingOptions {
    /// Write strategies, separated by commas [default: all]
    #[arg(long, value_name = "MODE", value_delimiter = ',',
        value_parser = named(Mode::ALL.map(|one| (one.as_str(), one, meaning(one)))))]
    pub(crate) mode: Vec<Mode>,

    /// Records per run [default: depends on the size]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(crate) count: Option<u64>,
}

impl BufferingOptions {
    pub(super) fn plan(&self, lab: &Lab, effort: Effort) -> Result<buffering::Plan, LabError> {
        let selection = buffering::Selection {
            modes: self.mode.clone(),
            sizes_bytes: lab.size.clone(),
            count: self.count,
            effort,
        };
        selection.plan()
    }
}

fn meaning(mode: Mode) -> &'static str {
    match mode {
        Mode::Buffered => "an 8 KiB user-space buffer, written when full and at the end",
        Mode::Flush => "one write(2) for each record",
        Mode::Fsync => "write and fsync each",
        Mode::Fdatasync => "write and fdatasync each",
        Mode::OSync => "one write each, file opened with O_SYNC",
        Mode::ODsync => "one write each, file opened with O_DSYNC",
        Mode::RwfDsync => "one pwritev2 with RWF_DSYNC each",
        Mode::SyncFileRange => "write and sync_file_range each; not durable",
        Mode::FinalFsync => "buffered, one fsync at the end",
        Mode::GroupFsync => "buffered, one fsync per 100 records",
    }
}

/// A number of records; the experiment checks whether it can be measured.
fn count(text: &str) -> Result<u64, &'static str> {
    let number = text.parse().ok();
    number.ok_or("expected a whole number of records, 1 or more")
}
