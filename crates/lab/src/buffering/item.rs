//! What is measured: a case on a target.

use std::cell::Cell;

use iostrata_core::buffering::Case;
use iostrata_core::bytes;
use iostrata_core::timing::Sample;

use super::settings::null_records;
use crate::engine::{Job, NullJob, WriteJob};
use crate::error::LabError;
use crate::session::{RunFile, Session};
use crate::target::Target;

/// A case on a target.
#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) target: &'a Target,
    pub(super) case: Case,
}

impl Item<'_> {
    /// For progress: `fsync 1 B on ext4`.
    pub(super) fn label(&self) -> String {
        let Case {
            mode, size_bytes, ..
        } = self.case;
        format!(
            "{} {} on {}",
            mode.as_str(),
            bytes::exact(size_bytes),
            self.target.name
        )
    }

    /// The file of the next run.
    pub(super) fn file(&self) -> RunFile {
        let Case {
            mode, size_bytes, ..
        } = self.case;
        RunFile::new(&self.target.dir, &format!("{}-{size_bytes}", mode.as_str()))
    }

    /// One run of it: a new file, written and removed.
    pub(super) fn run(&self, session: &Session<'_>) -> Result<Sample, LabError> {
        let file = self.file();
        let job = Job::Write(WriteJob {
            case: self.case,
            path: file.path().into(),
        });
        let work = session.work(&job)?;
        file.remove()?;
        Ok(work.sample)
    }
}

/// Nanoseconds per record of the loop itself: the quickest of three runs around a
/// write that does nothing. `None` when interrupted.
pub(super) fn own_cost_ns(
    session: &mut Session<'_>,
    size_bytes: u64,
) -> Result<Option<f64>, LabError> {
    let count = null_records(session.run.effort);
    let job = Job::Null(NullJob { size_bytes, count });
    let least_s = Cell::new(f64::INFINITY);
    for _ in 0..3 {
        session.ledger.step("timing the measuring loop itself");
        match session.work(&job) {
            Ok(work) => least_s.set(least_s.get().min(work.sample.real_s)),
            Err(_) if (session.stop)() => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(least_s.get() * 1e9 / count as f64))
}
