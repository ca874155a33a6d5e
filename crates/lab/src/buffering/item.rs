//! An item of the measurement: a case on a target.

use iostrata_core::buffering::{BufferingRow, Case, MemoryChange, Mode};
use iostrata_core::bytes;
use iostrata_core::observe::Stream;
use iostrata_core::timing::Sample;

use super::expected::expected_calls;
use super::memory;
use super::workload::WriteJob;
use crate::error::LabError;
use crate::session::{self, Observed, RunFile, Session, Timed, sync_file_system, wide};
use crate::target::Target;

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
        let (mode, size) = (self.case.mode.as_str(), bytes::exact(self.case.size_bytes));
        format!("{mode} {size} on {}", self.target.name)
    }

    fn run(&self, session: &mut Session<'_>, (): &mut ()) -> Result<Sample, LabError> {
        let file = self.file();
        let work = session.work(&self.job(&file))?;
        file.remove()?;
        Ok(work.sample)
    }

    fn observe(&self, session: &mut Session<'_>) -> Result<Observed<Self::Found>, LabError> {
        let (file, target) = (self.file(), self.target);
        let mut workload = session.start(&self.job(&file))?;
        let identity = file.identity()?;
        // Write-back left by earlier runs does not belong to this one.
        sync_file_system(&target.dir)?;
        // Queried on the file that holds the pages, or not at all.
        let resident = || match target.unknown_cache() {
            None => memory::resident_bytes(file.path()),
            Some(_) => None,
        };
        let resident_before = resident();
        let before = memory::read(target.device_path.as_deref());
        let settle = Some(target.dir.as_path());
        let pid = workload.pid();
        let (seen, observation) =
            session.observed(pid, Stream::default(), settle, |session, _| {
                let work = workload.go(session.stop)?;
                let after = memory::read(target.device_path.as_deref());
                Ok((work, after, resident()))
            })?;
        let (work, after, resident_after) = seen;
        workload.exit()?;
        file.remove()?;
        let mut observed: Observed<Self::Found> =
            Observed::of(session, target, &[identity], &work, observation.as_ref());
        observed.evidence.cache.resident_before_bytes = resident_before;
        observed.evidence.cache.resident_after_bytes = resident_after;
        observed.found = before
            .zip(after)
            .map(|(before, after)| MemoryChange { before, after });
        let expected = expected_calls(&self.case).into_iter();
        let expected = expected.map(|(name, (count, bytes))| (name, count, bytes));
        observed.check_calls("the case", expected);
        Ok(observed)
    }

    fn row(&self, timed: Timed, (): (), mut observed: Observed<Self::Found>) -> BufferingRow {
        let notes = &mut observed.notes;
        notes.extend(wide(timed.timing.as_ref(), &timed.stopping));
        if self.case.mode == Mode::SyncFileRange {
            let why = "not durable: it requests neither metadata nor a device flush";
            notes.push(why.to_owned());
        }
        let memory = observed.found.take();
        BufferingRow::new(observed.row(self.case, self.target, timed), memory)
    }
}

impl Item<'_> {
    fn file(&self) -> RunFile {
        let name = format!("{}-{}", self.case.mode.as_str(), self.case.size_bytes);
        RunFile::new(&self.target.dir, &name)
    }

    fn job(&self, file: &RunFile) -> WriteJob {
        WriteJob {
            case: self.case,
            path: file.path().into(),
        }
    }
}
