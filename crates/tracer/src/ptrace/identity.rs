//! Open files: their identity and name, and shared mappings of them, which a later call may make writable.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use iostrata_core::op::FileId;
use iostrata_core::trace::{FileKind, NamedFile, answers};
use rustix::fs::{AtFlags, OFlags, Statx, StatxFlags, fcntl_getfl, statx};

use super::place;
use super::request::Tid;
use crate::identity::generation;
use crate::stack::mountinfo::Mounts;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) file: FileId,
    /// `st_mode`.
    pub(super) mode: u32,
    /// `O_*` of the open file.
    pub(super) flags: OFlags,
    pub(super) size_bytes: u64,
    pub(super) is_unlinked: bool,
    /// Whether it lies in one of the kernel's internal file systems, such as files of
    /// `memfd_create(2)`: its inode is of type regular, but the file has no location.
    pub(super) is_internal: bool,
    /// Whether its file system stores what is written to it.
    pub(super) is_stored: bool,
    /// Mount through which it was opened, and `st_dev`: together they identify its file system.
    pub(super) place: Place,
}

/// A mount as `statx(2)` reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    mount: u64,
    device: u32,
}

impl Open {
    pub(super) fn kind(&self) -> FileKind {
        match FileKind::from_mode(self.mode) {
            FileKind::Regular if self.is_internal => FileKind::Anonymous,
            kind => kind,
        }
    }

    /// Whether it has bytes at offsets.
    pub(super) fn is_regular(&self) -> bool {
        self.kind() == FileKind::Regular && self.is_stored
    }

    pub(super) fn is_writable(&self) -> bool {
        self.flags.intersects(OFlags::WRONLY | OFlags::RDWR)
    }
}

/// Identifies the files of descriptors. Remembers mounts.
#[derive(Debug, Default)]
pub(super) struct Identifier {
    /// Whether a mount is visible to the process, and the type of its file system.
    file_systems: HashMap<Place, (bool, String)>,
    /// Files whose file system does not report the generation of their inode.
    pub(super) without_generation: u64,
    /// Calls whose descriptor the kernel did not identify.
    pub(super) refused: u64,
}

impl Identifier {
    /// The file of `fd`, a duplicate of one of `tid`'s descriptors.
    pub(super) fn identify(&mut self, fd: BorrowedFd<'_>, tid: Tid) -> io::Result<Open> {
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
        let found = statx(fd, c"", AtFlags::EMPTY_PATH, wanted)?;
        let flags = fcntl_getfl(fd)?;
        let place = Place {
            mount: found.stx_mnt_id,
            device: FileId::kernel_device(found.stx_dev_major, found.stx_dev_minor),
        };
        let mode = u32::from(found.stx_mode);
        let is_listed = self.is_listed(place, &found, tid);
        let kind = FileKind::from_mode(mode);
        let is_unlinked = found.stx_nlink == 0;
        let shown =
            || place::link(&format!("/proc/self/fd/{}", fd.as_raw_fd())).unwrap_or_default();
        let is_internal = kind == FileKind::Regular
            && !is_listed
            && is_unlinked
            && shown().starts_with(b"/memfd:");
        let has_lives = matches!(kind, FileKind::Regular | FileKind::Directory) && !is_internal;
        let generation = match kind {
            FileKind::Anonymous => Some(kind_of_anonymous(&shown())),
            _ => has_lives.then(|| generation(fd)).flatten(),
        };
        self.without_generation += u64::from(has_lives && generation.is_none());
        Ok(Open {
            file: FileId {
                // By st_dev: btrfs reports a different one for each subvolume (fs/btrfs/inode.c,
                // `btrfs_getattr`), and their inode numbers coincide.
                device: place.device,
                inode: found.stx_ino,
                generation: generation.unwrap_or(0),
            },
            is_internal,
            mode,
            flags,
            size_bytes: found.stx_size,
            is_unlinked,
            is_stored: !answers(self.kind_of(place)),
            place,
        })
    }

    /// Type of the file system.
    pub(super) fn kind_of(&self, place: Place) -> &str {
        self.file_systems
            .get(&place)
            .map_or("unknown", |(_, kind)| kind)
    }

    /// Whether the file's mount is visible to the process, or to iostrata. Remembers the type of its file system.
    fn is_listed(&mut self, place: Place, found: &Statx, tid: Tid) -> bool {
        let known = self.file_systems.entry(place).or_insert_with(|| {
            // A process whose root is below a mount does not see that mount.
            let kind = listed(place, &tid.to_string()).or_else(|| listed(place, "self"));
            kind.map_or_else(|| (false, unlisted(found)), |kind| (true, kind))
        });
        known.0
    }
}

fn listed(place: Place, process: &str) -> Option<String> {
    let table = std::fs::read(format!("/proc/{process}/mountinfo")).ok()?;
    let mounts = Mounts::parse(&table);
    Some(mounts.with_id(place.mount)?.kind.clone())
}

/// File systems that are mounted nowhere: the kernel's internal ones.
fn unlisted(found: &Statx) -> String {
    let kind = match FileKind::from_mode(u32::from(found.stx_mode)) {
        FileKind::Pipe => "pipefs",
        FileKind::Socket => "sockfs",
        FileKind::Anonymous => "anon_inodefs",
        FileKind::Regular => "tmpfs",
        _ => "unknown",
    };
    kind.to_owned()
}

/// Distinguishes eventfd, epoll, timers and the like, which share one inode (`fs/anon_inodes.c`),
/// by their name, as the kernel side does (`identify_anonymous`, `bpf/identity.h`).
fn kind_of_anonymous(shown: &[u8]) -> u32 {
    let Some(name) = shown.strip_prefix(b"anon_inode:") else {
        return 0;
    };
    // With the terminating NUL, for which a long name is shortened.
    let mut words = [0; 16];
    for (byte, letter) in words.iter_mut().take(15).zip(name) {
        *byte = *letter;
    }
    let words: Vec<u32> = words
        .chunks_exact(4)
        .filter_map(|word| Some(u32::from_ne_bytes(word.try_into().ok()?)))
        .collect();
    words.iter().fold(0, |sum, word| sum ^ word)
}

/// A file with its name at first use.
pub(super) fn named(fd: BorrowedFd<'_>, open: &Open, identifier: &Identifier) -> NamedFile {
    NamedFile {
        file: open.file,
        path: path_of(fd, open),
        kind: open.kind(),
        filesystem: identifier.kind_of(open.place).to_owned(),
        size_bytes: open.size_bytes,
        is_removed: open.is_unlinked,
        shown: (open.file.device, open.file.inode),
    }
}

/// The name shown by `/proc`; for a file without names, its last name.
pub(super) fn path_of(fd: BorrowedFd<'_>, open: &Open) -> Vec<u8> {
    let mut path = place::link(&format!("/proc/self/fd/{}", fd.as_raw_fd())).unwrap_or_default();
    // fs/d_path.c appends this to the path of a file whose names were all removed. A file that
    // never had a name in a file system keeps the kernel's.
    if open.is_unlinked && open.kind() != FileKind::Anonymous && path.ends_with(b" (deleted)") {
        path.truncate(path.len() - b" (deleted)".len());
    }
    path
}

/// Mappings through which stores can change a file, now or later. A range may be unmapped or
/// replaced before it is queried: `/proc/PID/maps` decides.
#[derive(Debug, Default)]
pub(super) struct Mappings {
    all: Vec<(u64, u64, Open)>,
}

impl Mappings {
    pub(super) fn add(&mut self, address: u64, bytes: u64, open: Open) {
        self.all
            .push((address, address.saturating_add(bytes), open));
    }

    /// The file whose pages lie in the range, shared and writable.
    pub(super) fn stored_to(&self, tid: Tid, address: u64, bytes: u64) -> Option<Open> {
        let to = address.saturating_add(bytes);
        self.all.iter().find(|one| overlap(one, address, to))?;
        // Names may be invalid UTF-8.
        let maps = std::fs::read(format!("/proc/{tid}/maps")).ok()?;
        let maps = String::from_utf8_lossy(&maps);
        let mut shared = maps.lines().filter_map(shared);
        let (.., inode) = shared.rfind(|(from, end, _)| *from < to && address < *end)?;
        // The latest one at this place: inode numbers are reused, and coincide in two subvolumes.
        let known = self.all.iter().rev();
        let mut known = known.filter(|(.., open)| open.file.inode == inode);
        let there = known.clone().find(|one| overlap(one, address, to));
        there.or_else(|| known.next()).map(|(.., open)| *open)
    }

    /// A range was remapped.
    pub(super) fn moved(&mut self, from: u64, to: u64, bytes: u64) {
        let found = self.all.iter().find(|one| overlap(one, from, from + 1));
        if let Some(open) = found.map(|(.., open)| *open) {
            self.add(to, bytes, open);
        }
    }
}

fn overlap((from, end, _): &(u64, u64, Open), address: u64, to: u64) -> bool {
    *from < to && address < *end
}

/// From a line of `/proc/PID/maps`: the start and end of a shared, writable mapping, and its inode.
pub(super) fn shared(line: &str) -> Option<(u64, u64, u64)> {
    let mut words = line.split_ascii_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    let permissions = words.next()?;
    let inode = words.nth(2)?.parse().ok().filter(|inode| *inode != 0)?;
    let is_it = permissions.get(1..2) == Some("w") && permissions.ends_with('s');
    let number = |digits| u64::from_str_radix(digits, 16).ok();
    is_it.then_some((number(from)?, number(to)?, inode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_writable_mapping_is_told_by_its_permissions() {
        let line = |permissions| {
            format!("7f0000001000-7f0000003000 {permissions} 00002000 fe:00 4711  /srv/a b")
        };
        let found = Some((0x7f00_0000_1000, 0x7f00_0000_3000, 4711));
        assert_eq!(shared(&line("rw-s")), found);
        assert_eq!(shared(&line("-w-s")), found);
        assert_eq!(shared(&line("r--s")), None);
        assert_eq!(shared(&line("rw-p")), None);
        assert_eq!(shared("7f00-7f01 rw-s 00000000 00:01 0"), None);
    }
}
