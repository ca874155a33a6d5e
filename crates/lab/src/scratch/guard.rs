//! Removes the scratch directory of a process that was killed.
//!
//! A process of its own, because nothing else is left then: it waits for the end of a pipe whose
//! other end only the lab holds. It is told the name of a directory before that is made.

use std::ffi::CString;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::thread;
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use super::removal::{is_scratch_name, remove_if_stale};
use crate::engine::Launcher;

/// Follows the names of directories when the lab has ended by itself.
const DONE: &str = ".";

/// A process that is killed is gone, with its children and their files, within moments; a large
/// file system may take longer for the rest.
const ATTEMPTS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(100);

/// The process that watches, while this value lives.
#[derive(Debug)]
pub struct Guard {
    child: Child,
    /// `None` at its end.
    told: Option<ChildStdin>,
}

impl Guard {
    /// Starts a program that ends up in [`guard_main`], for scratch directories in `dir`.
    ///
    /// Has to be called before [`super::isolate`]: from outside there are no mounts in the way.
    pub fn start(launcher: &Launcher, dir: &Path) -> io::Result<Self> {
        let mut child = launcher
            .command()
            .current_dir(dir)
            // Ctrl-C is not for it.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let told = child.stdin.take();
        Ok(Self { child, told })
    }

    /// A directory of this name is about to be made. Telling fails when somebody has ended the child:
    /// then the next run removes what is left.
    pub(super) fn tell(&mut self, line: &str) {
        if let Some(told) = &mut self.told {
            told.write_all(format!("{line}\n").as_bytes()).ok();
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.tell(DONE);
        drop(self.told.take());
        self.child.wait().ok();
    }
}

/// What the watching process does: reads names to the end, and removes those directories in its
/// working directory whose process is gone.
pub fn guard_main() {
    let mut told = String::new();
    let read = io::stdin().read_to_string(&mut told);
    let mut names: Vec<&str> = told.lines().collect();
    // One look then: the lab may have had no descriptor left to remove its own with.
    let is_done = names.pop_if(|last| *last == DONE).is_some();
    let attempts = if is_done { 1 } else { ATTEMPTS };
    if read.is_err() {
        return;
    }
    let names = names.into_iter().filter_map(|name| CString::new(name).ok());
    let mut names: Vec<CString> = names.filter(|name| is_scratch_name(name)).collect();
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let Ok(parent) = openat(CWD, ".", flags, Mode::empty()) else {
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
