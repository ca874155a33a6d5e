//! A file system in memory, mounted in the scratch directory.

use std::io;
use std::path::Path;

use iostrata_tracer::kernel::PrivateMounts;
use rustix::fs::{Mode, mkdirat};
use rustix::mount::{MountFlags, mount};

use super::directory::Scratch;
use super::error::{Leftover, ScratchError};
use super::mounted::Mounted;

/// Name in options and results, and of its mount point.
pub const TMPFS: &str = "tmpfs";

/// A tmpfs created for the run, unmounted on drop.
#[derive(Debug)]
pub struct Tmpfs {
    mount: Mounted,
}

impl Tmpfs {
    /// Mounts one with a limit of `bytes` at `scratch/tmpfs`.
    pub(super) fn mount(
        scratch: &Scratch,
        bytes: u64,
        _private: &PrivateMounts,
    ) -> Result<Self, ScratchError> {
        let path = scratch.place(TMPFS);
        mkdirat(scratch.as_fd(), TMPFS, Mode::RWXU)
            .map_err(|errno| ScratchError::io("make the directory", &path, errno))?;
        let data = std::ffi::CString::new(format!("size={bytes},mode=700"))
            .map_err(|error| ScratchError::io("mount", &path, io::Error::other(error)))?;
        mount("none", &path, TMPFS, MountFlags::empty(), data.as_c_str())
            .map_err(|errno| ScratchError::io("mount tmpfs at", &path, errno))?;
        let mount = Mounted::at(path);
        Ok(Self { mount })
    }

    /// Path of its root directory, as [`super::Image::path`].
    pub fn path(&self) -> &Path {
        self.mount.path()
    }

    /// Unmounts now, as [`super::Image::close`] does.
    pub(super) fn close(self) -> Result<(), Leftover> {
        self.mount.close()
    }
}
