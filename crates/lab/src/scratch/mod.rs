//! Where the lab may write: its own directory, and its own file systems.
//!
//! Nothing outlives the run. On a normal end, an error, a panic and a signal ([`crate::interrupt`])
//! the values here are dropped, which unmounts, detaches and removes. After SIGKILL the kernel does
//! the same for mounts (they live in a [private namespace](isolate)), loop devices (they release
//! themselves) and image files (they are unlinked before anything is written to them); the
//! [guard](Guard) removes the remaining directories, with the files of `host`. If the guard was
//! killed too, the next run in the same place removes them.

mod directory;
mod error;
mod guard;
mod image;
mod kind;
pub(crate) mod mkfs;
mod mounted;
mod removal;
mod verify;

use std::ffi::CString;
use std::io;
use std::path::{Path, PathBuf};

use iostrata_tracer::kernel::{PrivateMounts, private_mounts};
use rustix::mount::{MountFlags, mount};

pub(crate) use directory::check_room;
pub use directory::{RANDOM_NAME_BYTES, Scratch, is_random_name, random_name};
pub use error::{Leftover, ScratchError};
pub use guard::{Guard, guard_main};
pub use image::Image;
pub use kind::ImageKind;
pub use mkfs::find as find_mkfs;
pub(crate) use mounted::{Mounted, mount_id, mount_line};
pub(crate) use removal::remove_tree;

use crate::interrupt::Interrupt;

/// Besides the lock file and the mount points.
const HOST: &str = "host";

/// Name in options and results, and of its mount point.
pub const TMPFS: &str = "tmpfs";

/// Makes mounts private to this thread and to threads that it starts from now on.
///
/// Must be called before any thread is started. Fails with [`ScratchError::NeedsRoot`] without the
/// privilege.
pub fn isolate() -> Result<PrivateMounts, ScratchError> {
    private_mounts().map_err(|error| ScratchError::NeedsRoot {
        cause: format!("no mount namespace: {error}"),
    })
}

#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// The user's directory.
    pub dir: &'a Path,
    /// Whether this process enters the scratch directory, and leaves it when that is removed. All
    /// paths are then relative, and stay correct when a directory above is renamed. Only for
    /// programs with one thread: all threads share the working directory.
    pub enter: bool,
    /// Maximum bytes in the scratch directory itself at one time.
    pub host_bytes: u64,
    pub images: Option<Images<'a>>,
}

#[derive(Debug, Clone, Copy)]
pub struct Images<'a> {
    /// The kinds, in this order.
    pub kinds: &'a [ImageKind],
    /// Size of each; raised to [`ImageKind::minimum_bytes`].
    pub bytes: u64,
    /// From [`isolate`].
    pub mounts: &'a PrivateMounts,
}

#[derive(Debug)]
pub struct Prepared {
    host: PathBuf,
    // Dropped in this order: unmounted first.
    images: Vec<Image>,
    tmpfs: Option<Mounted>,
    scratch: Scratch,
}

impl Prepared {
    /// An empty directory on the user's own file system.
    pub fn host(&self) -> &Path {
        &self.host
    }

    /// The file systems, in the requested order.
    pub fn images(&self) -> &[Image] {
        &self.images
    }

    /// Mounts a tmpfs with a limit of `bytes` next to the images.
    pub fn add_tmpfs(&mut self, bytes: u64, _: &PrivateMounts) -> Result<(), ScratchError> {
        let path = self.scratch.make_directory(TMPFS)?;
        let data = CString::new(format!("size={bytes},mode=700"))
            .map_err(|error| ScratchError::io("mount", &path, io::Error::other(error)))?;
        mount("none", &path, TMPFS, MountFlags::empty(), data.as_c_str())
            .map_err(|errno| ScratchError::io("mount tmpfs at", &path, errno))?;
        self.tmpfs = Some(Mounted::at(path));
        Ok(())
    }

    /// The root directory of the tmpfs, if one was added.
    pub fn tmpfs(&self) -> Option<&Path> {
        self.tmpfs.as_ref().map(Mounted::path)
    }

    /// Removes everything now and returns what could not be removed.
    pub fn close(self) -> Vec<Leftover> {
        let images = self.images.into_iter().map(Image::close);
        let mut outcomes: Vec<_> = images.collect();
        outcomes.extend(self.tmpfs.map(Mounted::close));
        outcomes.push(self.scratch.close());
        outcomes.into_iter().filter_map(Result::err).collect()
    }
}

/// Creates the scratch directory and the file systems of `plan`, or nothing.
///
/// Space for all of it, plus 5 %, must be free, although image files take only what is written to
/// them.
pub fn prepare(
    plan: &Plan<'_>,
    mut guard: Option<&mut Guard>,
    interrupt: &Interrupt,
) -> Result<Prepared, ScratchError> {
    // Everything that can be checked is checked before anything is written.
    let mut bytes = plan.host_bytes;
    let mut to_make = Vec::new();
    if let Some(images) = plan.images {
        for &kind in images.kinds {
            let image_bytes = images.bytes.max(kind.minimum_bytes());
            bytes = bytes.saturating_add(image_bytes);
            to_make.push((kind, image_bytes, mkfs::find(kind)?));
        }
    }
    let mut scratch = Scratch::create_guarded(plan.dir, bytes, guard.as_deref_mut())?;
    if let Some(guard) = guard {
        scratch.hurry(guard, interrupt);
    }
    if plan.enter {
        scratch.enter()?;
    }
    let host = scratch.make_directory(HOST)?;
    let mut prepared = Prepared {
        host,
        images: Vec::new(),
        tmpfs: None,
        scratch,
    };
    // All are created before the first is mounted: mkfs.btrfs compares the device with the mounted
    // ones by the first line of their image's path, which may have several lines.
    let mut made = Vec::new();
    for (kind, image_bytes, mkfs) in to_make {
        interrupt.check()?;
        let scratch = &prepared.scratch;
        made.push((
            kind,
            Image::make(scratch, kind, image_bytes, &mkfs, interrupt)?,
        ));
    }
    for (kind, device) in made {
        interrupt.check()?;
        let image = Image::mount(&prepared.scratch, kind, device)?;
        prepared.images.push(image);
    }
    Ok(prepared)
}
