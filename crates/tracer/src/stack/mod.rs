//! The storage under a path, from the file system down to the device.
//!
//! Mounts come from `/proc/thread-self/mountinfo`, block devices from sysfs. Nothing is opened for
//! writing, and no device is opened at all.

mod block;
mod journal;
mod mounted;
pub(crate) mod mountinfo;
mod overlay;
mod walk;

#[cfg(test)]
mod fixtures;

use std::io;
use std::path::{Path, PathBuf};

use iostrata_core::FileId;
use iostrata_core::doctor::{DeviceNumber, Stack};
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

pub(crate) use block::served;
pub(crate) use mounted::{Mounted, mounted};
use mountinfo::Mounts;
use walk::Walk;

/// The locations of the kernel's files, different from the usual ones only in tests.
#[derive(Debug, Clone)]
pub struct Roots {
    pub proc: PathBuf,
    pub sys: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self {
            proc: PathBuf::from("/proc"),
            sys: PathBuf::from("/sys"),
        }
    }
}

impl Roots {
    /// A file's text without surrounding white space; `None` when it does not exist or is not
    /// readable. Everything read this way is optional.
    pub(crate) fn read(path: &Path) -> Option<String> {
        let text = std::fs::read(path).ok()?;
        Some(String::from_utf8_lossy(&text).trim().to_owned())
    }

    /// As [`Roots::read`], a decimal number.
    pub(crate) fn read_number(path: &Path) -> Option<u64> {
        Self::read(path)?.parse().ok()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StackError {
    #[error("cannot access {}: {source}; name an existing file or directory that you can reach", path.display())]
    Path { path: PathBuf, source: io::Error },
    #[error("cannot read {}: {source}; mount /proc", table.display())]
    MountTable { table: PathBuf, source: io::Error },
    #[error("{} is on a mount that /proc/thread-self/mountinfo does not list: it is outside this \
             process's root directory; run iostrata in the mount namespace and root that mounted \
             it", path.display())]
    NotListed { path: PathBuf },
}

/// The layers under `path`, which must exist. Symbolic links are followed.
pub fn inspect(path: &Path, roots: &Roots) -> Result<Stack, StackError> {
    let failed = |source| StackError::Path {
        path: path.to_owned(),
        source,
    };
    let real = std::fs::canonicalize(path).map_err(failed)?;
    let mounts = Mounts::read(roots)?;
    let mount = mounts
        .holding(&real, mount_id(&real))
        .ok_or_else(|| StackError::NotListed {
            path: path.to_owned(),
        })?;
    Ok(Walk::new(roots, &mounts).layers_under(mount))
}

/// The layers under the file system with this number (`s_dev`). A file system mounted in another
/// namespace is identified by its block device; `None` when it has none.
pub fn under(device: u32, roots: &Roots) -> Option<Stack> {
    let (major, minor) = FileId::device_numbers(device);
    let number = DeviceNumber { major, minor };
    let mounts = Mounts::read(roots).ok()?;
    let walk = Walk::new(roots, &mounts);
    match mounts.of_device(number) {
        Some(mount) => Some(walk.layers_under(mount)),
        None => Some(walk.layers_of(&block::by_number(roots, number)?)),
    }
}

/// Which attachment of a disk's number this is (`diskseq`, since Linux 5.15); `None` for a disk that is
/// not there.
pub fn attachment(disk: u32, roots: &Roots) -> Option<u64> {
    let (major, minor) = FileId::device_numbers(disk);
    let path = roots.sys.join(format!("dev/block/{major}:{minor}/diskseq"));
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Id of the mount that holds `path`, as `mountinfo` shows it; `None` before Linux 5.8, or when
/// `path` does not exist. Two paths with the same prefix can be on different mounts when one is
/// mounted over the other: only the id shows this.
fn mount_id(path: &Path) -> Option<u64> {
    let found = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
    let told = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::MNT_ID);
    told.then_some(found.stx_mnt_id)
}
