//! The user's checker: a command that looks at a tree, bounded in what it can do.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use iostrata_core::crash::Sandbox;
use iostrata_tracer::kernel::private_mounts;
use rustix::mount::{MountFlags, UnmountFlags, unmount};
use rustix::process::{getegid, geteuid};

use super::room::{Ids, memory};
use super::starter::Starter;
use crate::engine::Launcher;
use crate::interrupt::{Interrupt, Interrupted};
use crate::scratch::remove_tree;

/// The strongest sandbox that works here. `scratch` is an empty directory.
pub(super) fn strongest(scratch: &Path, launcher: &Launcher) -> Sandbox {
    let works = |sandbox| {
        let path = scratch.to_owned();
        let checker = Checker {
            command: ":".to_owned(),
            patience: TRIAL,
            sandbox,
            user: (geteuid().as_raw(), getegid().as_raw()),
            gains: false,
            sees: Vec::new(),
            pass_env: Vec::new(),
            launcher: launcher.clone(),
        };
        // A sandbox is of the thread that enters it, and this one has to leave.
        let works = thread::spawn(move || {
            let stage = Stage::enter(path, &checker, 0, 0)?;
            stage.renew()?;
            checker
                .check(&stage, Owners::Given, &Interrupt::never())
                .map_err(io::Error::other)
        });
        matches!(works.join(), Ok(Ok(None)))
    };
    let all = [Sandbox::Room, Sandbox::UserNamespace];
    let found = all.into_iter().find(|sandbox| works(*sandbox));
    found.unwrap_or(Sandbox::ProcessGroup)
}

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

#[derive(Debug, Clone)]
pub struct Checker {
    /// Given to `/bin/sh -c`.
    pub command: String,
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
    /// A program that calls [`starter_main`](super::starter_main).
    pub launcher: Launcher,
}

/// How long a sandbox may take to be found working.
const TRIAL: Duration = Duration::from_secs(10);

/// Room that a checker has besides twice the files.
const MARGIN_BYTES: u64 = 256 << 20;

/// Files that are larger together are not kept in memory.
const MOST_IN_MEMORY: u64 = 512 << 20;

/// How much of what it says is kept, bytes.
const MOST_SAID: u64 = 64 << 10;

impl Checker {
    /// Runs it in a stage that has a tree; gives its message when it does not end with 0.
    pub fn check(
        &self,
        stage: &Stage,
        owners: Owners,
        interrupt: &Interrupt,
    ) -> Result<Option<String>, CheckError> {
        if self.sandbox == Sandbox::Room {
            stage.own(owners)?;
        }
        let status = stage.starter.run(self.patience, interrupt);
        interrupt.check()?;
        let Some(status) = status? else {
            let seconds = self.patience.as_secs_f64();
            return Ok(Some(format!("the checker took more than {seconds} s")));
        };
        if status.success() {
            return Ok(None);
        }
        if let Some(bytes) = stage.bytes.filter(|_| stage.is_full()) {
            let room = bytes >> 20;
            return Ok(Some(format!(
                "the checker filled the {room} MiB that it has"
            )));
        }
        let message = message(&stage.path.join(SAID))?;
        // A shell gives the signal of its command so.
        let by_shell = status.code().and_then(|code| code.checked_sub(128));
        let signal = status.signal().or(by_shell.filter(|signal| *signal > 0));
        Ok(Some(match (message, signal) {
            (Some(line), _) => line,
            (None, Some(signal)) => format!("the checker was ended by signal {signal}"),
            (None, None) => format!("the checker exited with {}", status.code().unwrap_or(-1)),
        }))
    }
}

#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error("cannot run the checker: {0}")]
    Run(#[from] io::Error),
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

fn message(said: &Path) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    File::open(said)?.take(MOST_SAID).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(first_message(&text).map(str::to_owned))
}

/// Where a checker works: a tree, what had been printed, and room for its own files. Each use begins with an
/// empty one.
#[derive(Debug)]
pub struct Stage {
    path: PathBuf,
    /// Size of the tmpfs that it is; `None` where it is a directory on disk.
    bytes: Option<u64>,
    ids: Ids,
    gains: bool,
    starter: Starter,
}

/// What is in a stage.
pub(super) const TREE: &str = "tree";
pub(super) const PRINTED: &str = "printed";
pub(super) const SAID: &str = "said";
pub(super) const TEMPORARY: &str = "tmp";
pub(super) const HOME: &str = "tmp/home";

impl Stage {
    /// In an empty directory that the caller removes, for trees of at most so many bytes; the stage has this number
    /// among those of the process. A tmpfs is seen by this thread and what it starts, and ends with them.
    pub fn enter(
        path: PathBuf,
        checker: &Checker,
        tree_bytes: u64,
        number: usize,
    ) -> io::Result<Self> {
        let sandbox = checker.sandbox;
        let is_small = tree_bytes <= MOST_IN_MEMORY && sandbox == Sandbox::Room;
        let bytes = is_small.then_some(2 * tree_bytes + MARGIN_BYTES);
        if let Some(bytes) = bytes {
            private_mounts()?;
            mount_memory(&path, bytes, checker.gains)?;
        }
        let ids = Ids::new(checker.user.0, checker.user.1, number);
        let starter = Starter::start(checker, &path, ids)?;
        Ok(Self {
            path,
            bytes,
            ids,
            gains: checker.gains,
            starter,
        })
    }

    pub fn tree(&self) -> PathBuf {
        self.path.join(TREE)
    }

    pub fn printed(&self) -> PathBuf {
        self.path.join(PRINTED)
    }

    /// Empty again.
    pub fn renew(&self) -> io::Result<()> {
        if let Some(bytes) = self.bytes {
            unmount(&self.path, UnmountFlags::DETACH)?;
            mount_memory(&self.path, bytes, self.gains)?;
        }
        let temporary = self.path.join(TEMPORARY);
        for directory in [&self.tree(), &temporary] {
            if directory.exists() {
                remove(directory)?;
            }
            fs::create_dir(directory)?;
        }
        fs::create_dir(self.path.join(HOME))?;
        File::create(self.path.join(SAID))?;
        // As /tmp, which it is too.
        fs::set_permissions(temporary, Permissions::from_mode(0o1777))
    }

    /// Gives what is in it to the users of the room.
    fn own(&self, owners: Owners) -> io::Result<()> {
        fs::set_permissions(&self.path, Permissions::from_mode(0o755))?;
        self.ids.own(&self.tree(), owners == Owners::Kept)?;
        for mine in [PRINTED, SAID, TEMPORARY].map(|name| self.path.join(name)) {
            if mine.exists() {
                self.ids.own(&mine, false)?;
            }
        }
        Ok(())
    }

    /// Whether a checker has left no room in it.
    fn is_full(&self) -> bool {
        let system = rustix::fs::statvfs(&self.path);
        self.bytes.is_some() && system.is_ok_and(|system| system.f_bavail == 0)
    }
}

impl Drop for Stage {
    /// A directory on disk is removed by its maker, which could not remove all that a checker can leave.
    fn drop(&mut self) {
        if self.bytes.is_none() {
            remove(&self.tree()).ok();
            remove(&self.path.join(TEMPORARY)).ok();
        }
    }
}

fn mount_memory(path: &Path, bytes: u64, gains: bool) -> io::Result<()> {
    let flags = if gains {
        MountFlags::empty()
    } else {
        MountFlags::NOSUID
    };
    memory(path, &format!("size={bytes},mode=755,nr_inodes=1m"), flags)
}

/// Removes a directory that a checker has worked in, however deep it has made that: it may have taken permissions away.
pub(in crate::crash) fn remove(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let parent = File::open(parent)?;
    if remove_tree(parent.as_fd(), name).is_ok() {
        return Ok(());
    }
    let mut allow = Command::new("chmod");
    allow.args(["-R", "u+rwX", "--"]).arg(path);
    allow.stderr(Stdio::null()).status()?;
    Ok(remove_tree(parent.as_fd(), name)?)
}

/// Begins the text of an exception that nobody caught: the exception itself comes last
/// (<https://docs.python.org/3/library/traceback.html>).
const TRACEBACK: &str = "Traceback (most recent call last):";

/// The first line that is not empty; of an exception of Python the line that names it.
fn first_message(said: &str) -> Option<&str> {
    let first = said.lines().map(str::trim).find(|line| !line.is_empty())?;
    if first != TRACEBACK {
        return Some(first);
    }
    Some(exception(said).unwrap_or(first))
}

/// Calls are indented. An exception during the handling of another comes after it.
fn exception(said: &str) -> Option<&str> {
    let (_, last) = said.rsplit_once(TRACEBACK)?;
    let mut lines = last.lines().map(str::trim_end);
    lines.find(|line| !line.is_empty() && !line.starts_with([' ', '\t']))
}

#[cfg(test)]
mod tests {
    use super::first_message;

    #[test]
    fn the_first_line_that_says_something_is_the_message() {
        assert_eq!(first_message("\n  torn \nmore\n"), Some("torn"));
        assert_eq!(first_message(" \n\n"), None);
    }

    #[test]
    fn of_an_exception_of_python_its_name_is_the_message() {
        let said = "Traceback (most recent call last):\n  File \"check\", line 3, in <module>\n    \
                    json.load(file)\nValueError: no value:\nline 1\n";
        assert_eq!(first_message(said), Some("ValueError: no value:"));
        let both = format!(
            "{said}\nDuring handling of the above exception, another exception occurred:\n\n\
             Traceback (most recent call last):\n  File \"check\", line 5\nSystemError: cut\n"
        );
        assert_eq!(first_message(&both), Some("SystemError: cut"));
        let cut = "Traceback (most recent call last):\n  File \"check\"";
        assert_eq!(
            first_message(cut),
            Some("Traceback (most recent call last):")
        );
        let after = format!("torn\n{said}");
        assert_eq!(first_message(&after), Some("torn"));
    }
}
