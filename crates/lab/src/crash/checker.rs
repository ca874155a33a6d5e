//! The user's checker: a command that looks at a tree, bounded in what it can do.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// What keeps a checker from the rest of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sandbox {
    /// Namespaces of its own for mounts, processes, and the network (`unshare(1)`).
    Namespaces,
    /// The same within a user namespace.
    UserNamespace,
    /// A process group only: what it starts and moves out of it is not ended.
    Group,
}

impl Sandbox {
    /// The strongest one that works here.
    pub fn find() -> Self {
        let works = |sandbox: Self| {
            let status = sandbox
                .command("true")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            status.is_ok_and(|status| status.success())
        };
        [Self::Namespaces, Self::UserNamespace]
            .into_iter()
            .find(|sandbox| works(*sandbox))
            .unwrap_or(Self::Group)
    }

    /// In words, for the result.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Namespaces => "mount, PID, IPC and network namespaces",
            Self::UserNamespace => "user, mount, PID, IPC and network namespaces",
            Self::Group => "a process group",
        }
    }

    fn command(self, command: &str) -> Command {
        const OWN: [&str; 6] = [
            "--mount",
            "--pid",
            "--ipc",
            "--net",
            "--fork",
            "--kill-child",
        ];
        let mut all = match self {
            Self::Group => Command::new("/bin/sh"),
            Self::Namespaces | Self::UserNamespace => {
                let mut unshare = Command::new("unshare");
                if self == Self::UserNamespace {
                    unshare.arg("--map-current-user");
                }
                unshare
                    .args(OWN)
                    .arg("--mount-proc")
                    .args(["--", "/bin/sh"]);
                unshare
            }
        };
        all.arg("-c").arg(command);
        all
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

/// Bytes that a checker may write to one file.
const MOST_BYTES: u64 = 1 << 30;

/// How much of what it says is kept, bytes.
const MOST_SAID: u64 = 64 << 10;

const PAUSE: Duration = Duration::from_millis(1);

impl Checker {
    /// Runs it in a directory; gives its message when it does not end with 0.
    ///
    /// # Errors
    /// When it cannot be run at all.
    pub fn check(&self, tree: &Path, printed: &Path) -> io::Result<Option<String>> {
        let said = printed.with_file_name("said");
        let output = File::create(&said)?;
        let mut child = self
            .sandbox
            .command(&limited(&self.command))
            .current_dir(tree)
            .env("IOSTRATA_DIR", tree)
            .env("IOSTRATA_STDOUT", printed)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(0)
            .spawn()?;
        let is_over = self.wait(&child);
        // Its number is its own as long as nobody has waited for it.
        end_group(&child);
        let status = child.wait()?;
        if !is_over? {
            let seconds = self.patience.as_secs_f64();
            return Ok(Some(format!("the checker took more than {seconds} s")));
        }
        if status.success() {
            return Ok(None);
        }
        let first = first_line(&said)?;
        Ok(Some(match (first, status.signal()) {
            (Some(line), _) => line,
            (None, Some(signal)) => format!("the checker was ended by signal {signal}"),
            (None, None) => format!("the checker exited with {}", status.code().unwrap_or(-1)),
        }))
    }

    /// Whether it ended in time.
    fn wait(&self, child: &Child) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let id = Pid::from_child(child);
        let begun = Instant::now();
        while waitid(WaitId::Pid(id), options)?.is_none() {
            if begun.elapsed() > self.patience {
                return Ok(false);
            }
            std::thread::sleep(PAUSE);
        }
        Ok(true)
    }
}

/// A file that grows without end stops it (`setrlimit(2)`).
fn limited(command: &str) -> String {
    let blocks = MOST_BYTES / 512;
    format!("ulimit -f {blocks}; ulimit -c 0; {command}")
}

/// Whoever is left of it, if anybody.
fn end_group(child: &Child) {
    let _ended = kill_process_group(Pid::from_child(child), Signal::KILL);
}

fn first_line(said: &Path) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    File::open(said)?.take(MOST_SAID).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    Ok(line.map(str::to_owned))
}

/// A directory whose contents are removed before each use.
#[derive(Debug)]
pub struct Stage {
    path: PathBuf,
}

impl Stage {
    /// In a directory that is removed by who made it.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn in_directory(scratch: &Path) -> io::Result<Self> {
        let path = scratch.join("stage");
        fs::create_dir(&path)?;
        Ok(Self { path })
    }

    /// Empty again.
    ///
    /// # Errors
    /// When something in it cannot be removed.
    pub fn clean(&self) -> io::Result<&Path> {
        fs::remove_dir_all(&self.path)?;
        fs::create_dir(&self.path)?;
        Ok(&self.path)
    }
}
