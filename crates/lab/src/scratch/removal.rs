//! Removal of our own directories: never through a link, never into a mount, never one that is in
//! use or that is not ours.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::fs::{
    AtFlags, Dir, FlockOperation, Mode, OFlags, flock, fstat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::path::Arg;
use rustix::process::geteuid;

use super::directory::{LOCK, LOCK_MAGIC, PREFIX, is_random_name};
use crate::place::open_to_list;

/// Removes the scratch directories in `parent` whose run is gone. Whatever cannot be removed stays:
/// this run does not fail because of it.
pub(super) fn remove_stale(parent: BorrowedFd<'_>) {
    let Ok(entries) = Dir::read_from(parent) else {
        return;
    };
    let names: Vec<CString> = entries
        .filter_map(|entry| Some(entry.ok()?.file_name().to_owned()))
        .filter(|name| is_scratch_name(name))
        .collect();
    for name in names {
        _ = remove_if_stale(parent, &name);
    }
}

pub(super) fn is_scratch_name(name: &CStr) -> bool {
    let random = name.to_bytes().strip_prefix(PREFIX.as_bytes());
    random.is_some_and(is_random_name)
}

/// Removes one, unless its run is alive or it is not ours.
pub(super) fn remove_if_stale(parent: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    let directory = open_to_list(parent, name)?;
    if fstat(&directory)?.st_uid != geteuid().as_raw() {
        return Err(Errno::PERM);
    }
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match openat(&directory, LOCK, flags, Mode::empty()) {
        Ok(lock) => {
            // Locked: the run is alive. Otherwise we hold the lock until the directory is gone.
            flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
            let mut lock = File::from(lock);
            if !is_our_lock(&mut lock) {
                return Err(Errno::PERM);
            }
            remove_tree(parent, name)
        }
        // Killed, or still to be locked, right after mkdir; the run then creates another one. Fails
        // unless the directory is empty.
        Err(Errno::NOENT) => unlinkat(parent, name, AtFlags::REMOVEDIR),
        Err(errno) => Err(errno),
    }
}

/// Signed, or not yet signed when the run was killed.
fn is_our_lock(lock: &mut File) -> bool {
    let mut start = Vec::new();
    let read = lock.take(LOCK_MAGIC.len() as u64).read_to_end(&mut start);
    read.is_ok() && LOCK_MAGIC.as_bytes().starts_with(&start)
}

/// Removes the directory `name` and its contents, and stops with `XDEV` before a mount in it. The
/// lock file is removed last: as long as anything remains, the directory is recognisable as ours.
pub(crate) fn remove_tree(parent: BorrowedFd<'_>, name: impl Arg + Copy) -> Result<(), Errno> {
    let directory = open_to_list(parent, name)?;
    remove_own(parent, name, &directory, None)
}

/// The same for an open directory. Fails with `STALE` if it was renamed: it is empty then, and the
/// directory that has its name now is not touched. Fails with `TIME` if there is more to remove at `until`.
pub(super) fn remove_own(
    parent: BorrowedFd<'_>,
    name: impl Arg + Copy,
    directory: &OwnedFd,
    until: Option<Instant>,
) -> Result<(), Errno> {
    let own = fstat(directory)?;
    empty(directory, own.st_dev, Some(LOCK), until)?;
    gone(unlinkat(directory, LOCK, AtFlags::empty()))?;
    let named = match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        // Another run may have considered it stale, which it is without its lock file.
        Err(Errno::NOENT) if fstat(directory)?.st_nlink == 0 => return Ok(()),
        Err(Errno::NOENT) => return Err(Errno::STALE),
        named => named?,
    };
    if (named.st_dev, named.st_ino) != (own.st_dev, own.st_ino) {
        return Err(Errno::STALE);
    }
    gone(unlinkat(parent, name, AtFlags::REMOVEDIR))
}

/// Removed by another process: done.
fn gone(outcome: Result<(), Errno>) -> Result<(), Errno> {
    match outcome {
        Err(Errno::NOENT) => Ok(()),
        outcome => outcome,
    }
}

/// Holds two directories open at a time, however deep they are: what is below one of them is moved up first.
fn empty(
    directory: &OwnedFd,
    device: u64,
    spare: Option<&CStr>,
    until: Option<Instant>,
) -> Result<(), Errno> {
    let in_time = || match until {
        Some(until) if Instant::now() > until => Err(Errno::TIME),
        _ => Ok(()),
    };
    if fstat(directory)?.st_dev != device {
        return Err(Errno::XDEV);
    }
    let mut moved = 0;
    loop {
        let mut names = names(directory)?;
        names.retain(|name| spare != Some(name.as_c_str()));
        let before = moved;
        for name in &names {
            in_time()?;
            if removed(directory, name)? {
                continue;
            }
            let child = open_to_list(directory, name.as_c_str())?;
            if fstat(&child)?.st_dev != device {
                return Err(Errno::XDEV);
            }
            for below in &self::names(&child)? {
                in_time()?;
                if !removed(&child, below)? {
                    move_up(&child, below, directory, &mut moved)?;
                }
            }
            gone(unlinkat(directory, name.as_c_str(), AtFlags::REMOVEDIR))?;
        }
        if moved == before {
            return Ok(());
        }
    }
}

/// Read first: removing entries during the read may skip some.
fn names(directory: &OwnedFd) -> Result<Vec<CString>, Errno> {
    let entries = Dir::read_from(directory)?.map(|entry| Ok(entry?.file_name().to_owned()));
    let mut names: Vec<CString> = entries.collect::<Result<_, Errno>>()?;
    names.retain(|name| ![c".", c".."].contains(&name.as_c_str()));
    Ok(names)
}

/// Removes a file or an empty directory; false for a directory that is not empty, or that is a mount.
fn removed(directory: &OwnedFd, name: &CString) -> Result<bool, Errno> {
    // Linux returns EISDIR for a directory, so no lookup is needed first.
    match unlinkat(directory, name.as_c_str(), AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(true),
        Err(Errno::ISDIR) => {}
        Err(errno) => return Err(errno),
    }
    match unlinkat(directory, name.as_c_str(), AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::NOTEMPTY | Errno::EXIST | Errno::BUSY) => Ok(false),
        Err(errno) => Err(errno),
    }
}

fn move_up(from: &OwnedFd, name: &CString, to: &OwnedFd, moved: &mut u64) -> Result<(), Errno> {
    loop {
        *moved += 1;
        match renameat(from, name.as_c_str(), to, format!("below-{moved}")) {
            // Another one has the name.
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
            Err(Errno::BUSY) => return Err(Errno::XDEV),
            outcome => return gone(outcome),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsFd as _;

    use rustix::fs::CWD;

    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn what_is_not_removed_in_time_is_left_for_another() {
        let dir = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(dir.path(), 0).unwrap();
        let path = scratch.path().to_owned();
        fs::write(path.join("file"), "text").unwrap();
        let directory = open_to_list(CWD, &path).unwrap();
        let parent = open_to_list(CWD, dir.path()).unwrap();
        let name = path.file_name().unwrap();
        let late = remove_own(parent.as_fd(), name, &directory, Some(Instant::now()));
        assert_eq!(late, Err(Errno::TIME));
        assert!(path.join("file").exists() && path.join("lock").exists());
        drop(scratch);
        assert!(!path.exists());
    }
}
