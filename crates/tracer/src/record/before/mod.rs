//! What of the files is in the log as it was before the program began: whole directories.
//!
//! They are read before the program is started. The kernel could tell of the first change of
//! each file only when it has happened: a process that an eBPF program stops, or a call that
//! it sees, has done its work by then. Copied in advance nothing is missed, nobody is stopped,
//! and it is the same for every back end. What somebody else changes meanwhile is found by a
//! second look.

mod contents;
mod look;
mod outside;
mod walk;

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use iostrata_core::op::Gap;
use iostrata_core::record::Writer;
use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags, fstatfs, open, statx};

use super::nodes::Nodes;
pub(super) use outside::Outside;
use walk::Walk;

/// What is to be kept as it was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Before {
    /// Directories with everything beneath them, on their mount.
    pub directories: Vec<PathBuf>,
    /// The most bytes of contents, of all files together.
    pub limit_bytes: u64,
}

impl Before {
    /// Absolute paths of the directories, without symbolic links.
    ///
    /// # Errors
    /// When one cannot be kept: which, and why.
    pub(super) fn resolved(&self) -> Result<Vec<PathBuf>, (PathBuf, io::Error)> {
        let resolved =
            |directory: &PathBuf| resolve(directory).map_err(|error| (directory.clone(), error));
        self.directories.iter().map(resolved).collect()
    }
}

fn resolve(directory: &Path) -> io::Result<PathBuf> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let path = directory.canonicalize()?;
    let opened = open(&path, flags, Mode::empty())?;
    if is_answers(&opened)? {
        let what = "files there are the kernel's answers and have no contents to keep";
        return Err(io::Error::other(what));
    }
    Ok(path)
}

/// Whether it lies in a file system whose files are the kernel's answers
/// (include/uapi/linux/magic.h).
fn is_answers(directory: impl AsFd) -> io::Result<bool> {
    const PROC: u64 = 0x9fa0;
    const SYSFS: u64 = 0x6265_6572;
    const DEBUGFS: u64 = 0x6462_6720;
    const TRACEFS: u64 = 0x7472_6163;
    const CGROUP2: u64 = 0x6367_7270;
    let magic = u64::try_from(fstatfs(directory)?.f_type).unwrap_or(0);
    Ok([PROC, SYSFS, DEBUGFS, TRACEFS, CGROUP2].contains(&magic))
}

/// Tells of everything in the directories, whose paths are resolved. Gives what is missing.
pub(super) fn keep<W: Write>(
    directories: &[PathBuf],
    limit_bytes: u64,
    log_file: impl AsFd,
    (log, nodes): (&mut Writer<W>, &mut Nodes),
) -> io::Result<Vec<Gap>> {
    let is = statx(log_file, c"", AtFlags::EMPTY_PATH, StatxFlags::INO)?;
    let log_file = look::place_of(&is);
    let mut walk = Walk::new(log, nodes, log_file, limit_bytes);
    for directory in directories {
        walk.root(directory)?;
    }
    Ok(walk.finish(limit_bytes))
}
