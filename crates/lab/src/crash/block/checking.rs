//! Checkers that look at recovered trees, each in a thread of its own: what keeps one from the rest of the machine holds
//! for a thread.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::BlockError;
use crate::crash::checker::{Checker, Owners};
use crate::crash::copied::copy_directory;
use crate::crash::stage::{Stage, remove};
use crate::crash::workers::Pool;
use crate::interrupt::Interrupt;

/// What fails when a checker has no stage.
const ROOM: &str = "make a room for the checker";

/// A copy of a tree, and what had been printed before the power failed.
#[derive(Debug)]
struct Job {
    tree: PathBuf,
    printed: Vec<u8>,
}

/// Checkers, and where the copies are that they are given.
#[derive(Debug)]
pub struct Checking {
    pool: Pool<Job, Result<Option<String>, BlockError>>,
    directory: PathBuf,
    interrupt: Interrupt,
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
        let asked = interrupt.clone();
        let pool = Pool::start(
            count,
            checker,
            directory,
            tree_bytes,
            move |stage, own, job| {
                let stage = stage.map_err(BlockError::io(ROOM))?;
                look(stage, own, &job, &asked)
            },
        );
        Ok(Self {
            pool: pool.map_err(BlockError::io("start a checker"))?,
            directory: directory.to_owned(),
            interrupt: interrupt.clone(),
            copies: AtomicU64::new(0),
        })
    }

    /// Has a copy of a tree looked at; gives what is broken in it.
    pub fn check(&self, tree: &Path, printed: Vec<u8>) -> Result<Option<String>, BlockError> {
        // The checker may be in a namespace that does not have the recovered file system.
        let number = self.copies.fetch_add(1, Ordering::Relaxed);
        let copy = self.directory.join(format!("copy-{number}"));
        copy_directory(tree, &copy, &self.interrupt)?;
        let tree = copy.clone();
        let answer = self.pool.ask([Job { tree, printed }]).recv();
        let ended = |_| BlockError::io("run the checker")(io::Error::other("its thread failed"));
        remove(&copy).map_err(BlockError::io("remove a copy"))?;
        let (_, said) = answer.map_err(ended)?;
        said
    }
}

fn look(
    stage: &mut Stage,
    checker: &Checker,
    job: &Job,
    interrupt: &Interrupt,
) -> Result<Option<String>, BlockError> {
    checker.check(stage, Owners::Kept, interrupt, |site| {
        let printed = fs::write(&site.printed, &job.printed);
        printed.map_err(BlockError::io("write what was printed"))?;
        Ok(copy_directory(&job.tree, &site.tree, interrupt)?)
    })
}
