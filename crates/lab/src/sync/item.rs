//! An item of the measurement: a case on a target.

use iostrata_core::bytes;
use iostrata_core::sync::{Bucket, Case, Counted, Latency, SyncRow};
use iostrata_core::timing::Sample;

use super::observed::observe;
use super::settings;
use super::task::{SyncJob, SyncReport};
use super::writer::Limit;
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

impl session::Item for Item<'_> {
    type Gathered = SyncRuns;
    type Found = Counted;
    type Row = SyncRow;

    /// `fsync append 1 KiB × 4 on ext4`.
    fn label(&self) -> String {
        let case = self.case;
        let times = match case.writers {
            1 => String::new(),
            several => format!(" × {several}"),
        };
        format!(
            "{} {} {}{times} on {}",
            case.call.as_str(),
            case.write.as_str(),
            bytes::exact(case.size_bytes),
            self.target.name
        )
    }

    fn run(&self, session: &mut Session<'_>, gathered: &mut SyncRuns) -> Result<Sample, LabError> {
        let files = self.files();
        let limit = gathered.next(&session.run);
        let report = session.work(&self.job(session, &files, limit))?;
        remove(files)?;
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

pub(super) fn remove(files: Vec<RunFile>) -> Result<(), LabError> {
    files.into_iter().try_for_each(RunFile::remove)
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
    fn next(&self, run: &RunSettings) -> Limit {
        match self.syncs {
            None => Limit::time(settings::run_length(run.effort)),
            Some(syncs) => Limit {
                syncs,
                duration_ns: u64::MAX,
            },
        }
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
    /// The files of the next run, removed with it.
    pub(super) fn files(&self) -> Vec<RunFile> {
        let name = |writer| format!("sync-{writer}");
        let writers = 0..self.case.writers;
        let files = writers.map(|writer| RunFile::new(&self.target.dir, &name(writer)));
        files.collect()
    }

    pub(super) fn job(&self, session: &Session<'_>, files: &[RunFile], limit: Limit) -> SyncJob {
        SyncJob {
            case: self.case,
            paths: files.iter().map(|file| file.path().into()).collect(),
            file_bytes: settings::file_bytes(session.run.effort, &self.case),
            limit,
        }
    }
}
