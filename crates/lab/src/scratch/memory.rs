//! A file system in memory, mounted in the scratch directory.

use std::io;
use std::path::{Path, PathBuf};

use iostrata_tracer::kernel::PrivateMounts;
use rustix::fs::{Mode, mkdirat};
use rustix::mount::{MountFlags, mount};

use super::directory::Scratch;
use super::error::{Leftover, ScratchError};
use super::image::unmount_patiently;

/// Name in options and results, and of the directory it is mounted at.
pub const TMPFS: &str = "tmpfs";

/// A tmpfs of our own, unmounted on drop.
#[derive(Debug)]
pub struct Tmpfs {
    path: PathBuf,
    mounted: bool,
}

impl Tmpfs {
    /// Mounts one for at most `bytes` at `scratch/tmpfs`.
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
        Ok(Self {
            path,
            mounted: true,
        })
    }

    /// Path of its root directory, as [`super::Image::path`].
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Unmounts now, as [`super::Image::close`] does.
    pub(super) fn close(mut self) -> Result<(), Leftover> {
        self.unmount()
    }

    fn unmount(&mut self) -> Result<(), Leftover> {
        if !std::mem::replace(&mut self.mounted, false) {
            return Ok(());
        }
        unmount_patiently(&self.path)
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        // Whoever wants to know calls `close`.
        drop(self.unmount());
    }
}
