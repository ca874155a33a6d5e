//! Checkers side by side: each thread has a stage of its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use iostrata_core::crash::{Seen, Stopped};
use iostrata_core::record::Tree;

use super::checker::{CheckError, Checker, Sandbox, Stage};
use super::log::{Log, LogError};
use crate::engine::Launcher;
use crate::interrupt::Interrupt;

/// A log that several threads make trees of, one at a time.
pub type SharedLog = Arc<Mutex<Log>>;

/// A tree to look at, and where the answer goes.
struct Job {
    number: usize,
    seen: Seen,
    answer: Sender<(usize, Result<Option<String>, LogError>)>,
}

pub struct Workers {
    /// `None` at the end.
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

/// What all of them have.
#[derive(Clone)]
struct Work {
    checker: Checker,
    log: SharedLog,
    interrupt: Interrupt,
    tree_bytes: u64,
    jobs: Arc<Mutex<Receiver<Job>>>,
}

impl Workers {
    /// So many, below a directory that the caller removes; no tree has more bytes.
    pub fn start(
        count: usize,
        checker: &Checker,
        scratch: &Path,
        log: &SharedLog,
        (tree_bytes, interrupt): (u64, &Interrupt),
    ) -> io::Result<Self> {
        let (sender, jobs) = mpsc::channel();
        let work = Work {
            checker: checker.clone(),
            log: Arc::clone(log),
            interrupt: interrupt.clone(),
            tree_bytes,
            jobs: Arc::new(Mutex::new(jobs)),
        };
        let mut workers = Self {
            jobs: Some(sender),
            threads: Vec::new(),
        };
        for number in 0..count {
            let path = scratch.join(format!("stage-{number}"));
            fs::create_dir(&path)?;
            let work = work.clone();
            let thread = thread::Builder::new().name("checker".to_owned());
            workers.threads.push(thread.spawn(move || work.run(path))?);
        }
        Ok(workers)
    }

    /// Looks at all of these; gives what is broken in each.
    pub fn check(&self, all: &[Seen]) -> Result<Vec<Option<String>>, Stopped<LogError>> {
        let (answer, answers) = mpsc::channel();
        for (number, seen) in all.iter().enumerate() {
            let job = Job {
                number,
                seen: seen.clone(),
                answer: answer.clone(),
            };
            // Without a receiver no answer comes, which is noticed below.
            if let Some(jobs) = &self.jobs {
                jobs.send(job).ok();
            }
        }
        drop(answer);
        let mut said = Vec::new();
        let mut by = None;
        for (number, one) in answers {
            match one {
                Ok(one) => said.push((number, one)),
                Err(error) => by = by.or(Some(error)),
            }
        }
        if let Some(by) = by {
            return Err(Stopped { said, by });
        }
        if said.len() < all.len() {
            return Err(LogError::NoChecker.into());
        }
        said.sort_unstable_by_key(|(number, _)| *number);
        Ok(said.into_iter().map(|(_, said)| said).collect())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // A thread that has panicked has answered nothing, and that was noticed.
            thread.join().ok();
        }
    }
}

impl Work {
    fn run(self, path: PathBuf) {
        let stage = Stage::enter(path, &self.checker, self.tree_bytes);
        while let Some(job) = self.next() {
            let said = match &stage {
                Ok(stage) => self.look(stage, &job.seen),
                Err(error) => Err(LogError::Stage(io::Error::new(
                    error.kind(),
                    error.to_string(),
                ))),
            };
            // The caller may have stopped waiting.
            job.answer.send((job.number, said)).ok();
        }
    }

    fn next(&self) -> Option<Job> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.recv().ok()
    }

    fn look(
        &self,
        stage: &Stage,
        (tree, told): &(Tree, usize),
    ) -> Result<Option<String>, LogError> {
        self.interrupt.check()?;
        stage.renew().map_err(LogError::Stage)?;
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let printed = log.printed(*told)?;
        fs::write(stage.printed(), printed).map_err(LogError::Stage)?;
        log.build(tree, &stage.tree())?;
        drop(log);
        match self.checker.check(stage, &self.interrupt) {
            Ok(said) => Ok(said),
            Err(CheckError::Run(error)) => Err(LogError::Stage(error)),
            Err(CheckError::Interrupted(by)) => Err(LogError::Interrupted(by)),
        }
    }
}

/// The strongest sandbox that works here, tried in a directory that the caller removes.
pub fn sandbox(scratch: &Path, launcher: &Launcher) -> io::Result<Sandbox> {
    let path = scratch.join("trial");
    fs::create_dir(&path)?;
    let found = Sandbox::find(&path, launcher);
    fs::remove_dir_all(&path)?;
    Ok(found)
}
