//! Inspects nodes without following links or blocking.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;

use iostrata_core::op::FileId;
use iostrata_core::record::{FileKind, Payload, Writer};
use rustix::fs::{
    AtFlags, Dir, Mode, OFlags, SeekFrom, Statx, StatxFlags, fgetxattr, flistxattr, openat, seek,
    statx,
};
use rustix::io::Errno;

use crate::identity::generation;
use crate::signals;

/// `XATTR_LIST_MAX`, `XATTR_SIZE_MAX` (include/uapi/linux/limits.h).
const LONGEST_ATTRIBUTE: usize = 1 << 16;

/// Identifies an inode by file system and number.
pub(super) type Place = (u32, u32, u64);

/// Values that change with a node: its length, and its modification and change times.
pub(super) type Version = (u64, (i64, u32), (i64, u32));

/// An extended attribute: name and value.
type Extended = (Vec<u8>, Vec<u8>);

pub(super) fn look(at: BorrowedFd<'_>, name: &[u8]) -> Result<Statx, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    statx(
        at,
        name,
        flags,
        StatxFlags::BASIC_STATS | StatxFlags::MNT_ID,
    )
}

pub(super) fn kind_of(is: &Statx) -> FileKind {
    FileKind::from_mode(u32::from(is.stx_mode))
}

/// `None` where the kernel does not report it (before Linux 5.8).
pub(super) fn mount_of(is: &Statx) -> Option<u64> {
    let said = StatxFlags::from_bits_retain(is.stx_mask).contains(StatxFlags::MNT_ID);
    said.then_some(is.stx_mnt_id)
}

pub(super) fn place_of(is: &Statx) -> Place {
    (is.stx_dev_major, is.stx_dev_minor, is.stx_ino)
}

pub(super) fn version_of(is: &Statx) -> Version {
    let (modified, changed) = (is.stx_mtime, is.stx_ctime);
    (
        is.stx_size,
        (modified.tv_sec, modified.tv_nsec),
        (changed.tv_sec, changed.tv_nsec),
    )
}

/// In the kernel side's form. Where the generation is unknown outside the kernel, nodes are found
/// by name and inode number.
pub(super) fn id_of(is: &Statx, opened: Option<BorrowedFd<'_>>) -> FileId {
    FileId {
        device: FileId::kernel_device(is.stx_dev_major, is.stx_dev_minor),
        inode: is.stx_ino,
        generation: opened.and_then(generation).unwrap_or(0),
    }
}

pub(super) fn open_directory(at: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
    open(at, name, OFlags::DIRECTORY)
}

/// Does not open a FIFO that has replaced it meanwhile: that would block.
pub(super) fn open_file(at: BorrowedFd<'_>, name: &[u8]) -> Result<File, Errno> {
    open(at, name, OFlags::NONBLOCK | OFlags::NOCTTY).map(File::from)
}

fn open(at: BorrowedFd<'_>, name: &[u8], more: OFlags) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | more;
    // Only the owner may use O_NOATIME (open(2)).
    openat(at, name, flags | OFlags::NOATIME, Mode::empty())
        .or_else(|_| openat(at, name, flags, Mode::empty()))
}

/// Sorted by their bytes, so that a limit is reached at the same file each time.
pub(super) fn names_in(directory: &OwnedFd) -> Result<Vec<Vec<u8>>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if !matches!(name.as_slice(), b"." | b"..") {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// All visible attributes with their values; none where the file system does not support them.
pub(super) fn extended(opened: BorrowedFd<'_>) -> Result<Vec<Extended>, Errno> {
    let mut names = vec![0; LONGEST_ATTRIBUTE];
    let bytes = match flistxattr(opened, names.as_mut_slice()) {
        Err(Errno::OPNOTSUPP) => return Ok(Vec::new()),
        listed => listed?,
    };
    let names = names.get(..bytes).unwrap_or_default();
    let mut all = Vec::new();
    for name in names
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
    {
        let mut value = vec![0; LONGEST_ATTRIBUTE];
        let bytes = fgetxattr(opened, name, value.as_mut_slice())?;
        value.truncate(bytes);
        all.push((name.to_vec(), value));
    }
    Ok(all)
}

const READ_BYTES: usize = 1 << 20;

/// Maximum bytes of one operation, so that it fits into a frame of the log however it is split.
const LONGEST: u64 = 1 << 30;

/// Ranges of data: their starts and ends.
pub(super) fn ranges(file: &File, size_bytes: u64) -> io::Result<Vec<(u64, u64)>> {
    let mut ranges = Vec::new();
    let mut at = 0;
    while at < size_bytes {
        let from = match seek(file, SeekFrom::Data(at)) {
            Ok(from) => from,
            // No data after this offset (lseek(2)).
            Err(Errno::NXIO) => break,
            Err(error) => return Err(error.into()),
        };
        let to = seek(file, SeekFrom::Hole(from))?.min(size_bytes);
        if to <= from {
            break;
        }
        let mut begin = from;
        while begin < to {
            let end = to.min(begin.saturating_add(LONGEST));
            ranges.push((begin, end));
            begin = end;
        }
        at = to;
    }
    Ok(ranges)
}

/// Stores a range. `Ok(None)` when the file could not be read completely; errors are of the log.
pub(super) fn store<W: Write>(
    file: &File,
    (from, to): (u64, u64),
    log: &mut Writer<W>,
) -> io::Result<Option<Payload>> {
    let mut payload = Payload::default();
    let mut buffer = vec![0; READ_BYTES];
    let mut at = from;
    while at < to {
        unless_asked_to_end()?;
        let left = usize::try_from(to - at).unwrap_or(READ_BYTES);
        let wanted = left.min(READ_BYTES);
        match file.read_at(&mut buffer[..wanted], at) {
            Ok(had @ 1..) => {
                log.store(&buffer[..had], &mut payload)?;
                at += had as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => return Ok(None),
        }
    }
    Ok(Some(payload))
}

/// Fails when a signal waits that this process has blocked.
pub(super) fn unless_asked_to_end() -> io::Result<()> {
    match signals::pending() {
        Some(_) => Err(io::ErrorKind::Interrupted.into()),
        None => Ok(()),
    }
}
