//! What all parts of a run share: the observer, the launcher and the files.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use iostrata_core::observe::{Observation, Observer, Stream};

use super::{BufferingError, Settings};
use crate::engine::{EngineError, Job, Ledger, Report, Work, Workload};

/// How long requests are still counted after `syncfs` returned: the completion of
/// the last ones, and journal work that a commit leaves to a worker.
const SETTLE: Duration = Duration::from_millis(50);

/// A run in progress.
pub(super) struct Session<'a> {
    pub(super) settings: &'a Settings,
    pub(super) observer: Option<&'a mut dyn Observer>,
    pub(super) ledger: Ledger<'a>,
    pub(super) stop: &'a dyn Fn() -> bool,
}

impl Session<'_> {
    /// Starts a workload process that has prepared `job`.
    pub(super) fn start(&self, job: &Job) -> Result<Workload, EngineError> {
        self.settings.launcher.start(job, self.stop)
    }

    /// Does a job of one step and lets its process end.
    pub(super) fn work(&self, job: &Job) -> Result<Work, EngineError> {
        let mut workload = self.start(job)?;
        let work = expect_work(&workload.go(self.stop)?)?;
        workload.exit()?;
        Ok(work)
    }

    /// Runs `work` under the observer, if there is one. The session is ended also
    /// when the work fails.
    ///
    /// `settle` is called after the program has ended, for the write-back of what
    /// it left.
    pub(super) fn observed<T>(
        &mut self,
        process: u32,
        stream: Stream,
        work: impl FnOnce(&Self) -> Result<T, BufferingError>,
        settle: &dyn Fn() -> Result<(), BufferingError>,
    ) -> Result<(T, Option<Observation>), BufferingError> {
        let Some(observer) = self.observer.take() else {
            return Ok((work(self)?, None));
        };
        let outcome = observer
            .start(process, stream)
            .map_err(BufferingError::from)
            .and_then(|()| {
                let done = work(self)?;
                observer.program_ended()?;
                settle()?;
                Ok(done)
            });
        let observation = observer.stop();
        self.observer = Some(observer);
        // A failed work is the reason; what `stop` says about it is not.
        let done = outcome?;
        Ok((done, Some(observation?)))
    }
}

/// The report of a job that only works.
pub(super) fn expect_work(report: &Report) -> Result<Work, EngineError> {
    match report {
        Report::Work(work) => Ok(*work),
        Report::Step(_) | Report::Read(_) => Err(EngineError::Protocol("another report".into())),
    }
}

/// Writes back everything that is dirty on the file system of `dir`.
pub(super) fn sync_file_system(dir: &Path) -> Result<(), BufferingError> {
    File::open(dir)
        .and_then(|dir| Ok(rustix::fs::syncfs(dir)?))
        .map_err(|error| {
            BufferingError::io(format!("sync the file system of {}", dir.display()), error)
        })
}

/// Writes back, and waits for what a commit leaves behind.
pub(super) fn settle(dir: &Path) -> Result<(), BufferingError> {
    sync_file_system(dir)?;
    thread::sleep(SETTLE);
    Ok(())
}

/// A file of one run, removed with it.
pub(super) struct RunFile {
    path: PathBuf,
}

impl RunFile {
    /// The name of a file that does not exist yet.
    pub(super) fn new(dir: &Path, name: &str) -> Self {
        Self {
            path: dir.join(name),
        }
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it.
    pub(super) fn remove(self) -> Result<(), BufferingError> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(BufferingError::io(
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
