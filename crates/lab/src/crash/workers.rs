//! Checkers side by side: each thread has a stage of its own.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use blake3::Hash;
use iostrata_core::crash::{Sandbox, Seen, Stopped};

use super::checker::{Checker, Owners, Site};
use super::log::{Log, LogError};
use super::look::strongest;
use super::stage::{Stage, remove};
use crate::engine::Launcher;
use crate::interrupt::Interrupt;

/// A log that several threads make trees of, one at a time.
pub type SharedLog = Arc<Mutex<Log>>;

/// Threads that answer jobs with a checker, each in a stage of its own.
#[derive(Debug)]
pub(super) struct Pool<J, R> {
    /// `None` at the end.
    jobs: Option<Sender<Asked<J, R>>>,
    threads: Vec<JoinHandle<()>>,
}

/// A job with its number, and where the answer goes.
type Asked<J, R> = (usize, J, Sender<(usize, R)>);

impl<J: Send + 'static, R: Send + 'static> Pool<J, R> {
    /// So many, below a directory that the caller removes; no tree has more bytes. `look` gets the stage, or why there
    /// is none.
    pub(super) fn start(
        count: usize,
        checker: &Checker,
        directory: &Path,
        tree_bytes: u64,
        look: impl Fn(io::Result<&mut Stage>, &Checker, J) -> R + Clone + Send + 'static,
    ) -> io::Result<Self> {
        let (sender, jobs) = mpsc::channel();
        let jobs = Arc::new(Mutex::new(jobs));
        let mut pool = Self {
            jobs: Some(sender),
            threads: Vec::new(),
        };
        for number in 0..count {
            let path = directory.join(format!("stage-{number}"));
            fs::create_dir(&path)?;
            let (checker, jobs, look) = (checker.clone(), Arc::clone(&jobs), look.clone());
            let thread = thread::Builder::new().name("checker".to_owned());
            pool.threads.push(thread.spawn(move || {
                let mut stage = Stage::enter(path, &checker, tree_bytes, number);
                let why = |error: &io::Error| io::Error::new(error.kind(), error.to_string());
                while let Some((number, job, answer)) = next(&jobs) {
                    let said = look(stage.as_mut().map_err(|error| why(error)), &checker, job);
                    // The caller may have stopped waiting.
                    answer.send((number, said)).ok();
                }
            })?);
        }
        Ok(pool)
    }

    /// Gives jobs to the threads. An answer has the number of its job; where a thread failed, answers are missing.
    pub(super) fn ask(&self, all: impl IntoIterator<Item = J>) -> Receiver<(usize, R)> {
        let (answer, answers) = mpsc::channel();
        for (number, job) in all.into_iter().enumerate() {
            if let Some(jobs) = &self.jobs {
                jobs.send((number, job, answer.clone())).ok();
            }
        }
        answers
    }
}

fn next<J>(jobs: &Mutex<Receiver<J>>) -> Option<J> {
    unpoisoned(jobs).recv().ok()
}

impl<J, R> Drop for Pool<J, R> {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // A thread that has panicked has answered nothing, and that was noticed.
            thread.join().ok();
        }
    }
}

/// States that a checker accepted and changed: what tells their trees from others, and the number of acknowledgements.
pub type Changed = HashSet<(Hash, usize)>;

/// Threads that run a checker.
pub struct Workers {
    pool: Pool<Seen, Result<Option<String>, LogError>>,
    changed: Arc<Mutex<Changed>>,
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
        let (log, interrupt) = (Arc::clone(log), interrupt.clone());
        let changed = Arc::<Mutex<Changed>>::default();
        let notes = Arc::clone(&changed);
        let pool = Pool::start(
            count,
            checker,
            scratch,
            tree_bytes,
            move |stage, own, seen| {
                let stage = stage.map_err(LogError::Stage)?;
                let said = look(stage, own, &log, &interrupt, &seen)?;
                if said.is_none() && stage.has_changed {
                    let (tree, told) = &seen;
                    let hash = unpoisoned(&log).history.digest(tree);
                    unpoisoned(&notes).insert((hash, *told));
                }
                Ok(said)
            },
        );
        let pool = pool?;
        Ok(Self { pool, changed })
    }

    /// Looks at all of these; gives what is broken in each.
    pub fn check(&self, all: &[Seen]) -> Result<Vec<Option<String>>, Stopped<LogError>> {
        let mut said = Vec::new();
        let mut by = None;
        for (number, one) in self.pool.ask(all.iter().cloned()) {
            match one {
                Ok(one) => said.push((number, one)),
                Err(error) => by = by.or(Some(error)),
            }
        }
        if let Some(by) = by {
            return Err(Stopped { said, by });
        }
        Ok(in_order(said, all.len())?)
    }

    /// Those of the states so far, where they are noted.
    pub fn changed(&self) -> Changed {
        unpoisoned(&self.changed).clone()
    }
}

/// A thread that panicked has left nothing half done here.
fn unpoisoned<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers in the order of their jobs, all of them.
pub(super) fn in_order<T>(mut answers: Vec<(usize, T)>, jobs: usize) -> Result<Vec<T>, LogError> {
    if answers.len() < jobs {
        return Err(LogError::NoChecker);
    }
    answers.sort_unstable_by_key(|(number, _)| *number);
    Ok(answers.into_iter().map(|(_, answer)| answer).collect())
}

/// Makes a state in an empty site.
pub(super) fn fill(log: &SharedLog, seen: &Seen, site: &Site) -> Result<(), LogError> {
    let (tree, told) = seen;
    let mut log = unpoisoned(log);
    let printed = log.printed(*told)?;
    fs::write(&site.printed, printed).map_err(LogError::Stage)?;
    log.build(tree, &site.tree)
}

fn look(
    stage: &mut Stage,
    checker: &Checker,
    log: &SharedLog,
    interrupt: &Interrupt,
    seen: &Seen,
) -> Result<Option<String>, LogError> {
    interrupt.check()?;
    let said = checker.check(stage, Owners::Given, interrupt, |site| {
        fill(log, seen, site)
    });
    said.map_err(|error| match error {
        LogError::Unreliable { why, .. } => LogError::Unreliable {
            why,
            seen: Some(seen.clone()),
        },
        other => other,
    })
}

/// The strongest sandbox that works here, tried in a directory that the caller removes.
pub fn sandbox(scratch: &Path, launcher: &Launcher) -> io::Result<Sandbox> {
    let path = scratch.join("trial");
    fs::create_dir(&path)?;
    let found = strongest(&path, launcher);
    remove(&path)?;
    Ok(found)
}
