//! Rows made by hand for the tests of the judges.

use super::{CLAIMS, targets};
use crate::evidence::DeviceCounts;
use crate::judge::fixture::{self, Made, request, row, timing};
use crate::judge::{Finding, Missing};
use crate::page_cache::{
    Case, Figures, PageCacheResult, PageCacheRow, Parse, Parsing, Reader, SeriesRead, State,
    figures, parse_lines,
};

impl Made for Case {}

/// A row that was found as it was asked for.
pub(in crate::page_cache) fn made(state: State, reader: Reader, size_bytes: u64) -> PageCacheRow {
    let case = Case {
        state,
        reader,
        size_bytes,
        parse: Parse::None,
    };
    PageCacheRow {
        row: row(case),
        asked_state: state,
        not_as_asked: None,
        read_bytes: size_bytes,
        reading: None,
        parsing: None,
        memory_copy: None,
        latency_s: None,
        series: Vec::new(),
        storage_read_bytes: None,
        figures: Figures::default(),
    }
}

impl PageCacheRow {
    /// The state that had been asked for, and why it could not be had.
    pub(in crate::page_cache) fn asked(mut self, state: State, why: &str) -> Self {
        self.asked_state = state;
        self.not_as_asked = Some(why.to_owned());
        self
    }

    /// Microseconds of every run.
    pub(in crate::page_cache) fn timed(mut self, times_us: &[f64]) -> Self {
        self.row = self.row.timed(times_us);
        self
    }

    /// Microseconds of reading and parsing of every run.
    pub(in crate::page_cache) fn parsed(
        mut self,
        parse: Parse,
        reading_us: &[f64],
        parsing_us: &[f64],
    ) -> Self {
        self.row.case.parse = parse;
        self.reading = timing(reading_us);
        self.parsing = timing(parsing_us);
        let both = reading_us.iter().zip(parsing_us);
        let whole: Vec<f64> = both.map(|(reading, parsing)| reading + parsing).collect();
        self.timed(&whole)
    }

    pub(in crate::page_cache) fn faulting(mut self, minor: u64) -> Self {
        self.row.evidence.faults.minor = Some(minor);
        self
    }

    pub(in crate::page_cache) fn blocked(mut self, seconds: f64) -> Self {
        self.row.evidence.blocked_s = Some(seconds);
        self
    }

    /// Microseconds of the memory copies.
    pub(in crate::page_cache) fn copying(mut self, times_us: &[f64]) -> Self {
        self.memory_copy = timing(times_us);
        self
    }

    /// Bytes resident before and after.
    pub(in crate::page_cache) fn resident(mut self, before: u64, after: u64) -> Self {
        self.row.evidence.cache.resident_before_bytes = Some(before);
        self.row.evidence.cache.resident_after_bytes = Some(after);
        self
    }

    /// Bytes of device requests that read.
    pub(super) fn fetching(mut self, bytes: u64) -> Self {
        self.row.evidence.device = Some(
            DeviceCounts {
                reads: request(1, bytes),
                ..DeviceCounts::default()
            }
            .into(),
        );
        self
    }

    /// Bytes of `/proc/PID/io`.
    pub(super) fn charged(mut self, bytes: u64) -> Self {
        self.storage_read_bytes = Some(bytes);
        self
    }

    pub(super) fn losing(mut self, events: u64) -> Self {
        self.row = self.row.losing(events);
        self
    }

    /// The next read of the series: microseconds, bytes resident before, bytes fetched.
    pub(super) fn then(mut self, times_us: &[f64], resident: u64, storage: Option<u64>) -> Self {
        let number = u32::try_from(self.series.len()).unwrap() + 1;
        self.series.push(SeriesRead {
            number,
            timing: timing(times_us).unwrap(),
            storage_read_bytes: storage,
            resident_before_bytes: resident,
            resident_after_bytes: resident,
        });
        self
    }
}

/// A result of these rows.
pub(in crate::page_cache) fn result(mut rows: Vec<PageCacheRow>) -> PageCacheResult {
    for (index, figures) in figures(&rows).into_iter().enumerate() {
        rows[index].figures = figures;
    }
    let parsing = parse_lines(&rows);
    fixture::result(rows, Parsing { parsing })
}

/// The verdict of these rows on a claim, named by a part of its text.
pub(super) fn judge(claim: &str, rows: Vec<PageCacheRow>) -> Result<Finding, Missing> {
    fixture::judge(&CLAIMS, claim, &targets(&result(rows)))
}
