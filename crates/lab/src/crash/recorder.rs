//! Records what a checker does in a crashed copy: the recorder runs in the room of the checker, around it.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iostrata_core::crash::Seen;
use rustix::fs::OFlags;

use super::checker::{Checker, Owners, TEMPORARY};
use super::log::LogError;
use super::stage::Stage;
use super::workers::{Pool, SharedLog, fill, in_order};
use crate::interrupt::Interrupt;

/// The log of a recorder, in the directory for temporary files of a checker.
pub const RECOVERY: &str = "recovery.iostrata";

/// Threads that record a checker.
pub struct Recorders(Pool<Job, Result<Recorded, LogError>>);

/// A state, and where its log goes.
type Job = (Seen, PathBuf);

/// Nothing, or what was said where the checker did not accept the state.
type Recorded = Result<(), String>;

impl Recorders {
    /// So many, below a directory that the caller removes; no tree has more bytes. The checker starts a recorder that
    /// writes [`RECOVERY`].
    pub fn start(
        count: usize,
        checker: &Checker,
        scratch: &Path,
        log: &SharedLog,
        tree_bytes: u64,
        interrupt: &Interrupt,
    ) -> io::Result<Self> {
        let (log, interrupt) = (Arc::clone(log), interrupt.clone());
        let pool = Pool::start(
            count,
            checker,
            scratch,
            tree_bytes,
            move |stage, own, job| {
                let stage = stage.map_err(LogError::Stage)?;
                record(stage, own, &log, &interrupt, &job)
            },
        );
        Ok(Self(pool?))
    }

    /// Records all of these; in their order.
    pub fn record(&self, all: &[Job]) -> Result<Vec<Recorded>, LogError> {
        let answers = self.0.ask(all.iter().cloned()).into_iter();
        let recorded = answers.map(|(number, one)| Ok((number, one?)));
        in_order(recorded.collect::<Result<_, LogError>>()?, all.len())
    }
}

fn record(
    stage: &mut Stage,
    checker: &Checker,
    log: &SharedLog,
    interrupt: &Interrupt,
    job: &Job,
) -> Result<Recorded, LogError> {
    interrupt.check()?;
    let (seen, into) = job;
    let said = checker.check(stage, Owners::Given, interrupt, |site| {
        fill(log, seen, site)
    })?;
    if let Some(said) = said {
        return Ok(Err(said));
    }
    // The stage may be a file system that this thread alone sees.
    let made = take(&stage.path.join(TEMPORARY).join(RECOVERY), into);
    Ok(made.map_err(|error| error.to_string()))
}

/// The checker could put anything there.
fn take(log: &Path, into: &Path) -> io::Result<()> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let mut log = File::options().read(true).custom_flags(flags).open(log)?;
    if !log.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut into = File::create_new(into)?;
    io::copy(&mut log, &mut into)?;
    Ok(())
}
