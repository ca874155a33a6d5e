//! The files on which operations are done.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use iostrata_core::atime::Operation;

use super::moments::Moments;
use super::settings::FILE_BYTES;
use crate::error::LabError;

/// The line that `grep` searches for.
pub(super) const LINE: &str = "0123456789abcdefghijklmnopqrstuvwxyz_\n";

/// Files of our own on a target, removed on drop.
///
/// ```text
/// work/tree/file   what programs walk over; work/ is a git work tree
/// single/          what single calls are made on
/// out/             what they write to
/// ```
#[derive(Debug)]
pub(super) struct Tree {
    root: PathBuf,
    pub(super) moments: Moments,
}

impl Tree {
    pub(super) fn make(dir: &Path) -> Result<Self, LabError> {
        let tree = Self {
            root: dir.join("operations"),
            moments: Moments::now(),
        };
        let failed = |error| LabError::at("make files in", dir, error);
        tree.fill().map_err(failed)?;
        Ok(tree)
    }

    fn fill(&self) -> io::Result<()> {
        let mut text = LINE.repeat(FILE_BYTES / LINE.len() + 1);
        text.truncate(FILE_BYTES);
        for directory in ["work/tree", "single/directory", "out"] {
            fs::create_dir_all(self.root.join(directory))?;
        }
        for file in [
            "work/tree/file",
            "single/file",
            "single/written",
            "single/directory/file",
        ] {
            fs::write(self.root.join(file), &text)?;
        }
        symlink("file", self.root.join("single/link"))
    }

    pub(super) fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    pub(super) fn subject(&self, operation: Operation) -> PathBuf {
        self.path(match operation {
            Operation::Readdir => "single/directory",
            Operation::Readlink => "single/link",
            Operation::Write | Operation::Truncate => "single/written",
            Operation::Exec => "single/program",
            _ if operation.program().is_some() => "work/tree/file",
            _ => "single/file",
        })
    }

    /// The directory that a program walks; `None` for operations on one file.
    pub(super) fn walked(&self, operation: Operation) -> Option<PathBuf> {
        operation.program().map(|_| self.path("work/tree"))
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // Leftovers are in the scratch directory, whose removal reports what it cannot remove.
        drop(fs::remove_dir_all(&self.root));
    }
}
