//! Rebuilds the final tree of an operation log, beneath one directory and nowhere else.
//!
//! The log is applied to a tree in memory first ([`Tree`]), so that impossible operations are found
//! before anything is created; then the tree is created, each file once.

mod beneath;
mod build;

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use iostrata_core::gap::{Countable, Gap, Missing, Reason};
use iostrata_core::op::FileId;
use iostrata_core::record::{
    Completeness, Entry, Impossible, Limits, ReadError, Reader, Refused, Tree,
};

use crate::interrupt::{Interrupt, Interrupted};
use crate::place;
use build::Build;

/// Operations between two checks for an interruption.
const STEP: u64 = 1 << 14;

#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    #[error("{}: {source}", log.display())]
    Read { log: PathBuf, source: ReadError },
    #[error("{}: {source}; nothing was rebuilt", log.display())]
    Impossible { log: PathBuf, source: Impossible },
    #[error("{} is not an empty directory; name an empty or a new one", into.display())]
    NotEmpty { into: PathBuf },
    #[error(
        "not enough space in {}: the files of the log need {needed_bytes} bytes and \
         {free_bytes} are free; nothing was rebuilt; choose another directory",
        into.display()
    )]
    Space {
        into: PathBuf,
        needed_bytes: u64,
        /// Space available to this user.
        free_bytes: u64,
    },
    #[error("cannot rebuild {what} under {}: {source}; everything created was removed", into.display())]
    Make {
        what: String,
        into: PathBuf,
        source: io::Error,
    },
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Names of regular files.
    pub files: u64,
    pub directories: u64,
    /// Symbolic links, FIFOs and sockets.
    pub others: u64,
    /// Bytes of the log that were written to files.
    pub bytes: u64,
    /// Operations that the log lacks, or that cannot be followed; empty when the tree equals the
    /// one that the program left.
    pub missing: Vec<Gap>,
    /// Parts of the log that are left out for safety.
    pub left_out: Vec<Gap>,
}

/// Rebuilds the log's final tree beneath `into`, which must be empty or absent.
///
/// # Errors
/// When the log cannot be read or contains impossible operations, when `into` is not empty, or when
/// the tree cannot be created there; when the log exceeds `limits`, or needs more space than is
/// free, before any file is created. Created files are then removed.
pub fn rebuild(
    log: &Path,
    into: &Path,
    limits: Limits,
    interrupt: &Interrupt,
) -> Result<Rebuilt, RebuildError> {
    let failed = |source| RebuildError::Read {
        log: log.to_owned(),
        source,
    };
    let file = File::open(log).map_err(|error| failed(error.into()))?;
    let mut reader = Reader::within(io::BufReader::new(file), limits).map_err(failed)?;
    let mut tree = Tree::within(limits);
    let missing = apply_all(&mut reader, &mut tree, log, interrupt)?;
    let needed_bytes = tree.stored_bytes();
    limits
        .check_expanded(needed_bytes)
        .map_err(|exceeded| failed(exceeded.into()))?;
    let place = Destination::open(into)?;
    if let Err(error) = place.check_space(needed_bytes) {
        place.clear();
        return Err(error);
    }
    let mut build = Build::new(&tree, &mut reader, into, interrupt);
    match build.run(&place.directory, tree.root()) {
        Ok(()) => {}
        Err(error) => {
            drop(build);
            place.clear();
            return Err(match error {
                RebuildError::Read { source, .. } => failed(source),
                other => other,
            });
        }
    }
    let mut rebuilt = build.finish();
    rebuilt.missing.splice(0..0, missing);
    Ok(rebuilt)
}

/// Makes what a directory of a tree holds in `into`, which is empty. What was made stays when it fails.
pub(crate) fn build<R: Read + Seek>(
    tree: &Tree,
    top: FileId,
    reader: &mut Reader<R>,
    into: &Path,
    interrupt: &Interrupt,
) -> Result<Rebuilt, RebuildError> {
    let directory = File::open(into).map_err(|source| RebuildError::Make {
        what: "the tree".to_owned(),
        into: into.to_owned(),
        source,
    })?;
    let mut build = Build::new(tree, reader, into, interrupt);
    build.run(&directory, Some(top))?;
    Ok(build.finish())
}

/// Applies every operation; gives what the log says is missing from it.
fn apply_all<R: Read + Seek>(
    reader: &mut Reader<R>,
    tree: &mut Tree,
    log: &Path,
    interrupt: &Interrupt,
) -> Result<Vec<Gap>, RebuildError> {
    let mut cut = None;
    loop {
        match reader.next_entry() {
            Ok(None) => break,
            Ok(Some(Entry::Operation(operation))) => {
                if operation.id.is_multiple_of(STEP) {
                    interrupt.check()?;
                }
                tree.apply(&operation).map_err(|refused| {
                    let log = log.to_owned();
                    match refused {
                        Refused::Impossible(source) => RebuildError::Impossible { log, source },
                        Refused::Exceeded(exceeded) => RebuildError::Read {
                            log,
                            source: exceeded.into(),
                        },
                    }
                })?;
            }
            Ok(Some(Entry::Begin(_) | Entry::End(_))) => {}
            // The part before the cut is intact.
            Err(error @ ReadError::Truncated { .. }) => {
                cut = Some(Gap::new(
                    Missing::RestOfLog,
                    Reason::Error(error.to_string()),
                ));
                break;
            }
            Err(source) => {
                let log = log.to_owned();
                return Err(RebuildError::Read { log, source });
            }
        }
    }
    let mut missing = match reader.completeness() {
        Completeness::Complete => Vec::new(),
        Completeness::Incomplete { because } => because,
    };
    missing.extend(cut);
    let (count, first) = tree.misfits();
    if let Some(first) = first.first() {
        let why = Reason::Misfit(first.clone());
        missing.extend(Gap::counted(count, Countable::UnmatchedOperations, why));
    }
    Ok(missing)
}

struct Destination {
    path: PathBuf,
    directory: File,
    /// Whether this run created it.
    is_new: bool,
}

impl Destination {
    fn open(path: &Path) -> Result<Self, RebuildError> {
        let failed = |source| RebuildError::Make {
            what: "the tree".to_owned(),
            into: path.to_owned(),
            source,
        };
        let not_empty = || RebuildError::NotEmpty {
            into: path.to_owned(),
        };
        let (directory, is_new) = match place::directory(path) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Err(not_empty()),
            Err(error) => return Err(failed(error)),
        };
        let place = Self {
            path: path.to_owned(),
            directory,
            is_new,
        };
        match place.entries().map(|mut entries| entries.next().is_none()) {
            Ok(true) => Ok(place),
            Ok(false) => Err(not_empty()),
            Err(error) => Err(failed(error)),
        }
    }

    /// Of the directory that is held, whatever has its name by now.
    fn entries(&self) -> io::Result<fs::ReadDir> {
        fs::read_dir(format!("/proc/self/fd/{}", self.directory.as_raw_fd()))
    }

    fn check_space(&self, needed_bytes: u64) -> Result<(), RebuildError> {
        let Ok(system) = rustix::fs::fstatvfs(&self.directory) else {
            return Ok(());
        };
        let free_bytes = system.f_bavail.saturating_mul(system.f_frsize);
        if needed_bytes > free_bytes {
            return Err(RebuildError::Space {
                into: self.path.clone(),
                needed_bytes,
                free_bytes,
            });
        }
        Ok(())
    }

    /// Removes the created files; the directory was empty before. Follows no link
    /// (`remove_dir_all`).
    fn clear(self) {
        for entry in self.entries().into_iter().flatten().flatten() {
            let path = entry.path();
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            drop(if is_directory {
                fs::remove_dir_all(path)
            } else {
                fs::remove_file(path)
            });
        }
        if self.is_new {
            drop(fs::remove_dir(&self.path));
        }
    }
}
