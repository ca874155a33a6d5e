//! Options of `lab copy`.

use clap::Args;
use iostrata_core::bytes::{self, SizeError};
use iostrata_core::copy::{CopyMethod, Destination, Source};
use iostrata_lab::copy::{self, Buffer};
use iostrata_lab::error::LabError;
use iostrata_lab::session::Effort;

use super::{Lab, named};

#[derive(Debug, Args)]
#[command(next_help_heading = "Options of copy")]
pub(crate) struct CopyOptions {
    /// Copy methods, separated by commas [default: all]
    #[arg(long, value_name = "METHOD", value_delimiter = ',',
        value_parser = named(CopyMethod::ALL.map(|one| (one.as_str(), one, method_meaning(one)))))]
    pub(crate) method: Vec<CopyMethod>,

    /// Cache state of the source; one or both [default: warm, and cold for some]
    #[arg(long, value_name = "STATE", value_delimiter = ',',
        value_parser = named(Source::ALL.map(|one| (one.as_str(), one, source_meaning(one)))))]
    pub(crate) source: Vec<Source>,

    /// Buffer sizes of the methods that use one: bytes, 64KiB, or whole for the whole file
    /// [default: 1MiB, and several sizes from 64 for read and write]
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = buffer,
        allow_negative_numbers = true)]
    pub(crate) buffer: Vec<Buffer>,

    /// Destination of the copy [default: fresh]
    #[arg(long, value_name = "WHAT",
        value_parser = named(Destination::ALL.map(|one| (one.as_str(), one, destination_meaning(one)))))]
    pub(crate) target: Option<Destination>,

    /// End every copy with a timed fsync [default: for some]
    #[arg(long)]
    pub(crate) durable: bool,
}

impl CopyOptions {
    pub(super) fn plan(&self, lab: &Lab, effort: Effort) -> Result<copy::Plan, LabError> {
        let selection = copy::Selection {
            methods: self.method.clone(),
            sources: self.source.clone(),
            sizes_bytes: lab.size.clone(),
            buffers: self.buffer.clone(),
            destination: self.target.unwrap_or_default(),
            durable: self.durable,
            named_images: !lab.fs.is_empty(),
            effort,
        };
        selection.plan()
    }
}

fn method_meaning(method: CopyMethod) -> &'static str {
    match method {
        CopyMethod::FgetcFputc => "C stdio, one call per byte",
        CopyMethod::GetcUnlocked => "the same without a lock per byte",
        CopyMethod::ReadWrite => "read(2) and write(2)",
        CopyMethod::ReadvWritev => "readv(2) and writev(2), the buffer in 8 pieces",
        CopyMethod::MmapMemcpy => "both files mapped, memcpy between them",
        CopyMethod::MmapWrite => "source mapped, written with write(2)",
        CopyMethod::Sendfile => "sendfile(2)",
        CopyMethod::Splice => "splice(2) through a pipe",
        CopyMethod::CopyFileRange => "copy_file_range(2)",
        CopyMethod::Reflink => "shared blocks, FICLONE; where supported",
        CopyMethod::IoUring => "io_uring, reads and writes in flight together",
        CopyMethod::Direct => "bypassing the page cache, O_DIRECT on both files",
        CopyMethod::Cp => "the program cp",
    }
}

fn source_meaning(source: Source) -> &'static str {
    match source {
        Source::Warm => "fully cached",
        Source::Cold => "evicted, verified",
    }
}

fn destination_meaning(destination: Destination) -> &'static str {
    match destination {
        Destination::Fresh => "a new file",
        Destination::Existing => "an existing file of the same size with other contents",
    }
}

fn buffer(text: &str) -> Result<Buffer, SizeError> {
    if text == "whole" {
        return Ok(Buffer::Whole);
    }
    bytes::parse(text).map(Buffer::Bytes)
}
