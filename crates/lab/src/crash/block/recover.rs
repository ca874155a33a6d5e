//! Recovery of an image: it is mounted, which replays its journal or log.

use std::ffi::CStr;
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use iostrata_tracer::kernel::LoopDevice;
use rustix::mount::{MountFlags, mount};

use super::BlockError;
use super::foundation::{Room, WORK};
use crate::device::DiskImage;
use crate::scratch::{ImageKind, Mounted};

/// Where images are mounted, one after the other.
#[derive(Debug)]
pub struct MountPoint {
    path: PathBuf,
    kind: ImageKind,
}

impl MountPoint {
    /// One for images of a kind.
    ///
    /// # Errors
    /// When no directory can be made.
    pub fn new(room: &Room<'_>, kind: ImageKind) -> Result<Self, BlockError> {
        Ok(Self {
            path: room.place("recovered")?,
            kind,
        })
    }

    /// Mounts an image read-only. The device is writable, so the file system recovers: never with `noload` or
    /// `norecovery`, which would show what no user sees.
    ///
    /// # Errors
    /// When there is no loop device. A file system that refuses to mount is no error, but a result.
    pub fn recover(&self, image: &DiskImage) -> Result<Result<Recovery, io::Error>, BlockError> {
        let device = LoopDevice::attach(image.as_fd())?;
        let options: Option<&CStr> = match self.kind {
            // The original may have the same number.
            ImageKind::Xfs => Some(c"nouuid"),
            _ => None,
        };
        let filesystem = self.kind.filesystem();
        let mounted = mount(
            device.path(),
            &self.path,
            filesystem,
            MountFlags::RDONLY,
            options,
        );
        Ok(match mounted {
            Ok(()) => Ok(Recovery {
                work: self.path.join(WORK),
                _mounted: Mounted::at(self.path.clone()),
                _device: device,
            }),
            Err(errno) => Err(errno.into()),
        })
    }
}

/// A recovered image, unmounted when this ends.
#[derive(Debug)]
pub struct Recovery {
    work: PathBuf,
    // Dropped in this order.
    _mounted: Mounted,
    _device: LoopDevice,
}

impl Recovery {
    /// The program's directory in it.
    pub fn work(&self) -> &Path {
        &self.work
    }
}
