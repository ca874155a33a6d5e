//! An item of the measurement: a case on a target.

use std::ffi::OsString;
use std::time::Duration;

use iostrata_core::bytes;
use iostrata_core::sync::{Bucket, Case, Counted, Latency, SyncRow};
use iostrata_core::timing::Sample;

use super::observed::observe;
use super::settings;
use super::task::{SyncJob, SyncReport};
use crate::error::LabError;
use crate::session::{self, Observed, RunFile, RunSettings, Session, Timed, wide};
use crate::target::Target;

#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) target: &'a Target,
    pub(super) case: Case,
    /// Whether its observed run is shown second by second.
    pub(super) shown: bool,
}

/// The length of a stretch.
#[derive(Debug, Clone, Copy)]
pub(super) enum Length {
    /// Syncs of each writer.
    Syncs(u64),
    /// Until this time has passed.
    Time(Duration),
    /// Whichever comes first.
    Either(u64, Duration),
}

/// The files of one run, removed with it.
pub(super) struct Files(pub(super) Vec<RunFile>);

impl Files {
    pub(super) fn remove(self) -> Result<(), LabError> {
        self.0.into_iter().try_for_each(RunFile::remove)
    }
}

impl session::Item for Item<'_> {
    type Gathered = SyncRuns;
    type Found = Counted;
    type Row = SyncRow;

    /// `fsync append 1 KiB × 4 on ext4`.
    fn label(&self) -> String {
        let Case {
            call,
            write,
            size_bytes,
            writers,
        } = self.case;
        let times = match writers {
            1 => String::new(),
            several => format!(" × {several}"),
        };
        format!(
            "{} {} {}{times} on {}",
            call.as_str(),
            write.as_str(),
            bytes::exact(size_bytes),
            self.target.name
        )
    }

    fn run(&self, session: &mut Session<'_>, gathered: &mut SyncRuns) -> Result<Sample, LabError> {
        let files = self.files();
        let length = gathered.next(&session.run);
        let report = session.work(&self.job(session, &files, length))?;
        files.remove()?;
        let sample = report.work.sample;
        gathered.add(self.case.writers, report);
        Ok(sample)
    }

    fn observe(&self, session: &mut Session<'_>) -> Result<Observed<Counted>, LabError> {
        observe(session, self)
    }

    fn row(&self, timed: Timed, gathered: SyncRuns, mut observed: Observed<Counted>) -> SyncRow {
        let notes = &mut observed.notes;
        notes.extend(wide(timed.timing.as_ref(), &timed.stopping));
        let counted = Counted {
            syncs_per_run: gathered.per_run,
            latency: Latency::from_buckets(gathered.latencies, gathered.max_ns),
            ..std::mem::take(&mut observed.found)
        };
        SyncRow::new(observed.row(self.case, self.target, timed), counted)
    }
}

/// Results of an item's timing runs besides their samples.
#[derive(Debug, Default)]
pub(super) struct SyncRuns {
    /// Syncs of each writer in a timed run; known after the warm-up.
    syncs: Option<u64>,
    per_run: u64,
    latencies: Vec<Bucket>,
    max_ns: u64,
}

impl SyncRuns {
    /// The warm-up runs for a given time; every run after it makes as many syncs as the warm-up
    /// did.
    fn next(&self, run: &RunSettings) -> Length {
        self.syncs.map_or_else(
            || Length::Time(settings::run_length(run.effort)),
            Length::Syncs,
        )
    }

    fn add(&mut self, writers: u64, report: SyncReport) {
        if self.syncs.is_none() {
            let each = report.syncs.div_ceil(writers.max(1));
            self.syncs = Some(each.max(settings::FEWEST_TIMED_SYNCS));
            return;
        }
        self.per_run = report.syncs;
        self.max_ns = self.max_ns.max(report.max_ns);
        self.latencies.extend(report.latencies);
    }
}

impl Item<'_> {
    pub(super) fn files(&self) -> Files {
        let name = |writer| format!("sync-{writer}");
        let files =
            (0..self.case.writers).map(|writer| RunFile::new(&self.target.dir, &name(writer)));
        Files(files.collect())
    }

    pub(super) fn job(&self, session: &Session<'_>, files: &Files, length: Length) -> SyncJob {
        let paths: Vec<OsString> = files.0.iter().map(|file| file.path().into()).collect();
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let (syncs, duration_ns) = match length {
            Length::Syncs(syncs) => (syncs, u64::MAX),
            Length::Time(time) => (u64::MAX, nanoseconds(time)),
            Length::Either(syncs, time) => (syncs, nanoseconds(time)),
        };
        SyncJob {
            case: self.case,
            paths,
            file_bytes: settings::file_bytes(session.run.effort, &self.case),
            syncs,
            duration_ns,
        }
    }
}
