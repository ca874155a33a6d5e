//! Options that only one experiment of `lab` has.

use std::time::Duration;

use clap::Args;
use iostrata_core::atime::{Loop, Mount, Operation};
use iostrata_core::buffering::Mode;
use iostrata_core::bytes::{self, SizeError};
use iostrata_core::copy::{CopyMethod, Destination, Source};
use iostrata_core::page_cache::{Parse, Reader, State};
use iostrata_core::sync::{Figures, SyncCall, Write, parse_device};
use iostrata_lab::copy::Buffer;
use iostrata_lab::error::LabError;
use iostrata_lab::session::Effort;
use iostrata_lab::{atime, buffering, copy, page_cache, sync};

use super::{Lab, named};

#[derive(Debug, Args)]
#[command(next_help_heading = "Options of buffering")]
pub(crate) struct BufferingOptions {
    /// Write strategies, separated by commas [default: all]
    #[arg(long, value_name = "MODE", value_delimiter = ',',
        value_parser = named(Mode::ALL.map(|one| (one.as_str(), one, mode_meaning(one)))))]
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

fn mode_meaning(mode: Mode) -> &'static str {
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

#[derive(Debug, Args)]
#[command(next_help_heading = "Options of page-cache")]
pub(crate) struct PageCacheOptions {
    /// Cache states before reading, separated by commas [default: all]
    #[arg(long, value_name = "STATE", value_delimiter = ',',
        value_parser = named(State::ASKED.map(|one| (one.as_str(), one, state_meaning(one)))))]
    pub(crate) state: Vec<State>,

    /// Readers, separated by commas [default: all]
    #[arg(long, value_name = "READER", value_delimiter = ',',
        value_parser = named(Reader::ALL.map(|one| (one.as_str(), one, reader_meaning(one)))))]
    pub(crate) reader: Vec<Reader>,

    /// Parsers for the bytes read, separated by commas [default: all on 145 KiB]
    #[arg(long, value_name = "PARSER", value_delimiter = ',',
        value_parser = named(Parse::ALL.map(|one| (one.as_str(), one, parser_meaning(one)))))]
    pub(crate) parse: Vec<Parse>,

    /// Pause between reads, and show each read
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) sleep: Option<Duration>,
}

impl PageCacheOptions {
    pub(super) fn plan(&self, lab: &Lab, effort: Effort) -> Result<page_cache::Plan, LabError> {
        let selection = page_cache::Selection {
            states: self.state.clone(),
            readers: self.reader.clone(),
            parses: self.parse.clone(),
            sizes_bytes: lab.size.clone(),
            sleep: self.sleep,
            effort,
        };
        selection.plan()
    }
}

fn state_meaning(state: State) -> &'static str {
    match state {
        State::Cold => "evicted, verified",
        State::Warm => "fully cached, verified",
        State::Direct => "evicted, then read with O_DIRECT",
        State::Dontcache => "evicted, then read with RWF_DONTCACHE",
        State::Partial => "as found",
    }
}

fn reader_meaning(reader: Reader) -> &'static str {
    match reader {
        Reader::Read => "the whole file, into a new buffer each time",
        Reader::ReadReused => "the whole file, into a reused buffer",
        Reader::Mmap => "mapped, every byte summed",
        Reader::PreadRandom => "4 KiB reads in random order",
        Reader::IoUring => "the whole file, eight requests in flight",
    }
}

fn parser_meaning(parse: Parse) -> &'static str {
    match parse {
        Parse::None => "nothing",
        Parse::Json => "JSON into a tree of values",
        Parse::JsonTyped => "JSON into typed structures",
        Parse::Lines => "line count",
        Parse::Checksum => "sum of 64-bit words",
    }
}

fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok();
    let pause = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    pause.ok_or("expected a number of seconds, 0 or more")
}

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
        value_parser = named(Loop::ALL.map(|one| (one.as_str(), one, loop_meaning(one)))))]
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

fn loop_meaning(files: Loop) -> &'static str {
    match files {
        Loop::OneFile => "one file of 4 KiB, 10,000 times",
        Loop::ManyFiles => "5,000 files of 4 KiB, each once; and once more",
    }
}

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
