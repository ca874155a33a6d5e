//! The location of the scratch file: on the file system of the file concerned.
//!
//! The kernel reported the path, so no symbolic link is in it. One that is there now was put there
//! by the owner of a directory on the path, and is not followed.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

use super::NotReplayed;
use crate::engine::observed_file;

/// The directory itself, or the nearest existing one above it, opened; on `device` if that is
/// known.
pub(super) fn find(
    directory: &Path,
    device: Option<u32>,
) -> Result<(PathBuf, OwnedFd), NotReplayed> {
    let name = || directory.display().to_string();
    for place in directory.ancestors().filter(|place| place.is_absolute()) {
        match open(place) {
            Ok(opened) => {
                let is_other = device.is_some_and(|device| !is_on(&opened, device));
                if is_other {
                    return Err(NotReplayed::OtherFileSystem(name()));
                }
                return Ok((place.to_owned(), opened));
            }
            Err(Errno::NOENT) if device.is_some() => {}
            Err(Errno::NOENT) => break,
            Err(errno) => return Err(refused(place, errno)),
        }
    }
    Err(NotReplayed::Gone(name()))
}

/// Opens an absolute path, beneath the root and through no link (openat2(2)).
fn open(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = openat(CWD, "/", flags, Mode::empty())?;
    let below = path.strip_prefix("/").unwrap_or(path);
    let below = if below.as_os_str().is_empty() {
        Path::new(".")
    } else {
        below
    };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    openat2(&root, below, flags, Mode::empty(), resolve)
}

fn is_on(opened: &OwnedFd, device: u32) -> bool {
    let path = format!("/proc/self/fd/{}", opened.as_raw_fd());
    observed_file(Path::new(&path)).is_ok_and(|found| found.device == device)
}

fn refused(place: &Path, errno: Errno) -> NotReplayed {
    let name = place.display();
    match errno {
        Errno::LOOP => NotReplayed::Refused(format!(
            "a symbolic link stands where {name} or a directory above it was"
        )),
        Errno::ACCESS | Errno::PERM => NotReplayed::Denied(name.to_string()),
        errno => {
            let error = std::io::Error::from(errno);
            NotReplayed::Refused(format!("cannot access {name}: {error}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_directory_on_the_same_file_system_is_found() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let device = observed_file(dir.path()).unwrap().device;
        let gone = dir.path().join("gone/deeper");
        let found = |path: &Path, device| find(path, device).unwrap().0;
        assert_eq!(found(dir.path(), Some(device)), dir.path());
        assert_eq!(found(&gone, Some(device)), dir.path());
        let refused = find(&gone, None).unwrap_err();
        assert!(matches!(refused, NotReplayed::Gone(_)), "{refused}");
    }

    #[test]
    fn a_link_that_was_put_there_is_not_followed() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let device = observed_file(dir.path()).unwrap().device;
        std::fs::create_dir(dir.path().join("real")).unwrap();
        std::fs::create_dir(dir.path().join("real/below")).unwrap();
        std::os::unix::fs::symlink("real", dir.path().join("link")).unwrap();
        for path in ["link", "link/below", "link/none"] {
            let refused = find(&dir.path().join(path), Some(device)).unwrap_err();
            assert!(
                refused.to_string().contains("a symbolic link stands"),
                "{refused}"
            );
        }
    }

    #[test]
    fn another_file_system_is_refused() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let proc = observed_file(Path::new("/proc")).unwrap().device;
        let found = find(&dir.path().join("gone"), Some(proc)).unwrap_err();
        assert!(matches!(found, NotReplayed::OtherFileSystem(_)), "{found}");
        let relative = find(Path::new("nowhere"), Some(proc)).unwrap_err();
        assert_eq!(relative, NotReplayed::Gone("nowhere".to_owned()));
    }
}
