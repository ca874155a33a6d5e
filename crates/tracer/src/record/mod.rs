//! Recording: a thread that writes the operation log while the program runs.
//!
//! The thread waits for nothing but its input and its file. When it falls behind, its input blocks,
//! the kernel side's ring fills, and the program is stopped instead of anything lost. If the log
//! can no longer be written, the program keeps running: further operations are discarded, and the
//! error is reported at the end.

pub(crate) mod attributes;
pub(crate) mod batch;
mod before;
mod check;
mod descriptions;
mod doubt;
pub(crate) mod feed;
pub(crate) mod mapping;
mod nodes;
pub(crate) mod offsets;
mod order;
mod queue;

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use iostrata_core::op::Gap;
use iostrata_core::record::{Begin, Check, Completeness, End, Writer};

use crate::failure::{self, survive};
use batch::Batch;
pub use before::Before;
use feed::Feed;
use order::Order;

/// Batches that may wait to be written.
const WAITING: usize = 8;

/// Why there is no log, or no files from it.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be made.
    #[error("cannot create the operation log {}: {source}; choose another file", path.display())]
    Create {
        /// The log.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A directory cannot be kept as it was.
    #[error("cannot keep what is in {}: {source}; name another directory", directory.display())]
    Before {
        /// The directory, as it was given.
        directory: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It cannot be written any more.
    #[error(
        "the operation log {} is truncated: {source}; the program was not stopped. Free space, or \
         write the log elsewhere",
        path.display()
    )]
    Write {
        /// The log.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The thread that writes it has failed.
    #[error(
        "the operation log {} is truncated: {why}; the program was not stopped. Please report it",
        path.display()
    )]
    Defect {
        /// The log.
        path: PathBuf,
        /// What it said.
        why: String,
    },
}

/// What came of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Operations.
    pub operations: u64,
    /// Times that a process was stopped until its payload had been read.
    pub stops: u64,
    /// Length of the log, bytes.
    pub log_bytes: u64,
    /// Whether every change is in it.
    pub completeness: Completeness,
    /// What came of comparing it with the files that were there at the end.
    pub check: Check,
}

/// A log whose program was observed to its end.
#[derive(Debug)]
pub struct Unfinished {
    pub(crate) feed: Feed,
    /// Times that a process was stopped for it.
    pub(crate) stops: u64,
    /// What the back end knows to be missing.
    pub(crate) gaps: Vec<Gap>,
    /// Whether the program is still running and changing files.
    pub(crate) still_running: bool,
}

impl Unfinished {
    /// Something else is missing.
    pub fn lacks(&mut self, gaps: &[Gap]) {
        for gap in gaps {
            if !self.gaps.contains(gap) {
                self.gaps.push(gap.clone());
            }
        }
    }

    /// Checks the log against the files and ends it. Reads the files that were written: what is
    /// asked of the page cache comes before.
    ///
    /// # Errors
    /// When the log could not be written to its end.
    pub fn finish(self) -> Result<Recorded, RecordError> {
        let path = self.feed.path().to_owned();
        let mut failed = Vec::new();
        let ended = survive("the end of the log", &mut failed, || {
            let (recording, gaps) = self.feed.finish();
            let gaps = self.gaps.into_iter().chain(gaps).collect();
            recording.finish(self.stops, gaps, self.still_running)
        });
        ended.unwrap_or_else(|| {
            let why = failed.pop().map_or_else(String::new, |gap| gap.why);
            Err(RecordError::Defect { path, why })
        })
    }
}

/// What was counted and is missing for this reason, if there was any.
pub(crate) fn counted(count: u64, what: &str, why: &str) -> Option<Gap> {
    (count > 0).then(|| Gap::new(format!("{count} {what}"), why))
}

/// A log that is being written.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    reads: bool,
    sender: SyncSender<Batch>,
    writer: JoinHandle<io::Result<Order<File>>>,
}

impl Recording {
    /// Creates the log and the thread that writes it.
    ///
    /// # Errors
    /// When the file cannot be created, exists, or cannot be written to.
    pub fn create(path: &Path, begin: &Begin) -> Result<Self, RecordError> {
        Self::with_before(path, begin, &Before::default())
    }

    /// The same, of a log that also has what was there before the program begins: it must not
    /// have been started.
    ///
    /// # Errors
    /// When the file cannot be created, exists, or cannot be written to, or a directory does not
    /// exist. No log is left behind then.
    pub fn with_before(path: &Path, begin: &Begin, before: &Before) -> Result<Self, RecordError> {
        let kept = before.resolved();
        let directories =
            kept.map_err(|(directory, source)| RecordError::Before { directory, source })?;
        let failed = |source| RecordError::Create {
            path: path.to_owned(),
            source,
        };
        let file = create(path).map_err(failed)?;
        let order = begun(file, begin, &directories, before.limit_bytes).map_err(|error| {
            // It was made just now, and nobody has it.
            drop(fs::remove_file(path));
            failed(error)
        })?;
        let (sender, receiver) = sync_channel(WAITING);
        let writer = thread::Builder::new()
            .name("record".to_owned())
            .spawn(move || write(order, &receiver))
            .map_err(failed)?;
        Ok(Self {
            path: path.to_owned(),
            reads: begin.reads,
            sender,
            writer,
        })
    }

    fn path(&self) -> &Path {
        &self.path
    }

    /// Whether reads are recorded too.
    pub(crate) fn has_reads(&self) -> bool {
        self.reads
    }

    /// Hands over; waits while too much waits to be written.
    fn send(&self, batch: Batch) {
        // The thread ends before this sender is gone only when it has failed.
        drop(self.sender.send(batch));
    }

    /// Ends the log. `gaps` is what the back end knows to be missing. `still_running`: the program
    /// is still running and changing files.
    fn finish(
        self,
        stops: u64,
        mut gaps: Vec<Gap>,
        still_running: bool,
    ) -> Result<Recorded, RecordError> {
        let path = self.path;
        let failed = |source| RecordError::Write {
            path: path.clone(),
            source,
        };
        drop(self.sender);
        failure::stage("writer.end");
        let order = self.writer.join().map_err(|panic| RecordError::Defect {
            path: path.clone(),
            why: failure::words(&*panic),
        })?;
        let (mut log, more) = order.and_then(Order::finish).map_err(failed)?;
        gaps.extend(more);
        log.write_out().map_err(failed)?;
        let check = if still_running {
            let because = "the program is still running".to_owned();
            Check::Skipped { because }
        } else {
            let (check, different) = check::check(&path);
            gaps.extend(different);
            check
        };
        let completeness = Completeness::from_gaps(gaps);
        let operations = log.position().operations;
        let end = End {
            operations,
            stops,
            completeness: completeness.clone(),
            check: check.clone(),
        };
        let mut file = log.finish(end).map_err(failed)?;
        file.flush().map_err(failed)?;
        let log_bytes = file.metadata().map_err(failed)?.len();
        Ok(Recorded {
            operations,
            stops,
            log_bytes,
            completeness,
            check,
        })
    }
}

/// A log with what was there before.
fn begun(
    file: File,
    begin: &Begin,
    directories: &[PathBuf],
    limit_bytes: u64,
) -> io::Result<Order<File>> {
    let itself = file.try_clone()?;
    let mut order = Order::new(Writer::new(file, begin)?);
    if !directories.is_empty() {
        order.keep(directories, limit_bytes, &itself)?;
    }
    Ok(order)
}

/// A new file that only its owner may read, whatever the umask: it holds what the program wrote
/// and what it printed.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Takes everything that comes; after an error it only throws it away.
fn write(mut order: Order<File>, receiver: &Receiver<Batch>) -> io::Result<Order<File>> {
    let mut failed = None;
    failure::stage("writer.begin");
    for batch in receiver {
        failure::stage("writer.batch");
        if failed.is_none() {
            failed = order.take(batch).err();
        }
    }
    failed.map_or(Ok(order), Err)
}
