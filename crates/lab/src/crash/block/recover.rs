//! Recovery of an image: it is mounted, which replays its journal or log.

use std::ffi::CStr;
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use iostrata_tracer::kernel::LoopDevice;
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};

use super::BlockError;
use super::foundation::WORK;
use crate::device::DiskImage;
use crate::scratch::{ImageKind, Mounted};

/// How long a file system may stay that was unmounted: a process may have had it open.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(1);

/// A place for one image after the other: a disk in memory, its device, and where it is mounted.
#[derive(Debug)]
pub(super) struct Bay {
    // Dropped in this order.
    device: LoopDevice,
    disk: DiskImage,
    path: PathBuf,
    kind: ImageKind,
}

impl Bay {
    /// One for images of a kind and size, to be mounted at a directory that exists.
    ///
    /// # Errors
    /// When there is no loop device.
    pub(super) fn new(path: PathBuf, kind: ImageKind, size_bytes: u64) -> Result<Self, BlockError> {
        let disk = DiskImage::new(size_bytes).map_err(BlockError::io("make a disk in memory"))?;
        Ok(Self {
            device: LoopDevice::attach(disk.as_fd())?,
            disk,
            path,
            kind,
        })
    }

    /// Whose disk may be changed now. It holds what the last recovery has left.
    ///
    /// # Errors
    /// When there is no loop device.
    pub(super) fn ready(&mut self) -> Result<Mountable<'_>, BlockError> {
        if !self.forget()? {
            // A mount would show the file system that is still there.
            let size_bytes = self.disk.size_bytes();
            *self = Self::new(self.path.clone(), self.kind, size_bytes)?;
        }
        Ok(Mountable(self))
    }

    /// The next mount finds on the device what is on the disk; not so if a file system still has it.
    fn forget(&self) -> Result<bool, BlockError> {
        let begun = Instant::now();
        loop {
            match self.device.forget() {
                Ok(()) => return Ok(true),
                Err(error) if error.raw_os_error() != Some(Errno::BUSY.raw_os_error()) => {
                    return Err(BlockError::io("empty the cache of a loop device")(error));
                }
                Err(_) if begun.elapsed() < PATIENCE => thread::sleep(PAUSE),
                Err(_) => return Ok(false),
            }
        }
    }
}

/// A bay without a mount.
#[derive(Debug)]
pub(super) struct Mountable<'b>(&'b Bay);

impl Mountable<'_> {
    /// Where the image is put.
    pub(super) fn disk(&self) -> &DiskImage {
        &self.0.disk
    }

    /// Mounts the image read-only. The device is writable, so the file system recovers: never with `noload` or
    /// `norecovery`, which would show what no user sees.
    ///
    /// # Errors
    /// When the mount fails for another reason than the image. A file system that refuses it is no error, but a result.
    pub(super) fn mount(self) -> Result<Result<Recovery, io::Error>, BlockError> {
        let bay = self.0;
        // Others may have read from the device while the image was made.
        if !bay.forget()? {
            let path = bay.device.path().display().to_string();
            return Err(BlockError::io(format!("mount {path}"))(Errno::BUSY));
        }
        let options: Option<&CStr> = match bay.kind {
            // Others have the same number.
            ImageKind::Xfs => Some(c"nouuid"),
            _ => None,
        };
        let (device, filesystem) = (bay.device.path(), bay.kind.filesystem());
        match mount(device, &bay.path, filesystem, MountFlags::RDONLY, options) {
            Ok(()) => Ok(Ok(Recovery {
                work: bay.path.join(WORK),
                _mounted: Mounted::at(bay.path.clone()),
            })),
            Err(errno) if OF_THE_MACHINE.contains(&errno) => {
                let path = device.display();
                Err(BlockError::io(format!("mount {path}"))(errno))
            }
            Err(errno) => Ok(Err(errno.into())),
        }
    }
}

/// Why a mount fails whatever is on the disk.
const OF_THE_MACHINE: [Errno; 6] = [
    Errno::BUSY,
    Errno::INTR,
    Errno::MFILE,
    Errno::NFILE,
    Errno::NOMEM,
    Errno::PERM,
];

/// A recovered image, unmounted when this ends.
#[derive(Debug)]
pub(super) struct Recovery {
    work: PathBuf,
    _mounted: Mounted,
}

impl Recovery {
    /// The program's directory in it.
    pub(super) fn work(&self) -> &Path {
        &self.work
    }
}
