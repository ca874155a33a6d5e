//! Options of `lab page-cache`.

use std::time::Duration;

use clap::Args;
use iostrata_core::page_cache::{Parse, Reader, State};
use iostrata_lab::error::LabError;
use iostrata_lab::page_cache;
use iostrata_lab::session::Effort;

use super::{Lab, named};

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
