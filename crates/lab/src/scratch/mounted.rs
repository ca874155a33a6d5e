//! A mount in the scratch directory.

use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

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
