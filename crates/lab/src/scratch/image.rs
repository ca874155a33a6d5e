//! A file system created for the run, mounted in the scratch directory.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use iostrata_tracer::kernel::LoopDevice;
use rustix::fs::{AtFlags, FsWord, Mode, OFlags, fstatfs, fstatvfs, ftruncate, openat, unlinkat};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};

use super::directory::{Scratch, no_space};
use super::error::{Leftover, ScratchError};
use super::kind::ImageKind;
use super::mounted::Mounted;
use super::{mkfs, verify};
use crate::interrupt::Interrupt;

/// Less free space than this after a failed mkfs means that the disk is full. The message of mkfs
/// does not show it: when it writes to a loop device on a full disk it prints "Input/output error"
/// (ext4), "No space left on device" (xfs) or "Operation not permitted" (btrfs).
const FULL_BYTES: u64 = 256 << 10;

/// `include/uapi/linux/magic.h`.
const TMPFS_MAGIC: FsWord = 0x0102_1994;

/// A fresh file system with 4096-byte blocks on a loop device of its own.
///
/// Unmounted and released on drop, before its [`Scratch`] directory can be removed.
#[derive(Debug)]
pub struct Image {
    kind: ImageKind,
    mount: Mounted,
    device: LoopDevice,
    backing_cached: bool,
}

impl Image {
    /// Creates a file system of `bytes` on a loop device.
    ///
    /// The image file is unlinked before anything is written to it, so that nothing of it remains
    /// when the process is killed.
    pub(super) fn make(
        scratch: &Scratch,
        kind: ImageKind,
        bytes: u64,
        mkfs: &Path,
        interrupt: &Interrupt,
    ) -> Result<LoopDevice, ScratchError> {
        let device = LoopDevice::attach(nameless_file(scratch, kind, bytes)?.as_fd())?;
        mkfs::run(kind, &[], mkfs, device.path(), interrupt)
            .map_err(|error| because_full(error, scratch, bytes))?;
        Ok(device)
    }

    /// Mounts the file system at `scratch/<name of kind>` and verifies it.
    pub(super) fn mount(
        scratch: &Scratch,
        kind: ImageKind,
        device: LoopDevice,
    ) -> Result<Self, ScratchError> {
        let path = scratch.make_directory(kind.name())?;
        let backing_cached = !device.direct_io() || is_in_memory(scratch)?;
        let (from, filesystem, data) = (device.path(), kind.filesystem(), kind.mount_data());
        mount(from, &path, filesystem, MountFlags::empty(), data)
            .map_err(|errno| mount_error(errno, kind, from))?;
        let image = Self {
            kind,
            mount: Mounted::at(path),
            device,
            backing_cached,
        };
        // On failure the image is dropped, which unmounts it.
        verify::verify(&image)?;
        Ok(image)
    }

    pub fn kind(&self) -> ImageKind {
        self.kind
    }

    /// Path of its root directory: absolute, or relative to the working directory
    /// ([`super::Plan::enter`]).
    pub fn path(&self) -> &Path {
        self.mount.path()
    }

    pub fn device(&self) -> &LoopDevice {
        &self.device
    }

    /// Whether the image file itself is in memory: through the page cache of the underlying file
    /// system, or because that is a tmpfs. Then a read that misses the page cache and goes to the
    /// loop device is served from memory.
    pub fn backing_cached(&self) -> bool {
        self.backing_cached
    }

    /// Unmounts now. A mount that stays busy is detached and named in the error: the kernel ends it
    /// when its last user is gone.
    pub fn close(self) -> Result<(), Leftover> {
        self.mount.close()
    }
}

/// An unlinked sparse file, readable by this user only.
fn nameless_file(scratch: &Scratch, kind: ImageKind, bytes: u64) -> Result<OwnedFd, ScratchError> {
    let name = format!("{kind}.img");
    let error = |errno| match errno {
        Errno::NOSPC | Errno::DQUOT => no_space(scratch.as_fd(), scratch.path(), bytes),
        errno => ScratchError::io("make the image file", &scratch.path().join(&name), errno),
    };
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(scratch.as_fd(), &name, flags, Mode::RUSR | Mode::WUSR).map_err(error)?;
    unlinkat(scratch.as_fd(), &name, AtFlags::empty()).map_err(error)?;
    ftruncate(&file, bytes).map_err(error)?;
    Ok(file)
}

/// tmpfs accepts direct I/O, but has nothing below its page cache.
fn is_in_memory(scratch: &Scratch) -> Result<bool, ScratchError> {
    let host = fstatfs(scratch.as_fd())
        .map_err(|errno| ScratchError::io("examine", scratch.path(), errno))?;
    Ok(host.f_type == TMPFS_MAGIC)
}

fn because_full(error: ScratchError, scratch: &Scratch, bytes: u64) -> ScratchError {
    let ScratchError::MkfsFailed { .. } = error else {
        return error;
    };
    match fstatvfs(scratch.as_fd()) {
        Ok(host) if host.f_bfree.saturating_mul(host.f_frsize) < FULL_BYTES => {
            no_space(scratch.as_fd(), scratch.path(), bytes)
        }
        _ => error,
    }
}

pub(super) fn mount_error(errno: Errno, kind: ImageKind, device: &Path) -> ScratchError {
    match errno {
        Errno::NODEV => ScratchError::NoFileSystem {
            kind,
            filesystem: kind.filesystem(),
        },
        Errno::PERM | Errno::ACCESS => ScratchError::NeedsRoot {
            cause: format!("mount refused: {}", io::Error::from(errno)),
        },
        errno => ScratchError::MountFailed {
            kind,
            device: device.to_owned(),
            source: errno.into(),
        },
    }
}
