//! A checker that looks at recovered trees, in a thread of its own: what keeps it from the rest of the machine holds for
//! a thread.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use super::BlockError;
use super::copy::copy_directory;
use crate::crash::checker::{CheckError, Checker, Stage};
use crate::interrupt::Interrupt;

/// What had been printed before the power failed, and where the answer goes.
type Job = (Vec<u8>, Sender<Result<Option<String>, BlockError>>);

/// A checker, and the copy of a tree that it is given.
#[derive(Debug)]
pub struct Checking {
    /// `None` at the end.
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    copied: PathBuf,
}

impl Checking {
    /// In a directory that somebody else removes, for trees of at most so many bytes. Nothing may be mounted in it then:
    /// the checker's own mounts would keep it.
    ///
    /// # Errors
    /// When a thread or a directory cannot be made.
    pub fn start(
        checker: &Checker,
        directory: &Path,
        tree_bytes: u64,
        interrupt: &Interrupt,
    ) -> Result<Self, BlockError> {
        let stage = directory.join("stage");
        fs::create_dir(&stage).map_err(BlockError::io("make a directory"))?;
        let copied = directory.join("copied");
        let (jobs, receiver) = mpsc::channel();
        let (checker, interrupt, from) = (checker.clone(), interrupt.clone(), copied.clone());
        let thread = thread::Builder::new().name("checker".to_owned());
        let work = move || {
            let stage = Stage::enter(stage, checker.sandbox, tree_bytes);
            answer_all(&receiver, stage.as_ref(), |stage, printed| {
                look(stage, &checker, (&from, printed), &interrupt)
            });
        };
        let thread = thread
            .spawn(work)
            .map_err(BlockError::io("start a thread"))?;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
            copied,
        })
    }

    /// Has a copy of a tree looked at; gives what is broken in it.
    ///
    /// # Errors
    /// When it cannot be copied, the checker not be run, or an end was asked for.
    pub fn check(&self, tree: &Path, printed: Vec<u8>) -> Result<Option<String>, BlockError> {
        // The checker may be in a namespace that does not have the recovered file system.
        if self.copied.exists() {
            fs::remove_dir_all(&self.copied).map_err(BlockError::io("remove a copy"))?;
        }
        copy_directory(tree, &self.copied)?;
        let (answer, answers) = mpsc::channel();
        if let Some(jobs) = &self.jobs {
            // Without a receiver no answer comes, which is noticed below.
            jobs.send((printed, answer)).ok();
        }
        let ended = || io::Error::other("its thread failed");
        answers
            .recv()
            .unwrap_or_else(|_| Err(BlockError::io("run the checker")(ended())))
    }
}

impl Drop for Checking {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // One that has panicked has answered nothing, and that was noticed.
            thread.join().ok();
        }
    }
}

fn answer_all(
    jobs: &Receiver<Job>,
    stage: Result<&Stage, &io::Error>,
    look: impl Fn(&Stage, &[u8]) -> Result<Option<String>, BlockError>,
) {
    while let Ok((printed, answer)) = jobs.recv() {
        let said = match stage {
            Ok(stage) => look(stage, &printed),
            Err(error) => {
                let error = io::Error::new(error.kind(), error.to_string());
                Err(BlockError::io("make a room for the checker")(error))
            }
        };
        // Whoever asked may have stopped waiting.
        answer.send(said).ok();
    }
}

fn look(
    stage: &Stage,
    checker: &Checker,
    (tree, printed): (&Path, &[u8]),
    interrupt: &Interrupt,
) -> Result<Option<String>, BlockError> {
    stage
        .renew()
        .map_err(BlockError::io("empty the room of the checker"))?;
    fs::write(stage.printed(), printed).map_err(BlockError::io("write what was printed"))?;
    copy_directory(tree, &stage.tree())?;
    checker
        .check(stage, interrupt)
        .map_err(|error| match error {
            CheckError::Run(error) => BlockError::io("run the checker")(error),
            CheckError::Interrupted(by) => BlockError::Interrupted(by),
        })
}
