//! A place where an experiment does its I/O.

use std::path::PathBuf;

use iostrata_core::environment;
use iostrata_core::gap::{Missing, Reason, TargetPart};
use iostrata_core::lab::MeasuredTarget;
use rustix::fs::{Access, access, statvfs};

use crate::error::LabError;

/// A directory to measure, and its storage.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Name in rows: `host`, `ext4`, `xfs` ...
    pub name: String,
    /// Directory for the experiment's files. It exists and is empty.
    pub dir: PathBuf,
    /// Whether the file system was created for this run, so that all its requests belong to the
    /// experiment.
    pub image: bool,
    /// Whether the image's file is itself in memory ([`crate::scratch::Image::backing_cached`]): a
    /// read that misses the page cache then still reads no disk. `false` without an image.
    pub backing_cached: bool,
    /// Disks (kernel `dev_t`) whose requests are this file system's traffic. Empty if there are
    /// none, or if they are unknown.
    pub disks: Vec<u32>,
    /// Block device of the file system, if it has one.
    pub device_path: Option<PathBuf>,
    pub storage: environment::Storage,
}

impl Target {
    /// The part that is stored in a result.
    pub fn measured(&self) -> MeasuredTarget {
        MeasuredTarget {
            name: self.name.clone(),
            image: self.image,
            storage: self.storage.clone(),
        }
    }

    /// A part of the result that is missing for it.
    pub(crate) fn part(&self, what: TargetPart) -> Missing {
        let target = self.name.clone();
        Missing::OnTarget { what, target }
    }

    /// Whether the file system is in memory, so that no device is expected.
    pub fn is_memory(&self) -> bool {
        matches!(self.storage.filesystem.as_str(), "tmpfs" | "ramfs")
    }

    /// Whether the pages and blocks of its files belong to files of an underlying file system.
    fn is_overlay(&self) -> bool {
        self.storage.filesystem == "overlay"
    }

    /// Why the page cache of its files is unknown; `None` if it is known.
    pub fn unknown_cache(&self) -> Option<Reason> {
        self.is_overlay().then_some(Reason::OverlayPasses)
    }

    /// Why its block requests cannot be attributed to it; `None` if they can.
    pub fn unchargeable(&self) -> Option<Reason> {
        if self.is_memory() {
            None
        } else if self.is_overlay() {
            Some(Reason::OverlayPasses)
        } else if self.disks.is_empty() {
            Some(Reason::DisksUnknown)
        } else {
            None
        }
    }
}

/// Fails before anything is written if a target is not writable, or has no room for `needed_bytes`.
pub(crate) fn check_room(targets: &[Target], needed_bytes: u64) -> Result<(), LabError> {
    for Target { dir, .. } in targets {
        access(dir, Access::WRITE_OK | Access::EXEC_OK).map_err(|errno| LabError::Denied {
            dir: dir.clone(),
            source: errno.into(),
        })?;
        let space = statvfs(dir)
            .map_err(|errno| LabError::io(format!("ask {} for its space", dir.display()), errno))?;
        let free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
        if free_bytes < needed_bytes {
            return Err(LabError::NoSpace {
                dir: dir.clone(),
                needed_bytes,
                free_bytes,
            });
        }
    }
    Ok(())
}
