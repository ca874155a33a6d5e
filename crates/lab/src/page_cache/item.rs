//! An item of the measurement: a case on a target, with its file.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use iostrata_core::bytes;
use iostrata_core::evidence::Cache;
use iostrata_core::gap::{Gap, Missing, Reason};
use iostrata_core::observe::Stream;
use iostrata_core::page_cache::{Case, PageCacheRow, Parse, Reader, State};
use iostrata_core::timing::Sample;

use super::reader::{FileStep, ReadFileJob, ReadFileReport};
use super::rows::{brought_pages, row};
use super::settings::{Plan, copies};
use crate::engine::{EngineError, Residency, evict, residency, warm};
use crate::error::LabError;
use crate::session::{self, Item as _, Observed, Session, Timed, identity};
use crate::target::Target;

/// Maximum number of observations of a warm read whose pages were evicted before it.
const TRIES: usize = 3;

/// Interval of checks for an interruption during a pause.
const PAUSE_CHECK: Duration = Duration::from_millis(50);

#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) target: &'a Target,
    pub(super) case: Case,
    pub(super) file: &'a Path,
    pub(super) plan: &'a Plan,
}

/// The actual state of a file before a read.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) state: State,
    /// Why it is not the requested one.
    pub(super) why: Option<String>,
    pub(super) resident_bytes: u64,
}

/// One read of a series.
#[derive(Debug, Clone)]
pub(super) struct Again {
    pub(super) sample: Sample,
    pub(super) storage_read_bytes: Option<u64>,
    pub(super) resident_before_bytes: u64,
    pub(super) resident_after_bytes: u64,
}

#[derive(Debug, Clone)]
pub(super) struct ReadRun {
    pub(super) found: Found,
    pub(super) first: ReadFileReport,
    /// All reads, if there were several.
    pub(super) series: Vec<Again>,
    pub(super) copy: Option<Sample>,
}

impl ReadRun {
    /// Whether pages of a resident file were evicted before the read. Pages of the program that
    /// were read from storage while it was timed count as well.
    pub(super) fn was_cooled(&self) -> bool {
        self.found.state == State::Warm && self.first.storage_read_bytes > Some(0)
    }
}

impl session::Item for Item<'_> {
    type Gathered = Vec<ReadRun>;
    /// `None` when it was no longer observed.
    type Found = Option<Found>;
    type Row = PageCacheRow;

    /// `cold read 1 MiB on host`.
    fn label(&self) -> String {
        let case = self.case;
        let parser = match case.parse {
            Parse::None => String::new(),
            parse => format!(", {}", parse.as_str()),
        };
        format!(
            "{} {} {}{parser} on {}",
            case.state.as_str(),
            case.reader.as_str(),
            bytes::exact(case.size_bytes),
            self.target.name
        )
    }

    fn run(&self, session: &mut Session<'_>, runs: &mut Vec<ReadRun>) -> Result<Sample, LabError> {
        let run = self.read_through(session)?;
        let sample = run.first.work.sample;
        runs.push(run);
        Ok(sample)
    }

    fn observe(&self, session: &mut Session<'_>) -> Result<Observed<Self::Found>, LabError> {
        let mut observed = self.observe_once(session)?;
        for _ in 1..TRIES {
            let found = observed.found.as_ref();
            let warm = found.is_some_and(|found| found.state == State::Warm);
            if !warm || brought_pages(&observed.evidence) == 0 {
                break;
            }
            observed = self.observe_once(session)?;
        }
        Ok(observed)
    }

    fn row(
        &self,
        timed: Timed,
        runs: Vec<ReadRun>,
        observed: Observed<Self::Found>,
    ) -> PageCacheRow {
        // The first is the warm-up.
        let counted = runs.get(1..).unwrap_or_default();
        row(self, &timed, counted, observed)
    }
}

impl Item<'_> {
    /// Reads of the file in one run.
    fn reads(&self) -> u32 {
        match (self.case.reader, self.case.parse) {
            (Reader::Read, Parse::None) => self.plan.reads,
            _ => 1,
        }
    }

    pub(super) fn job(&self, steps: Vec<FileStep>) -> ReadFileJob {
        ReadFileJob {
            case: self.case,
            path: self.file.into(),
            random_reads: self.plan.random_reads,
            steps,
        }
    }

    /// Brings the file into the case's state, and returns its actual state.
    pub(super) fn set_state(&self) -> Result<Found, LabError> {
        let asked = self.case.state;
        let changed = match asked {
            State::Warm => warm(self.file),
            _ => evict(self.file),
        };
        let residency = changed.map_err(|error| {
            let doing = if asked == State::Warm {
                "bring in"
            } else {
                "evict"
            };
            LabError::at(doing, self.file, error)
        })?;
        Ok(self.found(&residency))
    }

    fn found(&self, residency: &Residency) -> Found {
        let asked = self.case.state;
        let resident_bytes = residency.resident_bytes();
        let state = asked.found(resident_bytes, self.case.size_bytes);
        let file = self.file.display();
        let why = match asked {
            _ if state == asked => None,
            State::Warm => Some(format!(
                "asked to cache {file}, but only {} of {} pages are resident after repeated reads",
                residency.resident_pages, residency.pages
            )),
            _ => Some(format!(
                "asked to evict {file}, but {}",
                residency.why_not_cold()
            )),
        };
        Found {
            state,
            why,
            resident_bytes,
        }
    }

    pub(super) fn resident_bytes(&self) -> Result<u64, LabError> {
        let seen = residency(self.file)
            .map_err(|error| LabError::at("ask what is cached of", self.file, error))?;
        Ok(seen.resident_bytes())
    }

    /// Reads once under the observer; without one, uses what any process can see.
    fn observe_once(&self, session: &mut Session<'_>) -> Result<Observed<Option<Found>>, LabError> {
        let identity = identity(self.file)?;
        let mut workload = session.start(&self.job(vec![FileStep::Read]))?;
        let found = self.set_state()?;
        let pid = workload.pid();
        // A read leaves nothing to write back.
        let ((report, after), observation) =
            session.observed(pid, Stream::default(), None, |session, _| {
                let report = workload.go(session.stop)?;
                Ok((report, self.resident_bytes()?))
            })?;
        workload.exit()?;
        let (work, observation) = (&report.work, observation.as_ref());
        let mut observed: Observed<Option<Found>> =
            Observed::of(session, self.target, &[identity], work, observation);
        let evidence = &mut observed.evidence;
        if self.case.reader == Reader::IoUring && evidence.cache.lookups_pages.is_some() {
            evidence.cache = Cache::default();
            evidence
                .missing
                .push(Gap::new(Missing::CacheEvents, Reason::RingWorkers));
        }
        evidence.cache.resident_before_bytes = Some(found.resident_bytes);
        evidence.cache.resident_after_bytes = Some(after);
        observed.found = Some(found);
        Ok(observed)
    }

    /// The state, the reads, and the copy if there is one.
    fn read_through(&self, session: &mut Session<'_>) -> Result<ReadRun, LabError> {
        let reads = self.reads();
        let mut steps = vec![FileStep::Read; usize::try_from(reads).unwrap_or(1)];
        if copies(&self.case) {
            steps.push(FileStep::Copy);
        }
        let mut workload = session.start(&self.job(steps))?;
        let found = self.set_state()?;
        let mut reports = Vec::new();
        let mut series = Vec::new();
        let mut resident_before_bytes = found.resident_bytes;
        for number in 1..=reads {
            if number > 1 {
                self.pause(session)?;
            }
            let report = workload.go(session.stop)?;
            let resident_after_bytes = self.resident_bytes()?;
            series.push(Again {
                sample: report.work.sample,
                storage_read_bytes: report.storage_read_bytes,
                resident_before_bytes,
                resident_after_bytes,
            });
            self.show(session, number, &report, resident_after_bytes);
            resident_before_bytes = resident_after_bytes;
            reports.push(report);
        }
        let copy = if copies(&self.case) {
            Some(workload.go(session.stop)?.work.sample)
        } else {
            None
        };
        workload.exit()?;
        self.pause(session)?;
        if series.len() == 1 {
            series.clear();
        }
        Ok(ReadRun {
            found,
            first: reports.swap_remove(0),
            series,
            copy,
        })
    }

    /// A line for a user who watches.
    fn show(
        &self,
        session: &mut Session<'_>,
        number: u32,
        report: &ReadFileReport,
        resident_bytes: u64,
    ) {
        if self.plan.sleep.is_none() {
            return;
        }
        let fetched = report
            .storage_read_bytes
            .map_or_else(|| "unknown".to_owned(), bytes::short);
        session.ledger.to.line(&format!(
            "{}: read {number} {:.6} s, from storage {fetched}, resident {} of {}",
            self.label(),
            report.work.sample.real_s,
            bytes::short(resident_bytes),
            bytes::short(self.case.size_bytes.next_multiple_of(4096)),
        ));
    }

    fn pause(&self, session: &Session<'_>) -> Result<(), LabError> {
        let Some(sleep) = self.plan.sleep else {
            return Ok(());
        };
        let started = Instant::now();
        loop {
            if (session.stop)() {
                return Err(EngineError::Interrupted.into());
            }
            let left = sleep.saturating_sub(started.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(PAUSE_CHECK));
        }
    }
}
