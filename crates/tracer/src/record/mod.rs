//! Recording: a thread that writes the operation log while the program runs.
//!
//! The thread waits only for its input and its file. When it falls behind, its input blocks, the
//! kernel side's ring fills, and the program is stopped, so that nothing is lost. If the log can no
//! longer be written, the program keeps running: further operations are discarded, and the error is
//! reported at the end.

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

use iostrata_core::gap::{Gap, Missing, Reason};
use iostrata_core::record::{Begin, Check, Completeness, End, Writer};

use crate::failure::{self, survive};
use batch::Batch;
pub use before::Before;
use feed::Feed;
use iostrata_core::op::FileId;
use order::Order;
use rustix::fs::{fstat, major, minor};

/// Maximum number of batches in the queue.
const WAITING: usize = 8;

#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("cannot create the operation log {}: {source}; choose another file", path.display())]
    Create { path: PathBuf, source: io::Error },
    #[error("cannot keep what is in {}: {source}; name another directory", directory.display())]
    Before {
        directory: PathBuf,
        source: io::Error,
    },
    #[error(
        "the operation log {} is truncated: {source}; the program was not stopped. Free space, or \
         write the log elsewhere",
        path.display()
    )]
    Write { path: PathBuf, source: io::Error },
    #[error(
        "the operation log {} is truncated: {why}; the program was not stopped. Please report it",
        path.display()
    )]
    Defect { path: PathBuf, why: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub operations: u64,
    /// Number of times that a process was stopped until its payload had been read.
    pub stops: u64,
    pub log_bytes: u64,
    pub completeness: Completeness,
    pub check: Check,
}

/// A log whose program was observed to its end.
#[derive(Debug)]
pub struct Unfinished {
    pub(crate) feed: Feed,
    pub(crate) stops: u64,
    /// Gaps that the back end knows of.
    pub(crate) gaps: Vec<Gap>,
    pub(crate) still_running: bool,
}

impl Unfinished {
    pub fn lacks(&mut self, gaps: &[Gap]) {
        for gap in gaps {
            if !self.gaps.contains(gap) {
                self.gaps.push(gap.clone());
            }
        }
    }

    /// Checks the log against the files and ends it. Reads the written files, so page-cache queries
    /// must come first.
    pub fn finish(self) -> Result<Recorded, RecordError> {
        let path = self.feed.recording().path.clone();
        let mut failed = Vec::new();
        let ended = survive(Missing::LogEnd, &mut failed, || {
            let (recording, gaps) = self.feed.finish();
            let gaps = self.gaps.into_iter().chain(gaps).collect();
            recording.finish(self.stops, gaps, self.still_running)
        });
        ended.unwrap_or_else(|| {
            let why = failed.pop().map_or_else(String::new, |gap| gap.why.text());
            Err(RecordError::Defect { path, why })
        })
    }
}

#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    pub(crate) reads: bool,
    pub(crate) stacks: bool,
    pub(crate) presser: Option<Presser>,
    sender: SyncSender<Batch>,
    writer: JoinHandle<io::Result<Order<File>>>,
}

impl Recording {
    /// Creates the log, which must not exist, and the thread that writes it.
    pub fn create(path: &Path, begin: &Begin) -> Result<Self, RecordError> {
        Self::with_before(path, begin, &Before::default())
    }

    /// The same, for a log that also has the files from before the program, which must not have
    /// started. No log is left behind after an error.
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
            // Created just now, and unused.
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
            stacks: false,
            presser: None,
            sender,
            writer,
        })
    }

    /// After each call that changes a file, before its thread goes on, the presser syncs its own file. Only where
    /// programs stop at their calls.
    #[must_use]
    pub fn pressed_by(self, presser: Presser) -> Self {
        Self {
            presser: Some(presser),
            ..self
        }
    }

    /// Where each call came from is looked up too ([`SiteRow::ended`](iostrata_core::trace::SiteRow::ended)). By eBPF
    /// [`Limits::every_site`](crate::ebpf::Limits::every_site) does that.
    #[must_use]
    pub fn with_stacks(self, stacks: bool) -> Self {
        Self { stacks, ..self }
    }

    /// Passes a batch on; waits while the queue is full.
    fn send(&self, batch: Batch) {
        // The thread ends before this sender is dropped only when it has failed.
        drop(self.sender.send(batch));
    }

    /// Ends the log. `gaps` are those that the back end knows of. `still_running`: the program is
    /// still running and changing files.
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
            let because = Reason::StillRunning;
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

/// A log that also has the files from before the program.
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

/// A new file that only its owner may read, whatever the umask: it contains what the program wrote
/// and printed.
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

/// Receives all batches; after an error it only discards them.
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

/// Forces journal commits by syncing a file that nobody else uses.
///
/// What a crash leaves depends on who commits when. A commit right after a change finds what one
/// some seconds later hides: the data on its way, the metadata on disk.
#[derive(Debug)]
pub struct Presser {
    file: File,
    device: u32,
    presses: u32,
}

impl Presser {
    /// Makes the file, or takes the one that is there.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(path)?;
        let device = fstat(&file)?.st_dev;
        Ok(Self {
            file,
            device: FileId::kernel_device(major(device), minor(device)),
            presses: 0,
        })
    }

    /// Whether a file is on the same file system: a change of another one leaves nothing here to commit.
    pub fn is_beside(&self, file: FileId) -> bool {
        file.device == self.device
    }

    /// Changes the file's mode and syncs it, which commits what the file system has to commit, and at once: a sync of
    /// data would wait behind the data of others.
    pub fn press(&mut self) -> io::Result<()> {
        self.presses = self.presses.wrapping_add(1);
        let mode = 0o600 | (self.presses & 1);
        self.file.set_permissions(Permissions::from_mode(mode))?;
        self.file.sync_all()
    }
}
