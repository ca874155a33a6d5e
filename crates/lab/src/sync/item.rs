//! What is measured: a case on a target.

use std::ffi::OsString;
use std::time::Duration;

use iostrata_core::bytes;
use iostrata_core::sync::Case;

use super::job::{SyncJob, SyncReport};
use super::settings;
use crate::engine::{EngineError, Job, Report, Workload};
use crate::error::LabError;
use crate::session::{RunFile, Session};
use crate::target::Target;

/// A case on a target.
#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) target: &'a Target,
    pub(super) case: Case,
}

/// How long a stretch is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Length {
    /// Syncs of each writer.
    Syncs(u64),
    /// Until this has passed.
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

impl Item<'_> {
    /// For progress: `fsync append 1 KiB × 4 on ext4`.
    pub(super) fn label(&self) -> String {
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

    /// The files of the next run.
    pub(super) fn files(&self) -> Files {
        let name = |writer| format!("sync-{writer}");
        let files =
            (0..self.case.writers).map(|writer| RunFile::new(&self.target.dir, &name(writer)));
        Files(files.collect())
    }

    /// The job that works on `files`.
    pub(super) fn job(&self, session: &Session<'_>, files: &Files, length: Length) -> Job {
        let paths: Vec<OsString> = files.0.iter().map(|file| file.path().into()).collect();
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let (syncs, duration_ns) = match length {
            Length::Syncs(syncs) => (syncs, u64::MAX),
            Length::Time(time) => (u64::MAX, nanoseconds(time)),
            Length::Either(syncs, time) => (syncs, nanoseconds(time)),
        };
        Job::Sync(SyncJob {
            case: self.case,
            paths,
            file_bytes: settings::file_bytes(session.run.effort, &self.case),
            syncs,
            duration_ns,
        })
    }

    /// One timing run of it: new files, one stretch, files removed.
    pub(super) fn run(
        &self,
        session: &Session<'_>,
        length: Length,
    ) -> Result<SyncReport, LabError> {
        let files = self.files();
        let mut workload = session.start(&self.job(session, &files, length))?;
        let report = stretch(&mut workload, session)?;
        workload.exit()?;
        files.remove()?;
        Ok(report)
    }
}

/// Lets a workload do its next stretch.
pub(super) fn stretch(
    workload: &mut Workload,
    session: &Session<'_>,
) -> Result<SyncReport, EngineError> {
    match workload.go(session.stop)? {
        Report::Sync(report) => Ok(report),
        _ => Err(EngineError::Protocol("another report".into())),
    }
}
