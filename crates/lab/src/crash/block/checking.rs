//! Checkers that look at recovered trees, each in a thread of its own: what keeps one from the rest of the machine holds
//! for a thread.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::BlockError;
use crate::crash::checker::{CheckError, Checker, Stage};
use crate::crash::copied::copy_directory;
use crate::interrupt::Interrupt;

/// A copy of a tree, and what had been printed before the power failed.
struct Job {
    tree: PathBuf,
    printed: Vec<u8>,
    answer: Sender<Result<Option<String>, BlockError>>,
}

/// Checkers, and where the copies are that they are given.
#[derive(Debug)]
pub struct Checking {
    /// `None` at the end.
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
    directory: PathBuf,
    copies: AtomicU64,
}

impl Checking {
    /// So many, in a directory that the caller removes, for trees of at most so many bytes. Nothing may be mounted in
    /// it then: the checkers' own mounts would keep it.
    pub fn start(
        count: usize,
        checker: &Checker,
        directory: &Path,
        (tree_bytes, interrupt): (u64, &Interrupt),
    ) -> Result<Self, BlockError> {
        let (sender, jobs) = mpsc::channel();
        let jobs = Arc::new(Mutex::new(jobs));
        let mut checking = Self {
            jobs: Some(sender),
            threads: Vec::new(),
            directory: directory.to_owned(),
            copies: AtomicU64::new(0),
        };
        for number in 0..count {
            let stage = directory.join(format!("stage-{number}"));
            fs::create_dir(&stage).map_err(BlockError::io("make a directory"))?;
            let (checker, interrupt, jobs) =
                (checker.clone(), interrupt.clone(), Arc::clone(&jobs));
            let thread = thread::Builder::new().name("checker".to_owned());
            let thread = thread.spawn(move || {
                let stage = Stage::enter(stage, &checker, tree_bytes);
                answer_all(&jobs, stage.as_ref(), |stage, job| {
                    look(stage, &checker, job, &interrupt)
                });
            });
            let thread = thread.map_err(BlockError::io("start a thread"))?;
            checking.threads.push(thread);
        }
        Ok(checking)
    }

    /// Has a copy of a tree looked at; gives what is broken in it.
    pub fn check(&self, tree: &Path, printed: Vec<u8>) -> Result<Option<String>, BlockError> {
        // The checker may be in a namespace that does not have the recovered file system.
        let number = self.copies.fetch_add(1, Ordering::Relaxed);
        let copy = self.directory.join(format!("copy-{number}"));
        copy_directory(tree, &copy)?;
        let (answer, answers) = mpsc::channel();
        if let Some(jobs) = &self.jobs {
            let job = Job {
                tree: copy.clone(),
                printed,
                answer,
            };
            // Without a receiver no answer comes, which is noticed below.
            jobs.send(job).ok();
        }
        let ended = || io::Error::other("its thread failed");
        let said = answers
            .recv()
            .unwrap_or_else(|_| Err(BlockError::io("run the checker")(ended())));
        fs::remove_dir_all(&copy).map_err(BlockError::io("remove a copy"))?;
        said
    }
}

impl Drop for Checking {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // One that has panicked has answered nothing, and that was noticed.
            thread.join().ok();
        }
    }
}

fn answer_all(
    jobs: &Mutex<Receiver<Job>>,
    stage: Result<&Stage, &io::Error>,
    look: impl Fn(&Stage, &Job) -> Result<Option<String>, BlockError>,
) {
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
    while let Ok(job) = next() {
        let said = match stage {
            Ok(stage) => look(stage, &job),
            Err(error) => {
                let error = io::Error::new(error.kind(), error.to_string());
                Err(BlockError::io("make a room for the checker")(error))
            }
        };
        // The caller may have stopped waiting.
        job.answer.send(said).ok();
    }
}

fn look(
    stage: &Stage,
    checker: &Checker,
    job: &Job,
    interrupt: &Interrupt,
) -> Result<Option<String>, BlockError> {
    stage
        .renew()
        .map_err(BlockError::io("empty the room of the checker"))?;
    fs::write(stage.printed(), &job.printed).map_err(BlockError::io("write what was printed"))?;
    copy_directory(&job.tree, &stage.tree())?;
    checker
        .check(stage, interrupt)
        .map_err(|error| match error {
            CheckError::Run(error) => BlockError::io("run the checker")(error),
            CheckError::Interrupted(by) => BlockError::Interrupted(by),
        })
}
