//! Starts a user's program so that nothing of it is missed: the process exists, but blocks before
//! the program's first instruction, until the observer says *go*.
#![expect(
    unsafe_code,
    reason = "a child between fork and exec may only make system calls"
)]

pub mod timed;

use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::fs::{Access, access};

use crate::permission::caller;
use crate::signals::Mask;

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot find {}: no such program; check the spelling and PATH, or give its path", program.display())]
    NotFound { program: OsString },
    #[error("cannot run {}: {source}; name an executable file", path.display())]
    NotExecutable { path: PathBuf, source: io::Error },
    #[error("cannot start a process: {0}; check the limits of this user (ulimit -a)")]
    NoProcess(#[source] io::Error),
}

/// A process that waits to become the program.
#[derive(Debug)]
pub struct Blocked {
    pid: u32,
    path: PathBuf,
    /// Closed before `starting` is awaited.
    go: Option<io::PipeWriter>,
    /// `None` once it was awaited.
    starting: Option<JoinHandle<io::Result<Child>>>,
}

impl Blocked {
    /// Creates the process for `command`, the program's name and its arguments, with these signals
    /// blocked.
    pub fn prepare(command: &[OsString], mask: Mask) -> Result<Self, StartError> {
        Self::make(command, mask, false)
    }

    /// `own_group`: as the leader of a process group, so that a terminal's Ctrl-C does not reach it, and
    /// all its descendants can be ended together.
    fn make(command: &[OsString], mask: Mask, own_group: bool) -> Result<Self, StartError> {
        let (name, arguments) = command.split_first().ok_or_else(|| StartError::NotFound {
            program: OsString::new(),
        })?;
        let path = find(name, std::env::var_os("PATH"))?;
        let (waits, go) = io::pipe().map_err(StartError::NoProcess)?;
        let (mut told, tells) = io::pipe().map_err(StartError::NoProcess)?;
        let mut program = Command::new(&path);
        program.arg0(name).args(arguments);
        if own_group {
            program.process_group(0);
        }
        let (waits_fd, tells_fd) = (waits.as_raw_fd(), tells.as_raw_fd());
        // The child must not hold the end that says go, or it would wait for itself.
        let go_fd = go.as_raw_fd();
        let held_back = caller::must_hold_back();
        // SAFETY: the closure makes system calls only, on descriptors inherited from the parent; it
        // neither allocates nor takes locks.
        unsafe {
            program.pre_exec(move || {
                mask.take()?;
                if held_back {
                    rustix::thread::set_no_new_privs(true)?;
                }
                wait_for_go(waits_fd, tells_fd, go_fd)
            });
        }
        // Returns once the program runs: the standard library waits for that.
        let starting = thread::Builder::new().spawn(move || {
            let child = program.spawn();
            drop((waits, tells));
            child
        });
        let starting = starting.map_err(StartError::NoProcess)?;
        let mut pid = [0; 4];
        if told.read_exact(&mut pid).is_err() {
            let failed = starting.join().map_or_else(|_| None, Result::err);
            let cause = failed.unwrap_or_else(|| io::Error::other("the process ended early"));
            return Err(StartError::NoProcess(cause));
        }
        let pid = u32::from_ne_bytes(pid);
        wait_until_asleep(pid);
        Ok(Self {
            pid,
            path,
            go: Some(go),
            starting: Some(starting),
        })
    }

    /// Its process id, which the program will have.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Lets it become the program.
    pub fn go(mut self) -> Result<Child, StartError> {
        if let Some(go) = &mut self.go {
            go.write_all(&[1]).map_err(StartError::NoProcess)?;
        }
        let started = self.starting.take().map(JoinHandle::join);
        started
            .and_then(Result::ok)
            .ok_or_else(|| StartError::NoProcess(io::Error::other("the starting thread ended")))?
            .map_err(|source| StartError::NotExecutable {
                path: std::mem::take(&mut self.path),
                source,
            })
    }
}

impl Drop for Blocked {
    /// A process that was never told to go ends, and is awaited.
    fn drop(&mut self) {
        self.go = None;
        let started = self.starting.take().map(JoinHandle::join);
        if let Some(Ok(Ok(mut child))) = started {
            child.wait().ok();
        }
    }
}

/// Waits until the child sleeps in its `read`. An observer that came between its `write` and that
/// `read` would charge the `read` to the program.
fn wait_until_asleep(pid: u32) {
    let deadline = Instant::now() + Duration::from_secs(1);
    while Instant::now() < deadline {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The state follows the name in parentheses, which may hold any byte
        // (proc_pid_stat(5)).
        let end = stat.iter().rposition(|byte| *byte == b')');
        let state = end.and_then(|end| stat.get(end + 2));
        if state.is_none_or(|state| *state == b'S') {
            return;
        }
        thread::sleep(Duration::from_micros(100));
    }
}

/// In the child: reports its id and waits. Ends when the other end is closed: the standard library would
/// abort aloud where there is no parent to report an error to.
fn wait_for_go(waits: RawFd, tells: RawFd, go: RawFd) -> io::Result<()> {
    // SAFETY: the child inherited the three descriptors, and nothing else uses them in it.
    let go = unsafe { OwnedFd::from_raw_fd(go) };
    drop(go);
    let waits = borrowed(waits);
    let pid = std::process::id().to_ne_bytes();
    rustix::io::write(borrowed(tells), &pid)?;
    let mut said = [0; 1];
    match rustix::io::retry_on_intr(|| rustix::io::read(waits, &mut said))? {
        1 => Ok(()),
        // SAFETY: it ends the child without iostrata's own clean-up.
        _ => unsafe { libc::_exit(127) },
    }
}

fn borrowed(fd: RawFd) -> BorrowedFd<'static> {
    // SAFETY: the child's copies stay open until it runs the program or ends.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

/// The value of `PATH` when it is not set (`_PATH_DEFPATH`, paths.h).
const DEFAULT: &str = "/usr/bin:/bin";

/// The executable for `name`: the path itself when it contains a slash, otherwise the first
/// executable file with that name in `path` (the value of `PATH`).
///
/// Looking it up before the program is observed keeps the failed attempts of
/// `execvp(3)` out of its counts.
pub(crate) fn find(name: &OsStr, path: Option<OsString>) -> Result<PathBuf, StartError> {
    if name.as_bytes().contains(&b'/') {
        let file = PathBuf::from(name);
        return check(&file).map(|()| file.clone()).map_err(|source| {
            if source.kind() == io::ErrorKind::NotFound {
                StartError::NotFound {
                    program: name.to_owned(),
                }
            } else {
                StartError::NotExecutable { path: file, source }
            }
        });
    }
    let path = path.unwrap_or_else(|| DEFAULT.into());
    let mut refused = None;
    for directory in std::env::split_paths(&path) {
        // An empty entry is the working directory (POSIX, Base Definitions 8.3).
        let directory = if directory.as_os_str().is_empty() {
            Path::new(".").to_owned()
        } else {
            directory
        };
        let file = directory.join(name);
        match check(&file) {
            Ok(()) => return Ok(file),
            Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
                refused.get_or_insert(StartError::NotExecutable { path: file, source });
            }
            Err(_) => {}
        }
    }
    Err(refused.unwrap_or_else(|| StartError::NotFound {
        program: name.to_owned(),
    }))
}

/// Whether the file may be executed. A directory may be "executed" too, but not run.
fn check(file: &Path) -> io::Result<()> {
    if std::fs::metadata(file)?.is_dir() {
        return Err(io::Error::from(io::ErrorKind::PermissionDenied));
    }
    Ok(access(file, Access::EXEC_OK)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_process_that_was_never_told_to_go_is_gone() {
        let mask = Mask::own().unwrap();
        let blocked = Blocked::prepare(&["true".into()], mask).unwrap();
        let directory = format!("/proc/{}", blocked.pid());
        assert!(std::fs::exists(&directory).unwrap());
        drop(blocked);
        assert!(!std::fs::exists(&directory).unwrap());
    }

    #[test]
    fn the_first_executable_file_on_the_path_is_meant() {
        let dir = tempfile::tempdir().unwrap();
        let in_dir = |name: &str| dir.path().join(name);
        for (place, mode) in [("a", 0o644), ("b", 0o755), ("c", 0o755)] {
            std::fs::create_dir(in_dir(place)).unwrap();
            let file = in_dir(place).join("tool");
            std::fs::write(&file, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let path = std::env::join_paths(["a", "b", "c"].map(in_dir)).unwrap();
        let found = find(OsStr::new("tool"), Some(path)).unwrap();
        assert_eq!(found, in_dir("b").join("tool"));
        let only = find(OsStr::new("tool"), Some(in_dir("a").into()));
        assert!(matches!(only, Err(StartError::NotExecutable { .. })));
        let none = find(OsStr::new("other"), Some(in_dir("a").into()));
        assert!(matches!(none, Err(StartError::NotFound { .. })));
        let directory = find(in_dir("a").as_os_str(), None);
        assert!(matches!(directory, Err(StartError::NotExecutable { .. })));
    }
}
