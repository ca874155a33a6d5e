//! Inspects nodes without following links or blocking.

use std::fs::File;
use std::os::fd::{BorrowedFd, OwnedFd};

use iostrata_core::op::FileId;
use iostrata_core::record::FileKind;
use rustix::fs::{
    AtFlags, Dir, Mode, OFlags, Statx, StatxFlags, fgetxattr, flistxattr, openat, statx,
};
use rustix::io::Errno;

use crate::identity::generation;

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
