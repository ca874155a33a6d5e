//! Rows made by hand for the tests of the judges.

use super::Judge;
use super::view::TargetRows;
use crate::buffering::Method;
use crate::evidence::{DeviceCounts, Evidence, RequestCount};
use crate::judge::{Finding, Missing};
use crate::lab::{Interference, Row};
use crate::page_cache::{
    Case, Figures, PageCacheResult, PageCacheRow, Parse, QUESTION, Reader, SeriesRead, State,
    figures, parse_lines,
};
use crate::timing::{Sample, Timing};

pub(super) const FAST: [f64; 5] = [1.0, 1.1, 1.2, 1.3, 1.4];
pub(super) const SLOW: [f64; 5] = [70.0, 71.0, 72.0, 73.0, 74.0];
/// Lies within [`SLOW`].
pub(super) const SLOW_TOO: [f64; 5] = [69.5, 70.5, 72.5, 73.5, 74.5];
/// Around [`SLOW`], but wider than any margin.
pub(super) const WIDE: [f64; 5] = [50.0, 60.0, 72.0, 90.0, 110.0];

/// A row in the making: by default on `host`, not timed, nothing seen.
#[derive(Clone)]
pub(in crate::page_cache) struct Made(PageCacheRow);

fn timing(times_us: &[f64]) -> Option<Timing> {
    let run = |time_us: &f64| Sample {
        real_s: time_us * 1e-6,
        user_s: 0.0,
        system_s: 0.0,
    };
    let samples: Vec<Sample> = times_us.iter().map(run).collect();
    Timing::from_samples(&samples)
}

impl Made {
    pub(in crate::page_cache) fn new(state: State, reader: Reader, size_bytes: u64) -> Self {
        let row = Row {
            case: Case {
                state,
                reader,
                size_bytes,
                parse: Parse::None,
            },
            target: "host".to_owned(),
            timing: None,
            evidence: Evidence::default(),
            interference: Interference::default(),
            notes: Vec::new(),
        };
        Self(PageCacheRow {
            row,
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
        })
    }

    /// The state that had been asked for, and why it could not be had.
    pub(in crate::page_cache) fn asked(mut self, state: State, why: &str) -> Self {
        self.0.asked_state = state;
        self.0.not_as_asked = Some(why.to_owned());
        self
    }

    /// Microseconds of every run.
    pub(in crate::page_cache) fn timed(mut self, times_us: &[f64]) -> Self {
        self.0.row.timing = timing(times_us);
        self
    }

    /// Microseconds of reading and parsing of every run.
    pub(in crate::page_cache) fn parsed(
        mut self,
        parse: Parse,
        reading_us: &[f64],
        parsing_us: &[f64],
    ) -> Self {
        self.0.row.case.parse = parse;
        self.0.reading = timing(reading_us);
        self.0.parsing = timing(parsing_us);
        let whole: Vec<f64> = reading_us
            .iter()
            .zip(parsing_us)
            .map(|(reading, parsing)| reading + parsing)
            .collect();
        self.timed(&whole)
    }

    /// Minor faults.
    pub(in crate::page_cache) fn faulting(mut self, minor: u64) -> Self {
        self.0.row.evidence.faults.minor = Some(minor);
        self
    }

    /// Seconds blocked.
    pub(in crate::page_cache) fn blocked(mut self, seconds: f64) -> Self {
        self.0.row.evidence.blocked_s = Some(seconds);
        self
    }

    /// Microseconds of the memory copies.
    pub(in crate::page_cache) fn copying(mut self, times_us: &[f64]) -> Self {
        self.0.memory_copy = timing(times_us);
        self
    }

    /// Bytes resident before and after.
    pub(in crate::page_cache) fn resident(mut self, before: u64, after: u64) -> Self {
        self.0.row.evidence.cache.resident_before_bytes = Some(before);
        self.0.row.evidence.cache.resident_after_bytes = Some(after);
        self
    }

    /// Bytes of device requests that read.
    pub(super) fn fetching(mut self, bytes: u64) -> Self {
        self.0.row.evidence.device = Some(DeviceCounts {
            reads: RequestCount {
                count: 1,
                bytes,
                time_s: 0.0,
            },
            ..DeviceCounts::default()
        });
        self
    }

    /// Bytes of `/proc/PID/io`.
    pub(super) fn charged(mut self, bytes: u64) -> Self {
        self.0.storage_read_bytes = Some(bytes);
        self
    }

    pub(super) fn losing(mut self, events: u64) -> Self {
        self.0.row.evidence.lost_events = events;
        self
    }

    /// The next read of the series: microseconds, bytes resident before, bytes fetched.
    pub(super) fn then(mut self, times_us: &[f64], resident: u64, storage: Option<u64>) -> Self {
        let number = u32::try_from(self.0.series.len()).unwrap() + 1;
        self.0.series.push(SeriesRead {
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
pub(in crate::page_cache) fn result(made: Vec<Made>) -> PageCacheResult {
    let mut rows: Vec<PageCacheRow> = made.into_iter().map(|made| made.0).collect();
    for (index, figures) in figures(&rows).into_iter().enumerate() {
        rows[index].figures = figures;
    }
    PageCacheResult {
        question: QUESTION.to_owned(),
        targets: Vec::new(),
        parsing: parse_lines(&rows),
        rows,
        answers: Vec::new(),
        caveats: Vec::new(),
        missing: Vec::new(),
        method: Method::default(),
    }
}

/// What a judge says of these rows, all of the first row's target.
pub(super) fn judge(judge: Judge, made: Vec<Made>) -> Result<Finding, Missing> {
    judge(&TargetRows::of(&result(made))[0])
}
