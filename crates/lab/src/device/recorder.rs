//! A device that is recorded: from FUSE file system to loop device.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::Path;
use std::time::Duration;

use iostrata_tracer::kernel::{LoopDevice, LoopError, PrivateMounts};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};

use super::disk::DISK;
use super::image::DiskImage;
use super::log::{Cut, RequestLog};
use super::server::Server;
use crate::scratch::{Leftover, Mounted};

const FUSE: &str = "/dev/fuse";

#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    #[error("cannot open {FUSE}: {0}; block mode needs root and the kernel module `fuse`")]
    NoFuse(io::Error),
    #[error(transparent)]
    Loop(#[from] LoopError),
    #[error("cannot {doing}: {source}")]
    Io {
        doing: &'static str,
        source: io::Error,
    },
}

impl DeviceError {
    pub(crate) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}

/// A loop device whose requests are logged.
#[derive(Debug)]
pub struct Recorder {
    // Dropped in this order: the loop device has a file of the FUSE file system open.
    device: LoopDevice,
    fuse: Mounted,
    log: RequestLog,
}

impl Recorder {
    /// Serves `image` at the directory `at`, which exists, and attaches a loop device to it. The server writes to
    /// `image` itself.
    pub fn attach(
        server: &Server,
        image: &DiskImage,
        delay: Duration,
        at: &Path,
        _private: &PrivateMounts,
    ) -> Result<Self, DeviceError> {
        let log = RequestLog::new().map_err(DeviceError::io("make a log in memory"))?;
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let fuse =
            open(FUSE, flags, Mode::empty()).map_err(|errno| DeviceError::NoFuse(errno.into()))?;
        // The kernel takes the connection from the number of the descriptor (`fuse_fill_super`, fs/fuse/inode.c).
        let options = format!(
            "fd={},rootmode=40000,user_id=0,group_id=0",
            fuse.as_raw_fd()
        );
        let options = CString::new(options).map_err(io::Error::other);
        let options = options.map_err(DeviceError::io("mount FUSE"))?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount("iostrata", at, "fuse.iostrata", flags, options.as_c_str())
            .map_err(|errno| DeviceError::io("mount FUSE")(errno.into()))?;
        let mounted = Mounted::at(at.to_owned());
        server
            .serve(fuse.as_fd(), image, &log, delay)
            .map_err(DeviceError::io("reach the process that serves the device"))?;
        // From now on the connection ends with the server.
        drop(fuse);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(at.join(DISK));
        let file = file.map_err(DeviceError::io("open the served device"))?;
        let device = LoopDevice::attach(file.as_fd())?;
        Ok(Self {
            device,
            fuse: mounted,
            log,
        })
    }

    pub fn device(&self) -> &LoopDevice {
        &self.device
    }

    /// Detaches the device and unmounts FUSE, once the device's own file system is unmounted. Gives the log, and what
    /// could not be removed.
    pub fn close(self) -> (RequestLog, Option<Leftover>) {
        // The server has logged a request when it answers the next one, such as this.
        let opened = File::open(self.fuse.path().join(DISK));
        let cut = opened.err().map(|error| why(&error));
        drop(self.device);
        let left = self.fuse.close().err();
        let log = match cut {
            Some(cut) => self.log.cut(cut),
            None => self.log,
        };
        (log, left)
    }
}

/// Why it was not opened once more: the server says that it has a cut log, or is not there.
fn why(error: &io::Error) -> Cut {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::IO) => Cut::NoRoom,
        _ => Cut::NoServer,
    }
}
