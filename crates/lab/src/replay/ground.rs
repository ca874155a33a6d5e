//! The file used by a replay: a file without a name, or one in a scratch directory.

use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FsWord, Mode, OFlags, fstatfs, openat};

use super::plan::{Plan, Way};
use super::task::ReplayFile;
use crate::engine::Launcher;
use crate::scratch::{Guard, Leftover, Scratch, ScratchError, check_room};

const FILE: &str = "replay";

/// File systems that sync a file without a name as they sync one with a name
/// (`include/uapi/linux/magic.h`, `fs/xfs/libxfs/xfs_format.h`).
///
/// btrfs logs nothing for such a file (`btrfs_log_inode_parent`, fs/btrfs/tree-log.c), so that its
/// syncs would cost nothing; f2fs writes a checkpoint, as for a file with several names
/// (`need_do_checkpoint`, fs/f2fs/file.c). Other file systems were not examined.
const ALIKE: [FsWord; 3] = [0xEF53, 0x5846_5342, 0x0102_1994];

/// The working directory of the workload process, passed as a descriptor: the owner of a directory
/// on the path may exchange it meanwhile.
pub(super) enum Ground {
    /// The file has no name, so that even a killed run leaves nothing.
    Nameless(OwnedFd),
    /// The guard removes the file of a killed run.
    Scratch(Scratch, Option<Guard>),
}

impl Ground {
    /// `opened` is the directory.
    pub(super) fn prepare(
        directory: &Path,
        opened: OwnedFd,
        plan: &Plan,
        guard: Option<&Launcher>,
    ) -> Result<Self, ScratchError> {
        if !is_nameless(opened.as_fd(), plan) {
            let here = format!("/proc/self/fd/{}", opened.as_raw_fd());
            // Without a guard, the next run removes leftovers.
            let mut guard = guard.and_then(|guard| Guard::start(guard, Path::new(&here)).ok());
            let bytes = plan.most_bytes();
            let scratch = Scratch::create_in(opened, directory, bytes, guard.as_mut())?;
            return Ok(Self::Scratch(scratch, guard));
        }
        check_room(opened.as_fd(), directory, plan.most_bytes())?;
        Ok(Self::Nameless(opened))
    }

    pub(super) fn directory(&self) -> BorrowedFd<'_> {
        match self {
            Self::Nameless(directory) => directory.as_fd(),
            Self::Scratch(scratch, _) => scratch.as_fd(),
        }
    }

    /// Relative to the working directory.
    pub(super) fn file(&self) -> ReplayFile {
        match self {
            Self::Nameless(_) => ReplayFile::Nameless {
                directory: ".".into(),
            },
            Self::Scratch(..) => ReplayFile::Named { path: FILE.into() },
        }
    }

    pub(super) fn close(self) -> Result<(), Leftover> {
        match self {
            Self::Nameless(_) => Ok(()),
            Self::Scratch(scratch, guard) => {
                let closed = scratch.close();
                drop(guard);
                closed
            }
        }
    }
}

fn is_nameless(directory: BorrowedFd<'_>, plan: &Plan) -> bool {
    let is_alike = || fstatfs(directory).is_ok_and(|found| ALIKE.contains(&found.f_type));
    if matches!(plan.now, Way::Synced(_)) && !is_alike() {
        return false;
    }
    let flags = OFlags::TMPFILE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    openat(directory, ".", flags, Mode::RUSR | Mode::WUSR).is_ok()
}
