//! One run of an experiment: the observer, the launcher, the passes and the files.

mod charge;
mod passes;
mod timed;
mod unobserved;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use iostrata_core::Gap;
use iostrata_core::observe::{Observation, ObserveError, Observer, Stream};

use crate::engine::{EngineError, Job, Launcher, Ledger, StoppingRule, Work, Workload};
use crate::error::LabError;

pub(crate) use charge::evidence;
#[cfg(test)]
pub(crate) use charge::tests::target;
pub(crate) use passes::{Item, Observed, measure, observe_all, other_calls, wide};
pub(crate) use timed::{Pass, Timed, time};
pub(crate) use unobserved::unobserved;

/// How much time a run may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effort {
    /// Some seconds for each experiment.
    Quick,
    /// Some minutes for four file systems on a fast disk.
    #[default]
    Normal,
    /// The articles' own sizes and counts, and many runs.
    Thorough,
}

impl Effort {
    /// When a case has been timed often enough. Fewer than four runs have no 95 %
    /// interval against as few others.
    pub fn stopping(self) -> StoppingRule {
        let (min_runs, max_runs, budget_s) = match self {
            Self::Quick => (5, 5, 2.0),
            Self::Normal => (5, 9, 20.0),
            Self::Thorough => (10, 30, 300.0),
        };
        StoppingRule {
            min_runs,
            max_runs,
            target_width: 0.1,
            budget_s,
        }
    }
}

/// What every experiment needs to know besides its cases and targets.
#[derive(Debug, Clone)]
pub struct RunSettings {
    /// When a case has been timed often enough.
    pub stopping: StoppingRule,
    /// How thoroughly.
    pub effort: Effort,
    /// Directory for programs and files that belong to no target.
    pub scratch: PathBuf,
    /// How workload processes are started.
    pub launcher: Launcher,
    /// Hypervisor or container, as in the environment block.
    pub virtualization: Option<String>,
    /// Why there is no observer; shown only when there is none.
    pub unobserved_because: String,
}

/// How long requests are still counted after `syncfs` returned: the completion of
/// the last ones, and journal work that a commit leaves to a worker.
const SETTLE: Duration = Duration::from_millis(50);

/// A run in progress.
pub(crate) struct Session<'a> {
    pub(crate) run: &'a RunSettings,
    pub(crate) observer: Option<&'a mut dyn Observer>,
    pub(crate) ledger: Ledger<'a>,
    pub(crate) stop: &'a dyn Fn() -> bool,
}

impl Session<'_> {
    /// What the observer cannot see, or that there is none.
    pub(crate) fn gaps(&self) -> Vec<Gap> {
        match &self.observer {
            Some(observer) => observer.missing(),
            None => vec![Gap::new(
                "kernel evidence",
                self.run.unobserved_because.clone(),
            )],
        }
    }

    /// Starts a workload process that has prepared `job`.
    pub(crate) fn start<J: Job>(&self, job: &J) -> Result<Workload<J>, EngineError> {
        self.run.launcher.start(job, self.stop)
    }

    /// Does a job of one step and lets its process end.
    pub(crate) fn work(&self, job: &impl Job<Report = Work>) -> Result<Work, EngineError> {
        let mut workload = self.start(job)?;
        let work = workload.go(self.stop)?;
        workload.exit()?;
        Ok(work)
    }

    /// Runs `work` under the observer, if there is one. The session is ended also
    /// when the work fails.
    ///
    /// `settle` is called after the program has ended, for the write-back of what
    /// it left.
    pub(crate) fn observed<T>(
        &mut self,
        process: u32,
        stream: Stream,
        work: impl FnOnce(&Self) -> Result<T, LabError>,
        settle: &dyn Fn() -> Result<(), LabError>,
    ) -> Result<(T, Option<Observation>), LabError> {
        self.watched(process, stream, |session, _| work(session), settle)
    }

    /// [`Self::observed`] for work that looks at the observer's counts meanwhile.
    pub(crate) fn watched<T>(
        &mut self,
        process: u32,
        stream: Stream,
        work: impl FnOnce(&mut Self, Option<&mut dyn Observer>) -> Result<T, LabError>,
        settle: &dyn Fn() -> Result<(), LabError>,
    ) -> Result<(T, Option<Observation>), LabError> {
        let Some(observer) = self.observer.take() else {
            return Ok((work(self, None)?, None));
        };
        let outcome = observer
            .start(process, stream)
            .map_err(LabError::from)
            .and_then(|()| {
                let done = work(self, Some(&mut *observer))?;
                observer.program_ended()?;
                settle()?;
                Ok(done)
            });
        let observation = observer.stop();
        self.observer = Some(observer);
        // A failed work is the reason; what `stop` says about it is not.
        let done = outcome?;
        let mut observation = observation?;
        match observation.failed.pop() {
            None => Ok((done, Some(observation))),
            Some(gap) => Err(LabError::from(ObserveError {
                doing: "observe the workload to its end".to_owned(),
                cause: gap.why,
            })),
        }
    }
}

/// Runs `work` unless an end was asked for; a failure during an interruption is one.
pub(crate) fn until_stopped<T>(
    stop: &dyn Fn() -> bool,
    interrupted: &mut bool,
    work: impl FnOnce() -> Result<T, LabError>,
) -> Result<Option<T>, LabError> {
    if !*interrupted && !stop() {
        match work() {
            Ok(done) => return Ok(Some(done)),
            Err(error) if !stop() => return Err(error),
            Err(_) => {}
        }
    }
    *interrupted = true;
    Ok(None)
}

/// The same for what is done beside rows that there are: a failure does not lose them, and is
/// told with the result, which lacks this.
pub(crate) fn unless_failed<'a, T>(
    session: &mut Session<'a>,
    interrupted: &mut bool,
    work: impl FnOnce(&mut Session<'a>) -> Result<T, LabError>,
) -> Result<Option<T>, LabError> {
    let stop = session.stop;
    match until_stopped(stop, interrupted, || work(session)) {
        Err(error) if !error.spoils_all() => {
            session.ledger.failed(error);
            *interrupted = true;
            Ok(None)
        }
        outcome => outcome,
    }
}

/// Writes back everything that is dirty on the file system of `dir`.
pub(crate) fn sync_file_system(dir: &Path) -> Result<(), LabError> {
    File::open(dir)
        .and_then(|dir| Ok(rustix::fs::syncfs(dir)?))
        .map_err(|error| LabError::io(format!("sync the file system of {}", dir.display()), error))
}

/// Writes back, and waits for what a commit leaves behind.
pub(crate) fn settle(dir: &Path) -> Result<(), LabError> {
    sync_file_system(dir)?;
    thread::sleep(SETTLE);
    Ok(())
}

/// A file of one run, removed with it.
pub(crate) struct RunFile {
    path: PathBuf,
}

impl RunFile {
    /// The name of a file that does not exist yet.
    pub(crate) fn new(dir: &Path, name: &str) -> Self {
        Self {
            path: dir.join(name),
        }
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it.
    pub(crate) fn remove(self) -> Result<(), LabError> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(LabError::io(
                format!("remove {}", self.path.display()),
                error,
            )),
            _ => Ok(()),
        }
    }
}

impl Drop for RunFile {
    /// After [`RunFile::remove`], or before the file was made, there is nothing to
    /// remove; after a failure the scratch directory's own removal reports what stays.
    fn drop(&mut self) {
        drop(fs::remove_file(&self.path));
    }
}
