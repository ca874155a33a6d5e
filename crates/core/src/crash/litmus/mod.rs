//! Litmus programs: small programs whose outcomes after a crash tell one file system from another.
//!
//! A litmus program is a value. [`Litmus::history`] makes of it what a recording would, so that models
//! say what they allow; `iostrata_lab` performs the same calls on real file systems. Most are those of Ferrite
//! (Bornholt et al., ASPLOS 2016). They are in programs.json: first those of a few calls, with one sync at most; from
//! fsync-create-rename on those that tell file systems with one log of all metadata from those that log single files.

mod log;
mod outcome;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::LazyLock;

use serde::Deserialize;

use super::explore::{Budget, Coverage, Explorer, Looked, State};
use super::history::History;
use super::model::Model;
use crate::record::Tree;

pub use outcome::{Left, outcome, runs};

pub(super) use log::Log;
#[cfg(test)]
pub(super) use log::{ROOT, id, letters};
#[cfg(test)]
pub(super) use outcome::left;

/// Combinations of effects at one point; a litmus program has fewer, so all are explored.
const COMBINATIONS: usize = 1 << 16;

static ALL: LazyLock<Vec<Litmus>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("programs.json")).expect("tests read the programs")
});

/// A small program. Its paths are below a directory of its own.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub struct Litmus {
    /// `replace-by-rename`.
    pub name: &'static str,
    /// What it does, as the end of a sentence that begins with the program.
    pub does: &'static str,
    /// What is there before it, and durable.
    pub given: Vec<Given>,
    pub calls: Vec<Call>,
    /// The paths whose state is its outcome.
    pub looks_at: Vec<&'static str>,
}

/// What a litmus program finds.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub enum Given {
    Directory(&'static str),
    /// A file that holds one letter.
    File(Filled),
}

/// A range of a file, filled with one letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Filled {
    pub path: &'static str,
    /// Where the range begins, bytes.
    pub at: u64,
    pub letter: char,
    pub bytes: u32,
}

/// What a litmus program calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Call {
    MakeDirectory(&'static str),
    /// `open` with `O_CREAT | O_EXCL`; the file stays open.
    Create(&'static str),
    /// `open` with `O_TRUNC`; the file stays open.
    Empty(&'static str),
    Close(&'static str),
    Write(Filled),
    /// `pwrite` to a file opened with `O_DSYNC`.
    WriteDsync(Filled),
    /// `pwrite` to a file opened with `O_DIRECT`.
    WriteDirect(Filled),
    /// Stores to a shared mapping of the file.
    Store(Filled),
    /// `fallocate` of so many bytes from the begin of the file.
    Allocate(&'static str, u64),
    Rename(&'static str, &'static str),
    Link(&'static str, &'static str),
    Unlink(&'static str),
    /// `fsync` of a file or a directory.
    Fsync(&'static str),
    Fdatasync(&'static str),
    /// `sync_file_range` of all of the file, which writes it back and waits.
    SyncFileRange(&'static str),
    /// `msync` with `MS_SYNC` of all of the file.
    Msync(&'static str),
}

impl Call {
    /// Whether something is durable when it returns.
    fn syncs(self) -> bool {
        matches!(
            self,
            Self::Fsync(_) | Self::Fdatasync(_) | Self::Msync(_) | Self::WriteDsync(_)
        )
    }
}

/// A state of the files that a program looks at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    /// The files, as [`outcome()`] writes them.
    pub files: String,
    /// Whether the last call had returned.
    pub ended: bool,
}

impl Litmus {
    pub fn all() -> impl Iterator<Item = &'static Self> {
        ALL.iter()
    }

    pub fn named(name: &str) -> Option<&'static Self> {
        Self::all().find(|litmus| litmus.name == name)
    }

    /// Whether it ends with a sync, so that its outcome is what is left once that has returned.
    pub fn ends_with_sync(&self) -> bool {
        self.calls.last().is_some_and(|call| call.syncs())
    }

    /// What a model allows a crash to leave.
    pub fn allowed(&self, model: Model) -> BTreeSet<Seen> {
        let mut history = self.history();
        if model == Model::Ext4Journal {
            history.grow_by_pages();
        }
        let budget = Budget {
            exhaustive: COMBINATIONS,
            ..Budget::default()
        };
        let mut all = BTreeSet::new();
        let mut add = |tree: &Tree, ended| {
            let files = outcome::files(tree, &self.looks_at);
            // What may be left after the end may be left a moment before it.
            all.insert(Seen {
                files: files.clone(),
                ended: false,
            });
            if ended {
                all.insert(Seen { files, ended });
            }
        };
        add(&history.base, false);
        let seen = |_: &State, Looked { tree, told, .. }: Looked<'_>, _: &Coverage| {
            add(tree, told > 0);
            Ok::<(), Infallible>(())
        };
        let mut coverage = Coverage::default();
        let Ok(()) = Explorer::new(&history, model).explore(budget, &mut coverage, seen);
        debug_assert_eq!((coverage.sampled, coverage.limit_reached), (0, false));
        all
    }

    /// The files before it, and after it without a crash.
    pub fn ends(&self) -> [String; 2] {
        let (before, after) = self.history().ends();
        [before, after].map(|tree| outcome::files(&tree, &self.looks_at))
    }

    /// What a recording of it would say; its end comes last.
    pub fn history(&self) -> History {
        let mut log = Log::new();
        log.perform(self);
        log.history()
    }
}
