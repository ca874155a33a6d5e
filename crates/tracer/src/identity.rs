//! The identity of a file in the kernel's own structures.
#![expect(unsafe_code, reason = "FS_IOC_GETVERSION is wrapped by no library")]

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::path::Path;

use iostrata_core::FileId;
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

/// A device and an inode number: [`observed_file`] and [`kernel_file`] define which device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KernelFile {
    /// In the kernel's encoding.
    pub device: u32,
    pub inode: u64,
}

/// Looks `path` up as observers count it: by `st_dev`, which distinguishes the subvolumes of btrfs.
///
/// Observers charge a file of overlayfs to the layer that holds it, of which `stat(2)` reports only
/// the inode number.
pub fn observed_file(path: &Path) -> io::Result<KernelFile> {
    let seen = statx(CWD, path, AtFlags::empty(), StatxFlags::INO)?;
    Ok(KernelFile {
        device: FileId::kernel_device(seen.stx_dev_major, seen.stx_dev_minor),
        inode: seen.stx_ino,
    })
}

/// `st_dev` of an open file.
pub(crate) fn device_of(file: impl AsFd) -> io::Result<u32> {
    let seen = statx(&file, c"", AtFlags::EMPTY_PATH, StatxFlags::empty())?;
    let (major, minor) = (seen.stx_dev_major, seen.stx_dev_minor);
    Ok(FileId::kernel_device(major, minor))
}

/// Looks `path` up as `/proc/PID/maps` shows it.
///
/// The device is that of its mount, not `st_dev`: btrfs gives every subvolume an
/// `st_dev` of its own (`btrfs_getattr`), while `/proc/PID/mountinfo` shows the
/// superblock's (`show_mountinfo` in `fs/proc_namespace.c`).
pub fn kernel_file(path: &Path) -> io::Result<KernelFile> {
    let seen = statx(
        CWD,
        path,
        AtFlags::empty(),
        StatxFlags::INO | StatxFlags::MNT_ID,
    )?;
    // The thread's own, since a private mount namespace belongs to one thread.
    let mounts = fs::read("/proc/thread-self/mountinfo")?;
    // Mount points are bytes; the fields read here come before them.
    let from_mount = superblock_device(&String::from_utf8_lossy(&mounts), seen.stx_mnt_id);
    let device =
        from_mount.unwrap_or_else(|| FileId::kernel_device(seen.stx_dev_major, seen.stx_dev_minor));
    Ok(KernelFile {
        device,
        inode: seen.stx_ino,
    })
}

/// The third field, `major:minor`, of the line that starts with the mount's id.
fn superblock_device(mountinfo: &str, mount: u64) -> Option<u32> {
    let line = mountinfo
        .lines()
        .find(|line| line.split(' ').next().and_then(|id| id.parse().ok()) == Some(mount))?;
    let (major, minor) = line.split(' ').nth(2)?.split_once(':')?;
    Some(FileId::kernel_device(
        major.parse().ok()?,
        minor.parse().ok()?,
    ))
}

/// Whether an open file is the one that an observer counted: its path may now lead to another.
///
/// Always false on overlayfs, whose files are counted as files of a layer.
pub(crate) fn is_observed(file: impl AsFd, counted: FileId) -> bool {
    let Ok(found) = statx(&file, c"", AtFlags::EMPTY_PATH, StatxFlags::INO) else {
        return false;
    };
    let device = FileId::kernel_device(found.stx_dev_major, found.stx_dev_minor);
    let same_life = generation(file.as_fd()).is_none_or(|life| life == counted.generation);
    (device, found.stx_ino) == (counted.device, counted.inode) && same_life
}

/// `_IOR('v', 1, long)` where a long has 8 bytes.
const FS_IOC_GETVERSION: libc::c_ulong = 0x8008_7601;

/// The generation of a file's inode number (`FS_IOC_GETVERSION`, `include/uapi/linux/fs.h`). The
/// request's number says long, but the kernel stores an int.
pub(crate) fn generation(fd: BorrowedFd<'_>) -> Option<u32> {
    let mut generation: libc::c_long = 0;
    // SAFETY: the kernel stores at most a long at the address of a live long.
    let outcome = unsafe { libc::ioctl(fd.as_raw_fd(), FS_IOC_GETVERSION, &raw mut generation) };
    let bytes = generation.to_ne_bytes();
    let low = bytes.first_chunk().map(|low| u32::from_ne_bytes(*low));
    low.filter(|_| outcome == 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn the_mounts_device_is_found_by_its_id() {
        let mounts = "21 1 254:0 / / rw - ext4 /dev/vda rw\n\
            212 21 0:39 /@home /home rw - btrfs /dev/vdb rw,subvol=/@home\n";
        assert_eq!(superblock_device(mounts, 212), Some(39));
        assert_eq!(superblock_device(mounts, 21), Some(254 << 20));
        assert_eq!(superblock_device(mounts, 2), None);
    }

    #[test]
    fn an_ordinary_file_has_its_stat_device() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = dir.path().join("f");
        fs::write(&path, "x").unwrap();
        let stat = fs::metadata(&path).unwrap();
        let (major, minor) = (rustix::fs::major(stat.dev()), rustix::fs::minor(stat.dev()));
        let expected = KernelFile {
            device: FileId::kernel_device(major, minor),
            inode: stat.ino(),
        };
        assert_eq!(kernel_file(&path).unwrap(), expected);
        assert!(kernel_file(&dir.path().join("absent")).is_err());
    }
}
