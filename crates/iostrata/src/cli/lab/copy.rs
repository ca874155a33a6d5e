//! Options of `lab copy`.

use clap::Args;
use clap::builder::TypedValueParser;
use iostrata_core::bytes::{self, SizeError};
use iostrata_core::copy::{Destination, Method, Source};
use iostrata_lab::copy::{self, Buffer};
use iostrata_lab::error::LabError;
use iostrata_lab::session::Effort;

use super::Lab;
use crate::cli::choices::{names, one_of};

#[derive(Debug, Args)]
#[command(next_help_heading = "Options of copy")]
pub(crate) struct CopyOptions {
    /// How the bytes are moved; several, separated by commas [default: all]
    #[arg(long, value_name = "METHOD", value_delimiter = ',', value_parser = methods())]
    pub(crate) method: Vec<Method>,

    /// Whether the source is in the page cache; one or both [default: warm, and cold for some]
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = sources())]
    pub(crate) source: Vec<Source>,

    /// Buffers of the methods that have one: bytes, or 64KiB, or whole for one that takes the
    /// file [default: 1MiB, and several sizes from 64 on for read and write]
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = buffer,
        allow_negative_numbers = true)]
    pub(crate) buffer: Vec<Buffer>,

    /// What the copy is written to [default: fresh]
    #[arg(long, value_name = "WHAT", value_parser = destinations())]
    pub(crate) target: Option<Destination>,

    /// End every copy with an fsync, and time it [default: for some]
    #[arg(long)]
    pub(crate) durable: bool,
}

impl CopyOptions {
    /// The options that were given and that no other experiment has.
    pub(super) fn given(&self) -> Vec<&'static str> {
        let given = [
            ("--method", !self.method.is_empty()),
            ("--source", !self.source.is_empty()),
            ("--buffer", !self.buffer.is_empty()),
            ("--target", self.target.is_some()),
            ("--durable", self.durable),
        ];
        names(&given)
    }

    /// The experiment with its cases chosen.
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

fn methods() -> impl TypedValueParser<Value = Method> {
    one_of(Method::ALL, Method::as_str, Some(meaning))
}

fn meaning(method: Method) -> &'static str {
    match method {
        Method::FgetcFputc => "C stdio, one call for each byte",
        Method::GetcUnlocked => "the same without a lock for each byte",
        Method::ReadWrite => "read(2) and write(2)",
        Method::ReadvWritev => "readv(2) and writev(2), the buffer in 8 pieces",
        Method::MmapMemcpy => "both files mapped, memcpy between them",
        Method::MmapWrite => "the source mapped and handed to write(2)",
        Method::Sendfile => "sendfile(2)",
        Method::Splice => "splice(2) through a pipe",
        Method::CopyFileRange => "copy_file_range(2)",
        Method::Reflink => "shared blocks, FICLONE; where the file system can",
        Method::IoUring => "reads and writes under way together",
        Method::Direct => "past the page cache, O_DIRECT on both sides",
        Method::Cp => "the program cp",
    }
}

fn sources() -> impl TypedValueParser<Value = Source> {
    one_of(
        Source::ALL,
        Source::as_str,
        Some(|source| match source {
            Source::Warm => "all of it is in the page cache",
            Source::Cold => "none of it is, and that is verified",
        }),
    )
}

fn destinations() -> impl TypedValueParser<Value = Destination> {
    one_of(
        Destination::ALL,
        Destination::as_str,
        Some(|destination| match destination {
            Destination::Fresh => "a new file",
            Destination::Existing => "a file of the same size, with other contents",
        }),
    )
}

fn buffer(text: &str) -> Result<Buffer, SizeError> {
    if text == "whole" {
        return Ok(Buffer::Whole);
    }
    bytes::parse(text).map(Buffer::Bytes)
}
