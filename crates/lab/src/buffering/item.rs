//! What is measured: a case on a target.

use std::cell::Cell;

use iostrata_core::buffering::{BufferingRow, Case, MemoryChange, Mode};
use iostrata_core::bytes;
use iostrata_core::timing::Sample;

use super::job::{NullJob, WriteJob};
use super::observed::observe;
use super::settings::null_records;
use crate::engine::StoppingRule;
use crate::error::LabError;
use crate::session::{self, Observed, RunFile, Session, Timed, wide};
use crate::target::Target;

/// A case on a target.
#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) target: &'a Target,
    pub(super) case: Case,
}

impl session::Item for Item<'_> {
    type Gathered = ();
    type Found = Option<MemoryChange>;
    type Row = BufferingRow;

    /// `fsync 1 B on ext4`.
    fn label(&self) -> String {
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

    /// A new file, written and removed.
    fn run(&self, session: &mut Session<'_>, (): &mut ()) -> Result<Sample, LabError> {
        let file = self.file();
        let work = session.work(&self.job(&file))?;
        file.remove()?;
        Ok(work.sample)
    }

    fn observe(
        &self,
        session: &mut Session<'_>,
        _: &[BufferingRow],
    ) -> Result<Observed<Self::Found>, LabError> {
        observe(session, self)
    }

    fn row(
        &self,
        timed: Timed,
        (): (),
        mut observed: Observed<Self::Found>,
        stopping: &StoppingRule,
    ) -> BufferingRow {
        observed.notes.extend(wide(timed.timing.as_ref(), stopping));
        if self.case.mode == Mode::SyncFileRange {
            let why = "not durable: neither metadata nor a device flush is asked for";
            observed.notes.push(why.to_owned());
        }
        let memory = observed.found.take();
        BufferingRow::new(observed.row(self.case, self.target, timed), memory)
    }
}

impl Item<'_> {
    /// The file of the next run.
    pub(super) fn file(&self) -> RunFile {
        let Case {
            mode, size_bytes, ..
        } = self.case;
        RunFile::new(&self.target.dir, &format!("{}-{size_bytes}", mode.as_str()))
    }

    pub(super) fn job(&self, file: &RunFile) -> WriteJob {
        WriteJob {
            case: self.case,
            path: file.path().into(),
        }
    }
}

/// Nanoseconds per record of the loop itself: the quickest of three runs around a
/// write that does nothing. `None` when interrupted.
pub(super) fn own_cost_ns(
    session: &mut Session<'_>,
    size_bytes: u64,
) -> Result<Option<f64>, LabError> {
    let count = null_records(session.run.effort);
    let job = NullJob { size_bytes, count };
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
