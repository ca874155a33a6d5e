//! Options of `lab sync`.

use clap::Args;
use iostrata_core::sync::{Figures, SyncCall, Write, parse_device};
use iostrata_lab::error::LabError;
use iostrata_lab::session::Effort;
use iostrata_lab::sync;

use super::{Lab, named};

#[derive(Debug, Args)]
#[command(next_help_heading = "Options of sync")]
pub(crate) struct SyncOptions {
    /// Sync calls, separated by commas [default: all; fsync if --write or --writers is given]
    #[arg(long, value_name = "CALL", value_delimiter = ',',
        value_parser = named(SyncCall::ALL.map(|one| (one.as_str(), one, call_meaning(one)))))]
    pub(crate) call: Vec<SyncCall>,

    /// Write pattern [default: each; append if --call or --writers is given]
    #[arg(long, value_name = "WRITE", value_delimiter = ',',
        value_parser = named(Write::ALL.map(|one| (one.as_str(), one, write_meaning(one)))))]
    pub(crate) write: Vec<Write>,

    /// Concurrent writer threads, each with its own file [default: 1, and 2,4,8 for fsync append]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = writers,
        allow_negative_numbers = true)]
    pub(crate) writers: Vec<u64>,

    #[arg(long, value_name = "DEVICE", value_parser = parse_device, help = DEVICE_HELP)]
    pub(crate) device: Vec<Figures>,
}

const DEVICE_HELP: &str = "Device to project the rate to: hdd-7200, sata-ssd, sata-ssd-plp, \
    nvme-consumer, nvme-enterprise, gp3, io2, pd-ssd, or iops=N,write_us=N,flush_us=N; repeatable \
    [default: all of the names]";

impl SyncOptions {
    pub(super) fn plan(&self, lab: &Lab, effort: Effort) -> Result<sync::Plan, LabError> {
        let selection = sync::Selection {
            calls: self.call.clone(),
            writes: self.write.clone(),
            sizes_bytes: lab.size.clone(),
            writers: self.writers.clone(),
            devices: self.device.clone(),
            effort,
        };
        selection.plan()
    }
}

fn call_meaning(call: SyncCall) -> &'static str {
    match call {
        SyncCall::Fsync => "write and fsync each",
        SyncCall::Fdatasync => "write and fdatasync each",
        SyncCall::ODsync => "one write each, file opened with O_DSYNC",
        SyncCall::OSync => "one write each, file opened with O_SYNC",
        SyncCall::Sync => "write and sync(2) each: all file systems",
        SyncCall::Syncfs => "write and syncfs each: the whole file system",
    }
}

fn write_meaning(write: Write) -> &'static str {
    match write {
        Write::Append => "the file grows",
        Write::Overwrite => "blocks written and synced before",
        Write::Preallocated => "blocks allocated but never written",
    }
}

/// A number of writers; the experiment checks whether it can be measured.
fn writers(text: &str) -> Result<u64, &'static str> {
    let number = text.parse().ok();
    number.ok_or("expected a whole number of writers, 1 or more")
}
