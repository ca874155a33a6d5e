//! The targets and nodes of a call's paths, for the log.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use iostrata_core::op::FileId;
use iostrata_core::trace::{FileKind, Located};
use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags, openat, statx};
use syscalls::Sysno;

use crate::decode::{self, Inode};
use crate::identity::generation;
use crate::ptrace::place::{self, Given};
use crate::ptrace::recorder::low;
use crate::ptrace::request::Tid;
use crate::ptrace::resolve::{Last, resolve};

/// A node, its attributes, and whether it has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) id: FileId,
    pub(super) inode: Inode,
    pub(super) is_named: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Led {
    pub(super) at: Option<Located>,
    pub(super) node: Option<Node>,
}

/// The generation of a node's inode number, queried from the kernel once per generation. The query
/// requires an open file.
#[derive(Debug, Default)]
pub(super) struct Lives {
    /// By device and inode number: the node's birth time, and its generation.
    known: HashMap<(u32, u64), ((i64, u32), u32)>,
    /// As reported through the program's own descriptors, where the files must not be reopened.
    seen: HashMap<(u32, u64), u32>,
}

impl Lives {
    /// A file identified through a descriptor.
    pub(super) fn saw(&mut self, file: FileId) {
        self.seen.insert((file.device, file.inode), file.generation);
    }

    /// The node may be gone, and another may get its number.
    pub(super) fn ended(&mut self, file: FileId) {
        self.known.remove(&(file.device, file.inode));
    }

    fn generation(&mut self, fd: BorrowedFd<'_>, number: (u32, u64), made: (i64, u32)) -> u32 {
        match self.known.get(&number) {
            Some((same, generation)) if *same == made => return *generation,
            _ => {}
        }
        let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let Ok(opened) = rustix::fs::open(path, flags, Mode::empty()) else {
            return self.seen.get(&number).copied().unwrap_or(0);
        };
        let generation = generation(opened.as_fd()).unwrap_or(0);
        if made != (0, 0) {
            self.known.insert(number, (made, generation));
        }
        generation
    }

    pub(super) fn node(&mut self, fd: BorrowedFd<'_>) -> Option<Node> {
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let found = statx(fd, c"", AtFlags::EMPTY_PATH, wanted).ok()?;
        let device = FileId::kernel_device(found.stx_dev_major, found.stx_dev_minor);
        let mode = u32::from(found.stx_mode);
        let has_lives = matches!(
            FileKind::from_mode(mode),
            FileKind::Regular | FileKind::Directory
        );
        let made = (found.stx_btime.tv_sec, found.stx_btime.tv_nsec);
        let number = (device, found.stx_ino);
        let generation = if has_lives {
            self.generation(fd, number, made)
        } else {
            0
        };
        Some(Node {
            id: FileId {
                device,
                inode: found.stx_ino,
                generation,
            },
            inode: Inode {
                mode,
                size_bytes: found.stx_size,
                device: FileId::kernel_device(found.stx_rdev_major, found.stx_rdev_minor),
            },
            is_named: found.stx_nlink > 0,
        })
    }

    pub(super) fn led(&mut self, given: &Given, tid: Tid, last: Last) -> Led {
        let Some(found) = resolve(given, tid, last) else {
            return Led::default();
        };
        let Some(path) = found.path() else {
            return Led::default();
        };
        let (at, rest) = found.parts();
        if rest.is_empty() {
            let node = self.node(at.as_fd());
            let is_named = node.is_some_and(|node| node.is_named);
            let at = node.filter(|_| is_named).map(|node| Located {
                directory: self.directory_of(&path, node),
                path,
            });
            return Led { at, node };
        }
        let directory = self.node(at.as_fd()).map(|node| node.id);
        let there = step(&at, &rest);
        Led {
            at: Some(Located {
                path,
                directory: directory.filter(|_| !rest.contains(&b'/')),
            }),
            node: there.and_then(|there| self.node(there.as_fd())),
        }
    }

    /// The directory that contains the node under this path; `None` where the path leads elsewhere
    /// from here, as may happen in another mount namespace.
    fn directory_of(&mut self, path: &[u8], node: Node) -> Option<FileId> {
        let end = path.iter().rposition(|byte| *byte == b'/')?;
        let (above, name) = (&path[..=end], &path[end + 1..]);
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let directory = rustix::fs::open(OsStr::from_bytes(above), flags, Mode::empty()).ok()?;
        let there = self.node(step(&directory, name)?.as_fd())?;
        let directory = self.node(directory.as_fd())?;
        (there.id == node.id).then_some(directory.id)
    }
}

fn step(at: &OwnedFd, name: &[u8]) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, OsStr::from_bytes(name), flags, Mode::empty()).ok()
}

pub(super) fn opening_flags(number: Sysno, arguments: &[u64; 6]) -> OFlags {
    OFlags::from_bits_retain(low(decode::opening_flags(number.name(), arguments)))
}

/// Whether an open may make a file. `O_TMPFILE` is two bits, one of which is `O_DIRECTORY`: `intersects` would take each
/// `opendir(3)` for one.
pub(super) fn may_create(flags: OFlags) -> bool {
    flags.contains(OFlags::CREATE) || flags.contains(OFlags::TMPFILE)
}

/// The effect of a call on the last name of its first path.
pub(super) fn last(number: Sysno, arguments: &[u64; 6]) -> Last {
    use Sysno as N;
    let has =
        |argument: usize, flag: i32| arguments[argument] & u64::from(flag.unsigned_abs()) != 0;
    let kept_by = |argument| {
        if has(argument, libc::AT_SYMLINK_NOFOLLOW) {
            Last::Kept
        } else {
            Last::Followed
        }
    };
    match number {
        N::open | N::openat | N::openat2 | N::creat => {
            let flags = opening_flags(number, arguments);
            if flags.contains(OFlags::NOFOLLOW) || flags.contains(OFlags::CREATE | OFlags::EXCL) {
                Last::Kept
            } else {
                Last::Followed
            }
        }
        N::fchmodat2 | N::utimensat => kept_by(3),
        N::fchownat => kept_by(4),
        N::linkat if has(4, libc::AT_SYMLINK_FOLLOW) => Last::Followed,
        N::chmod
        | N::fchmodat
        | N::chown
        | N::utime
        | N::utimes
        | N::futimesat
        | N::setxattr
        | N::removexattr
        | N::truncate => Last::Followed,
        _ => Last::Kept,
    }
}

/// The current location of a descriptor's file, as the kernel shows it.
pub(super) fn shown(tid: Tid, fd: i32) -> Option<Vec<u8>> {
    let mut path = place::link(&format!("/proc/{tid}/fd/{fd}"))?;
    if path.ends_with(b" (deleted)") {
        path.truncate(path.len() - b" (deleted)".len());
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_open_a_directory_makes_nothing() {
        assert!(!may_create(OFlags::DIRECTORY | OFlags::CLOEXEC));
        assert!(may_create(OFlags::TMPFILE | OFlags::WRONLY));
        assert!(may_create(OFlags::CREATE | OFlags::EXCL));
        assert!(!may_create(OFlags::TRUNC | OFlags::WRONLY));
    }
}
