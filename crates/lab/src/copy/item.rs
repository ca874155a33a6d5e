//! What is measured: a copy on a target, or a yardstick.

use std::cell::Cell;

use iostrata_core::bytes;
use iostrata_core::copy::{Case, Destination, Measure, Source};
use iostrata_core::lab::Row;
use iostrata_core::timing::Sample;

use super::methods::CopyJob;
use super::observed::observe;
use super::source::{SourceFile, make_existing};
use super::states::States;
use super::yardsticks::YardstickJob;
use crate::engine::{Residency, StoppingRule};
use crate::error::LabError;
use crate::session::{self, Observed, RunFile, Session, Timed};
use crate::target::Target;

/// A case on a target.
#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) target: &'a Target,
    pub(super) source: &'a SourceFile,
    pub(super) case: Case,
    /// Copies that were compared with their sources.
    pub(super) verified: &'a Cell<u64>,
}

impl session::Item for Item<'_> {
    type Gathered = States;
    type Found = Option<Residency>;
    type Row = Row<Case>;

    /// `read_write 64 KiB, cold, durable, on host`.
    fn label(&self) -> String {
        let case = &self.case;
        let mut text = case.method.as_str().to_owned();
        if let Some(buffer) = case.buffer_bytes {
            text = format!("{text} {}", bytes::exact(buffer));
        }
        if case.source == Source::Cold {
            text.push_str(", cold");
        }
        if case.durable {
            text.push_str(", durable");
        }
        format!("{text}, on {}", self.target.name)
    }

    /// One copy, compared with its source and removed.
    fn run(&self, session: &mut Session<'_>, gathered: &mut States) -> Result<Sample, LabError> {
        let state = self.source.prepare(self.case.source, self.target)?;
        let copy = self.destination(session)?;
        let work = session.work(&self.job(&copy))?;
        self.verify(&copy, session)?;
        copy.remove()?;
        gathered.add(&self.case, state.as_ref());
        Ok(work.sample)
    }

    fn observe(
        &self,
        session: &mut Session<'_>,
        _: &[Row<Case>],
    ) -> Result<Observed<Self::Found>, LabError> {
        observe(session, self)
    }

    fn row(
        &self,
        timed: Timed,
        mut gathered: States,
        mut observed: Observed<Self::Found>,
        _: &StoppingRule,
    ) -> Row<Case> {
        gathered.add(&self.case, observed.found.as_ref());
        observed.notes.extend(gathered.notes(&self.case));
        observed.row(self.case, self.target, timed)
    }
}

impl Item<'_> {
    /// The file that the next copy makes, or goes over.
    pub(super) fn destination(&self, session: &Session<'_>) -> Result<RunFile, LabError> {
        let copy = RunFile::new(&self.target.dir, "copy");
        if self.case.destination == Destination::Existing {
            make_existing(copy.path(), self.case.size_bytes, session.stop)?;
        }
        Ok(copy)
    }

    pub(super) fn job(&self, copy: &RunFile) -> CopyJob {
        CopyJob {
            case: self.case,
            from: self.source.path().into(),
            to: copy.path().into(),
        }
    }

    /// Fails unless the copy has the source's contents: then nothing about it is worth
    /// reporting.
    pub(super) fn verify(&self, copy: &RunFile, session: &Session<'_>) -> Result<(), LabError> {
        if self.source.is_copied_to(copy.path(), session.stop)? {
            self.verified.set(self.verified.get() + 1);
            return Ok(());
        }
        Err(LabError::Differs {
            method: self.case.method.as_str(),
            copy: copy.path().to_owned(),
        })
    }
}

/// A yardstick, and the file system that it is taken on.
#[derive(Clone, Copy)]
pub(super) struct YardstickItem<'a> {
    pub(super) measure: Measure,
    pub(super) size_bytes: u64,
    pub(super) place: Option<(&'a Target, &'a SourceFile)>,
}

impl YardstickItem<'_> {
    pub(super) fn label(&self) -> String {
        let name = self.measure.as_str();
        match self.place {
            Some((target, _)) => format!("{name} on {}", target.name),
            None => name.to_owned(),
        }
    }

    pub(super) fn run(&self, session: &Session<'_>) -> Result<Sample, LabError> {
        let made = match (self.measure, self.place) {
            (Measure::DeviceWrite, Some((target, _))) => {
                Some(RunFile::new(&target.dir, "yardstick"))
            }
            _ => None,
        };
        let path = match (&made, self.place) {
            (Some(file), _) => file.path().into(),
            (None, Some((_, source))) => source.path().into(),
            (None, None) => std::ffi::OsString::new(),
        };
        let work = session.work(&YardstickJob {
            measure: self.measure,
            size_bytes: self.size_bytes,
            path,
        })?;
        made.map_or(Ok(()), RunFile::remove)?;
        Ok(work.sample)
    }
}
