//! Directories and files beneath one directory, for any names.
//!
//! A log is untrusted input: each name is resolved by `openat2` with `RESOLVE_BENEATH` and
//! `RESOLVE_NO_SYMLINKS` (openat2(2)), so that neither `..` nor a symbolic link leads out, not even
//! one that another process plants meanwhile.

use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, ResolveFlags, chmod, openat2};
use rustix::io::Errno;

/// Longer paths are resolved in parts below this length (`PATH_MAX`, include/uapi/linux/limits.h).
const LONGEST_PATH: usize = 4_000;

const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS);

/// A directory at a relative path, which may be longer than the kernel accepts; the empty path is
/// `root` itself.
pub(super) fn directory(root: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
    let mut at = open_directory(root, b".")?;
    let mut rest = path;
    while !rest.is_empty() {
        let (part, behind) = if rest.len() <= LONGEST_PATH {
            (rest, &b""[..])
        } else {
            let end = rest[..LONGEST_PATH].iter().rposition(|byte| *byte == b'/');
            let end = end.ok_or(Errno::NAMETOOLONG)?;
            (&rest[..end], &rest[end + 1..])
        };
        at = open_directory(at.as_fd(), part)?;
        rest = behind;
    }
    Ok(at)
}

fn open_directory(at: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat2(at, path, flags, Mode::empty(), BENEATH)
}

/// Sets the mode of a new entry, which the process's umask has reduced.
pub(super) fn set_mode(directory: BorrowedFd<'_>, name: &[u8], mode: Mode) -> Result<(), Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let made = openat2(directory, name, flags, Mode::empty(), BENEATH)?;
    chmod(format!("/proc/self/fd/{}", made.as_raw_fd()), mode)
}

pub(super) fn new_file(directory: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(directory, name, flags, Mode::RUSR | Mode::WUSR, BENEATH)
}
