//! A checker: a command that looks at a tree, bounded in what it can do.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use iostrata_core::crash::Sandbox;

use crate::engine::Launcher;
use crate::interrupt::Interrupted;

/// In a word, for the process that starts checkers.
pub(super) fn word(sandbox: Sandbox) -> &'static str {
    match sandbox {
        Sandbox::Room => "room",
        Sandbox::UserNamespace => "user",
        Sandbox::ProcessGroup => "group",
    }
}

/// Whose the files are that a checker looks at, in [`Sandbox::Room`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owners {
    /// Those that they have, as users of the room.
    Kept,
    /// Nothing says whose they were: the checker's.
    Given,
}

/// Whether a checker keeps running and is asked about one state after another, and how far it is believed then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// It is started for each state.
    Starts,
    /// It may remember other states: each failure is doubted.
    Stays,
    /// It is a part of iostrata, which keeps nothing of a state: each message is doubted once, and then like a pass.
    Own,
    /// The same, and its messages say what there is, not what is broken.
    Tells,
}

#[derive(Debug, Clone)]
pub struct Checker {
    /// Given to `/bin/sh -c`.
    pub command: String,
    pub manner: Manner,
    /// It fails when it takes longer.
    pub patience: Duration,
    pub sandbox: Sandbox,
    /// User and group that it has in [`Sandbox::Room`].
    pub user: (u32, u32),
    /// Whether set-user-ID programs of the copy give it their privileges, in [`Sandbox::Room`].
    pub gains: bool,
    /// Files and directories that its user may read although others may not come to them.
    pub sees: Vec<PathBuf>,
    /// Variables of the environment that it gets besides the usual ones.
    pub pass_env: Vec<OsString>,
    /// Whether it is noted which trees it changes.
    pub notes_changes: bool,
    /// A program that calls [`starter_main`](super::starter_main).
    pub launcher: Launcher,
}

/// How much of what it says is kept, bytes.
pub(super) const MOST_SAID: u64 = 64 << 10;

/// How a look at a state ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reply {
    Fine,
    Fails(String),
    /// It did not do what a checker does, and is of no more use.
    Over(String),
    Ended(ExitStatus),
}

/// Why no answer of a checker that keeps running can be trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreliable {
    #[error(
        "the checker came to {said:?}, and to {again:?} when it was asked again for the same state; where it was too slow, \
         a higher --check-timeout helps; one of --check-server has to judge each state by its files alone, without \
         memory of others, and to stay until standard input ends"
    )]
    Differs { said: String, again: String },
    #[error(
        "the checker of --check-server wrote more than one line for a state, so no answer can be matched with its \
         state; answer with one line, and write all else to standard error"
    )]
    SeveralLines,
    #[error(
        "the checker of --check-server does not read its standard input; read a line for each answer"
    )]
    Unread,
}

#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error("cannot run the checker: {0}")]
    Run(#[from] io::Error),
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    #[error(transparent)]
    Unreliable(#[from] Unreliable),
}

/// A state on disk.
#[derive(Debug)]
pub struct Site {
    pub tree: PathBuf,
    /// What had been printed.
    pub printed: PathBuf,
}

impl Site {
    pub(super) fn of(directory: &Path) -> Self {
        Self {
            tree: directory.join(TREE),
            printed: directory.join(PRINTED),
        }
    }
}

/// What is in a stage.
pub(super) const TREE: &str = "tree";
pub(super) const PRINTED: &str = "printed";
pub(super) const SAID: &str = "said";
pub(super) const TEMPORARY: &str = "tmp";
pub(super) const HOME: &str = "tmp/home";
