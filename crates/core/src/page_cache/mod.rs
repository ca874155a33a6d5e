//! `lab page-cache`: what does the page cache save, and where does the time of a read go?

mod answers;
mod case;
mod figures;
mod parsing;

use serde::{Deserialize, Serialize};

use crate::gap::Missing;
use crate::judge::Judged;
use crate::lab::{ExperimentResult, Joined, OwnCost, Row, Stamp, Stamped};
use crate::timing::Timing;
pub use answers::{answers, replies};
pub use case::{Case, Parse, Reader, State};
pub use figures::{Figures, Spent, figures};
pub use parsing::{MATTERS_SHARE, ParseLine, parse_lines};

/// The question the experiment answers.
pub const QUESTION: &str = "what does the page cache save, and where does the time of a read go?";

/// Bytes of one read of `pread_random`.
pub const RANDOM_READ_BYTES: u64 = 4096;

pub type PageCacheResult = ExperimentResult<PageCacheRow, Parsing, OwnCost>;

/// The parts of the result besides rows and answers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Parsing {
    /// Parser against cache: one line per target, size and parser that has both a
    /// cold and a warm row.
    pub parsing: Vec<ParseLine>,
}

/// A row with the parts about reading files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct PageCacheRow {
    /// Case, timing, evidence. The case's state is the one that was found by
    /// `cachestat`(2), whatever was requested.
    #[serde(flatten)]
    pub row: Row<Case>,
    pub asked_state: State,
    /// Why the state is not the one asked for; `null` when it is.
    pub not_as_asked: Option<String>,
    /// Bytes that one run reads: the file, or the reads of `pread_random`.
    pub read_bytes: u64,
    /// With a parser: the part of the time that reading took.
    pub reading: Option<Timing>,
    /// With a parser: the part of the time that parsing took.
    pub parsing: Option<Timing>,
    /// Copying as many bytes from memory to memory, in the same process, right after
    /// the read: the limit of any read that copies.
    pub memory_copy: Option<Timing>,
    /// Latency of the single reads of `pread_random`, all timing runs together.
    pub latency_s: Option<Percentiles>,
    /// The same file read repeatedly, from the state asked for: the first read,
    /// the second ...
    pub series: Vec<SeriesRead>,
    /// Bytes that the timing runs fetched from storage by `/proc/PID/io`, median per
    /// run. Counted for the process, so also where nothing is observed.
    pub storage_read_bytes: Option<u64>,
    /// Figures that follow from the above.
    pub figures: Figures,
}

/// One read of a series, over all timing runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SeriesRead {
    /// 1 for the first read.
    pub number: u32,
    pub timing: Timing,
    /// Bytes fetched from storage during it (`/proc/PID/io`), median.
    pub storage_read_bytes: Option<u64>,
    /// Bytes of the file resident before it, median.
    pub resident_before_bytes: u64,
    /// Bytes of the file resident after it, median.
    pub resident_after_bytes: u64,
}

/// A latency distribution, seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Percentiles {
    pub p50: f64,
    /// 90 % take no longer.
    pub p90: f64,
    /// 99 % take no longer.
    pub p99: f64,
    /// 99.9 % take no longer.
    pub p999: f64,
    pub max: f64,
    /// Operations.
    pub count: u64,
}

impl PageCacheRow {
    pub fn is_as_asked(&self) -> bool {
        self.asked_state == self.row.case.state
    }

    /// Bytes of storage requests that read during the row's run: those of the
    /// observed run, or else those that `/proc/PID/io` charged to the timing runs.
    pub fn device_read_bytes(&self) -> Option<u64> {
        let observed = self.row.evidence.exact_device();
        observed
            .map(|device| device.reads.bytes)
            .or(self.storage_read_bytes)
    }
}

impl Judged for PageCacheRow {
    type Case = Case;
    /// The request.
    type Kind = (State, Reader, Parse);

    fn row(&self) -> &Row<Case> {
        &self.row
    }

    fn kind(&self) -> Self::Kind {
        (self.asked_state, self.row.case.reader, self.row.case.parse)
    }

    fn size_bytes(&self) -> u64 {
        self.row.case.size_bytes
    }

    fn unfit(&self) -> Option<String> {
        let (asked, found) = (self.asked_state.as_str(), self.row.case.state.as_str());
        let why = self.not_as_asked.as_deref().unwrap_or("unknown why");
        (!self.is_as_asked()).then(|| format!("should be {asked} but is {found}: {why}"))
    }
}

impl Stamped for PageCacheRow {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        self.row.put_on(stamp);
    }
}

impl Stamped for Parsing {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        for line in &mut self.parsing {
            stamp.target(&mut line.target);
            for row in &mut line.rows {
                stamp.number(row);
            }
        }
    }
}

impl Joined for Parsing {
    fn join(&mut self, other: Self) -> Option<Missing> {
        self.parsing.extend(other.parsing);
        None
    }
}
