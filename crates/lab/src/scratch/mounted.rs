//! A mount in the scratch directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};

use super::error::Leftover;

/// A mount can stay busy for a moment after its last file was closed.
const UNMOUNT_ATTEMPTS: u32 = 20;
const UNMOUNT_PAUSE: Duration = Duration::from_millis(50);

/// A mount at a path, unmounted on drop.
#[derive(Debug)]
pub(crate) struct Mounted {
    path: PathBuf,
    ended: bool,
}

impl Mounted {
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path, ended: false }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn close(mut self) -> Result<(), Leftover> {
        self.ended = true;
        unmount_patiently(&self.path)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Callers that need the result call `close`.
        if !self.ended {
            drop(unmount_patiently(&self.path));
        }
    }
}

/// The line of the mount that holds `path`, `proc_pid_mountinfo(5)`; `None` where it has none.
pub(crate) fn mount_line(path: &Path) -> io::Result<Option<String>> {
    let id = mount_id(path)?.to_string();
    // The thread's own: other threads may live in another namespace.
    let mounts = fs::read("/proc/thread-self/mountinfo")?;
    let mounts = String::from_utf8_lossy(&mounts);
    let mut lines = mounts.lines();
    let line = lines.find(|line| line.split(' ').next() == Some(&id));
    Ok(line.map(str::to_owned))
}

pub(crate) fn mount_id(path: &Path) -> io::Result<u64> {
    let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::MNT_ID)?;
    Ok(found.stx_mnt_id)
}

/// Unmounts `path`, waiting a little for its last user.
fn unmount_patiently(path: &Path) -> Result<(), Leftover> {
    let mut outcome = unmount(path, UnmountFlags::NOFOLLOW);
    for _ in 1..UNMOUNT_ATTEMPTS {
        if outcome != Err(Errno::BUSY) {
            break;
        }
        thread::sleep(UNMOUNT_PAUSE);
        outcome = unmount(path, UnmountFlags::NOFOLLOW);
    }
    let Err(errno) = outcome else {
        return Ok(());
    };
    let flags = UnmountFlags::NOFOLLOW | UnmountFlags::DETACH;
    let then = match unmount(path, flags) {
        Ok(()) => "detached instead, the kernel unmounts it when its last user ends".to_owned(),
        Err(errno) => format!("nor detached: {}", io::Error::from(errno)),
    };
    Err(Leftover {
        path: path.to_owned(),
        cause: format!("{}; {then}", io::Error::from(errno)),
    })
}
