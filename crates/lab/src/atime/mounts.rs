//! The mount options of a target: its own, and others on file systems created for the run.

use std::fs;
use std::path::{Path, PathBuf};

use iostrata_core::atime::Mount;
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use rustix::mount::{MountFlags, mount_remount};

use crate::error::LabError;
use crate::target::Target;

pub(super) fn current(dir: &Path) -> Result<Mount, LabError> {
    let id = mount_id(dir)?;
    // The thread's own: other threads may live in another namespace.
    let mounts = fs::read("/proc/thread-self/mountinfo")
        .map_err(|error| LabError::at("read the mounts of", dir, error))?;
    let mounts = String::from_utf8_lossy(&mounts);
    options_of(&mounts, id)
        .map(Mount::from_options)
        .ok_or_else(|| {
            let missing =
                std::io::Error::other(format!("mount {id} is not in /proc/thread-self/mountinfo"));
            LabError::at("read the mount of", dir, missing)
        })
}

/// Remounts one of our own file systems with the option, and reads it back: measurements under a
/// label must have that option.
pub(super) fn remount(target: &Target, mount: Mount) -> Result<(), LabError> {
    debug_assert!(target.image, "the user's file systems are not remounted");
    let doing = || format!("mount {} with {}", target.name, mount.as_str());
    let point = mount_point(&target.dir)?;
    mount_remount(&point, flags(mount), "").map_err(|errno| LabError::io(doing(), errno))?;
    let found = current(&target.dir)?;
    if found == mount {
        return Ok(());
    }
    let found = std::io::Error::other(format!("the kernel shows {}", found.as_str()));
    Err(LabError::io(doing(), found))
}

/// `path_mount` in fs/namespace.c adds relatime unless another of these is given, and keeps the old
/// one when none is. Superblock options (lazytime) that are not given are cleared.
fn flags(mount: Mount) -> MountFlags {
    match mount {
        Mount::Strictatime => MountFlags::STRICTATIME,
        Mount::Relatime => MountFlags::RELATIME,
        Mount::Noatime => MountFlags::NOATIME,
        Mount::Nodiratime => MountFlags::NODIRATIME | MountFlags::RELATIME,
        Mount::Lazytime => MountFlags::LAZYTIME | MountFlags::RELATIME,
    }
}

/// The highest directory above `dir` that is on the same mount.
fn mount_point(dir: &Path) -> Result<PathBuf, LabError> {
    let id = mount_id(dir)?;
    let mut point = dir;
    for above in dir.ancestors().skip(1) {
        if mount_id(above)? != id {
            break;
        }
        point = above;
    }
    Ok(point.to_owned())
}

fn mount_id(path: &Path) -> Result<u64, LabError> {
    statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::MNT_ID)
        .map(|seen| seen.stx_mnt_id)
        .map_err(|errno| LabError::at("look up the mount of", path, errno))
}

/// Options of the mount and of its superblock, `proc_pid_mountinfo(5)`.
fn options_of(mountinfo: &str, id: u64) -> Option<Vec<&str>> {
    let line = mountinfo
        .lines()
        .find(|line| line.split(' ').next().and_then(|id| id.parse().ok()) == Some(id))?;
    let (mount, superblock) = line.split_once(" - ")?;
    let mount = mount.split(' ').nth(5)?.split(',');
    Some(
        mount
            .chain(superblock.split(' ').nth(2)?.split(','))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_those_of_the_mount_and_the_superblock() {
        let table = "\
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
271 27 7:0 / /x rw,nodiratime - ext4 /dev/loop0 rw,lazytime,data=ordered
";
        assert_eq!(
            options_of(table, 27),
            Some(vec!["rw", "relatime", "rw", "discard"])
        );
        let lazy = options_of(table, 271).unwrap();
        assert_eq!(Mount::from_options(lazy), Mount::Lazytime);
        assert_eq!(options_of(table, 2), None);
    }

    #[test]
    fn the_mount_point_is_found_without_its_name() {
        let point = mount_point(Path::new("/proc/self/fd")).unwrap();
        assert_eq!(point, Path::new("/proc"));
        assert_eq!(mount_point(Path::new("/")).unwrap(), Path::new("/"));
    }
}
