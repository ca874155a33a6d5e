//! The user's checker: a command that looks at a tree, bounded in what it can do.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use iostrata_tracer::kernel::{Secluded, die_with_parent};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, waitid,
};

use super::said;
use crate::interrupt::{Interrupt, Interrupted};

/// What keeps a checker from the rest of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sandbox {
    /// Namespaces of its own, in which all but its copy is read-only. Needs root.
    Secluded,
    /// A user namespace, and in it those for mounts, processes and the network (`unshare(1)`).
    UserNamespace,
    /// A process group only: what it starts and moves out of it is not ended.
    Group,
}

impl Sandbox {
    /// The strongest one that works here. `scratch` is an empty directory.
    pub fn find(scratch: &Path) -> Self {
        let path = scratch.to_owned();
        // It is of the thread that enters it, and this one has to leave.
        let secluded = thread::spawn(move || {
            Secluded::enter(&path, Some(MARGIN_BYTES)).is_ok() && Self::Secluded.works()
        });
        if secluded.join().unwrap_or(false) {
            Self::Secluded
        } else if Self::UserNamespace.works() {
            Self::UserNamespace
        } else {
            Self::Group
        }
    }

    fn works(self) -> bool {
        let mut command = self.command("true");
        command.stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// In words, for the result.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Secluded => "mount, PID, IPC and network namespaces, all but its copy read-only",
            Self::UserNamespace => "user, mount, PID, IPC and network namespaces",
            Self::Group => "a process group",
        }
    }

    fn command(self, command: &str) -> Command {
        const OWN: [&str; 4] = ["--pid", "--fork", "--kill-child", "--mount-proc"];
        let blocks = MOST_BYTES / 512;
        let limits = format!("ulimit -f {blocks}; ulimit -c 0");
        let mut unshare = Command::new("unshare");
        match self {
            Self::Group => {
                let mut shell = Command::new("/bin/sh");
                shell.args(["-c", &format!("{limits}; {command}")]);
                return shell;
            }
            // The thread has the others.
            Self::Secluded => {}
            Self::UserNamespace => {
                unshare.args(["--map-current-user", "--mount", "--ipc", "--net"]);
            }
        }
        // The first process of a PID namespace ignores signals that would end others (pid_namespaces(7)): the
        // command is the second.
        let own = format!("{limits}; /bin/sh -c \"$0\"; exit $?");
        unshare.args(OWN).args(["--", "/bin/sh", "-c"]);
        unshare.arg(own).arg(format!("exec 2>&1; {command}"));
        unshare
    }
}

/// How a checker is run.
#[derive(Debug, Clone)]
pub struct Checker {
    /// Given to `/bin/sh -c`.
    pub command: String,
    /// It fails when it takes longer.
    pub patience: Duration,
    /// What it is kept in.
    pub sandbox: Sandbox,
}

/// Bytes that a checker may write to one file: one that grows without end stops it (`setrlimit(2)`).
const MOST_BYTES: u64 = 1 << 30;

/// Room that a checker has besides twice the files.
const MARGIN_BYTES: u64 = 256 << 20;

/// Files that are larger together are not kept in memory.
const MOST_IN_MEMORY: u64 = 512 << 20;

/// How much of what it says is kept, bytes.
const MOST_SAID: u64 = 64 << 10;

const PAUSE: Duration = Duration::from_millis(1);

impl Checker {
    /// Runs it in a stage that has a tree; gives its message when it does not end with 0.
    ///
    /// # Errors
    /// When it cannot be run at all, or an end was asked for.
    pub fn check(
        &self,
        stage: &Stage,
        interrupt: &Interrupt,
    ) -> Result<Option<String>, CheckError> {
        let output = File::create(stage.said())?;
        let mut command = self.sandbox.command(&self.command);
        command
            .current_dir(stage.tree())
            .env("IOSTRATA_DIR", stage.tree())
            .env("IOSTRATA_STDOUT", stage.printed())
            .env("TMPDIR", stage.temporary())
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .process_group(0);
        // The words of a shell around the command, such as on how it ended, are none of the checker's.
        match self.sandbox {
            Sandbox::Group => command.stderr(output),
            Sandbox::Secluded | Sandbox::UserNamespace => command.stderr(Stdio::null()),
        };
        let mut child = die_with_parent(&mut command).spawn()?;
        let watched = interrupt.watch(&child);
        let is_over = self.wait(&child);
        drop(watched);
        // Its number is its own as long as nobody has waited for it.
        end_group(&child);
        let status = child.wait()?;
        interrupt.check()?;
        if !is_over? {
            let seconds = self.patience.as_secs_f64();
            return Ok(Some(format!("the checker took more than {seconds} s")));
        }
        if status.success() {
            return Ok(None);
        }
        if let Some(bytes) = stage.bytes.filter(|_| stage.is_full()) {
            let room = bytes >> 20;
            return Ok(Some(format!(
                "the checker filled the {room} MiB that it has"
            )));
        }
        let message = message(&stage.said())?;
        // A shell gives the signal of its command so.
        let by_shell = status.code().and_then(|code| code.checked_sub(128));
        let signal = status.signal().or(by_shell.filter(|signal| *signal > 0));
        Ok(Some(match (message, signal) {
            (Some(line), _) => line,
            (None, Some(signal)) => format!("the checker was ended by signal {signal}"),
            (None, None) => format!("the checker exited with {}", status.code().unwrap_or(-1)),
        }))
    }

    /// Whether it ended in time.
    fn wait(&self, child: &Child) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let id = Pid::from_child(child);
        // Not before Linux 5.3, nor where a sandbox forbids it: then it is asked again and again.
        let ended = pidfd_open(id, PidfdFlags::empty()).ok();
        let begun = Instant::now();
        while waitid(WaitId::Pid(id), options)?.is_none() {
            let left = self.patience.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Ok(false);
            }
            match &ended {
                Some(ended) => wait_for(ended, left)?,
                None => thread::sleep(PAUSE),
            }
        }
        Ok(true)
    }
}

/// Waits until a process has ended, no longer than so.
fn wait_for(process: &OwnedFd, longest: Duration) -> io::Result<()> {
    let mut polled = [PollFd::new(process, PollFlags::IN)];
    let longest = Timespec::try_from(longest).ok();
    match poll(&mut polled, longest.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Why a checker said nothing.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// It could not be run.
    #[error("cannot run the checker: {0}")]
    Run(#[from] io::Error),
    /// An end was asked for.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

/// Whoever is left of it, if anybody.
fn end_group(child: &Child) {
    let _ended = kill_process_group(Pid::from_child(child), Signal::KILL);
}

fn message(said: &Path) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    File::open(said)?.take(MOST_SAID).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(said::message(&text).map(str::to_owned))
}

/// Where a checker works: a tree, what had been printed, and room for its own files. Each use begins with an
/// empty one.
#[derive(Debug)]
pub struct Stage {
    path: PathBuf,
    room: Option<Secluded>,
    /// Its size; `None` where it has none of its own.
    bytes: Option<u64>,
}

impl Stage {
    /// In an empty directory that somebody else removes, for trees of at most so many bytes. In
    /// [`Sandbox::Secluded`] this thread can write nowhere else from now on.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn enter(path: PathBuf, sandbox: Sandbox, tree_bytes: u64) -> io::Result<Self> {
        let is_small = tree_bytes <= MOST_IN_MEMORY && sandbox == Sandbox::Secluded;
        let bytes = is_small.then_some(2 * tree_bytes + MARGIN_BYTES);
        let room = match sandbox {
            Sandbox::Secluded => Some(Secluded::enter(&path, bytes)?),
            Sandbox::UserNamespace | Sandbox::Group => None,
        };
        Ok(Self { path, room, bytes })
    }

    /// The tree.
    pub fn tree(&self) -> PathBuf {
        self.path.join("tree")
    }

    /// What had been printed.
    pub fn printed(&self) -> PathBuf {
        self.path.join("printed")
    }

    fn said(&self) -> PathBuf {
        self.path.join("said")
    }

    fn temporary(&self) -> PathBuf {
        self.path.join("tmp")
    }

    /// Empty again.
    ///
    /// # Errors
    /// When something in it cannot be removed.
    pub fn renew(&self) -> io::Result<()> {
        let is_new = match &self.room {
            Some(room) => room.renew()?,
            None => false,
        };
        for directory in [self.tree(), self.temporary()] {
            if !is_new && directory.exists() {
                remove(&directory)?;
            }
            fs::create_dir(directory)?;
        }
        Ok(())
    }

    /// Whether a checker has left no room in it.
    fn is_full(&self) -> bool {
        let system = rustix::fs::statvfs(&self.path);
        self.bytes.is_some() && system.is_ok_and(|system| system.f_bavail == 0)
    }
}

/// Removes a directory that a checker has worked in: it may have taken permissions away.
fn remove(path: &Path) -> io::Result<()> {
    if fs::remove_dir_all(path).is_ok() {
        return Ok(());
    }
    let mut allow = Command::new("chmod");
    allow.args(["-R", "u+rwX", "--"]).arg(path);
    allow.stderr(Stdio::null()).status()?;
    fs::remove_dir_all(path)
}
