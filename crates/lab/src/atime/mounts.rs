//! The mount options of a target: its own, and others on file systems created for the run.

use std::path::{Path, PathBuf};

use iostrata_core::atime::Mount;
use rustix::mount::{MountFlags, mount_remount};

use crate::error::LabError;
use crate::scratch::{mount_id, mount_line};
use crate::target::Target;

pub(super) fn current(dir: &Path) -> Result<Mount, LabError> {
    let line = mount_line(dir).map_err(|error| LabError::at("read the mount of", dir, error))?;
    let options = line.as_deref().and_then(options_of);
    options.map(Mount::from_options).ok_or_else(|| {
        let odd = std::io::Error::other(format!("/proc/thread-self/mountinfo says: {line:?}"));
        LabError::at("read the mount of", dir, odd)
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
    let id_of = |path: &Path| {
        mount_id(path).map_err(|error| LabError::at("look up the mount of", path, error))
    };
    let id = id_of(dir)?;
    let mut point = dir;
    for above in dir.ancestors().skip(1) {
        if id_of(above)? != id {
            break;
        }
        point = above;
    }
    Ok(point.to_owned())
}

/// Options of the mount and of its superblock, `proc_pid_mountinfo(5)`.
fn options_of(line: &str) -> Option<Vec<&str>> {
    let (mount, superblock) = line.split_once(" - ")?;
    let mount = mount.split(' ').nth(5)?.split(',');
    let superblock = superblock.split(' ').nth(2)?.split(',');
    Some(mount.chain(superblock).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_those_of_the_mount_and_the_superblock() {
        let line = "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard";
        assert_eq!(
            options_of(line),
            Some(vec!["rw", "relatime", "rw", "discard"])
        );
        let lazy = "271 27 7:0 / /x rw,nodiratime - ext4 /dev/loop0 rw,lazytime,data=ordered";
        assert_eq!(
            Mount::from_options(options_of(lazy).unwrap()),
            Mount::Lazytime
        );
        assert_eq!(options_of("27 1 254:0"), None);
    }

    #[test]
    fn the_mount_point_is_found_without_its_name() {
        let point = mount_point(Path::new("/proc/self/fd")).unwrap();
        assert_eq!(point, Path::new("/proc"));
        assert_eq!(mount_point(Path::new("/")).unwrap(), Path::new("/"));
    }
}
