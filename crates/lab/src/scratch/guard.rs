//! Removes the scratch directory of a process that was killed, or that was asked to end and left it.
//!
//! The guard is a separate process, because it must outlive the lab: it waits for the end of a pipe
//! whose other end only the lab holds. It receives the name of a directory before the directory is
//! created.

use std::ffi::CString;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use super::removal::{is_scratch_name, remove_if_stale};
use crate::engine::Launcher;
use crate::place::open_to_list;

/// Follows the names of directories when the lab has ended by itself.
const DONE: &str = ".";

/// A killed process disappears with its children and their files within moments; a large file
/// system may take longer for the rest.
const ATTEMPTS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(100);

/// The watching process; it lives as long as this value.
#[derive(Debug)]
pub struct Guard {
    child: Child,
    /// `None` at its end.
    told: Option<ChildStdin>,
    /// Whether there is something left for it to remove.
    pub(super) is_needed: Arc<AtomicBool>,
}

impl Guard {
    /// Starts a program that calls [`guard_main`], for scratch directories in `dir`.
    ///
    /// Must be called before [`super::isolate`]: outside there are no mounts in the way.
    pub fn start(launcher: &Launcher, dir: &Path) -> io::Result<Self> {
        // Signals are blocked until the child has entered it (posix_spawn(3)), and it may be on a server that does not
        // answer. Opening it waits too, and there a signal ends this process.
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let answers = openat(CWD, dir, flags, Mode::empty())?;
        let mut child = launcher
            .command()
            .current_dir(dir)
            // Ctrl-C must not reach the guard.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        drop(answers);
        let told = child.stdin.take();
        let is_needed = Arc::default();
        Ok(Self {
            child,
            told,
            is_needed,
        })
    }

    /// A directory with this name is about to be created. The write fails if the child was killed:
    /// then the next run removes leftovers.
    pub(super) fn tell(&mut self, line: &str) {
        if let Some(told) = &mut self.told {
            told.write_all(format!("{line}\n").as_bytes()).ok();
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.is_needed.load(Ordering::Relaxed) {
            // It waits for the end of this process, and nobody waits for it.
            return;
        }
        self.tell(DONE);
        drop(self.told.take());
        self.child.wait().ok();
    }
}

/// The work of the watching process: reads names to the end, and removes those directories in its
/// working directory whose process is gone.
pub fn guard_main() {
    let mut told = String::new();
    let read = io::stdin().read_to_string(&mut told);
    let mut names: Vec<&str> = told.lines().collect();
    // One attempt then: the lab may have had no descriptor left to remove its own directory.
    let is_done = names.pop_if(|last| *last == DONE).is_some();
    let attempts = if is_done { 1 } else { ATTEMPTS };
    if read.is_err() {
        return;
    }
    let names = names.into_iter().filter_map(|name| CString::new(name).ok());
    let mut names: Vec<CString> = names.filter(|name| is_scratch_name(name)).collect();
    let Ok(parent) = open_to_list(CWD, ".") else {
        return;
    };
    for attempt in 1..=attempts {
        names.retain(|name| {
            !matches!(
                remove_if_stale(parent.as_fd(), name),
                Ok(()) | Err(Errno::NOENT)
            )
        });
        if names.is_empty() || attempt == attempts {
            break;
        }
        thread::sleep(PAUSE);
    }
}
