//! Where the scratch file may be: on the file system of the file concerned.

use std::io;
use std::path::{Path, PathBuf};

use super::NotReplayed;
use crate::engine::observed_file;

/// The directory itself, or the nearest above it that is still there; on `device` if that
/// is known.
pub(super) fn find(directory: &Path, device: Option<u32>) -> Result<PathBuf, NotReplayed> {
    let name = || directory.display().to_string();
    let Some(device) = device else {
        return Ok(directory.to_owned());
    };
    for place in directory.ancestors().filter(|place| place.is_absolute()) {
        match observed_file(place) {
            Ok(found) if found.device == device => return Ok(place.to_owned()),
            Ok(_) => return Err(NotReplayed::OtherFileSystem(name())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let reason = format!("cannot look at {}: {error}", place.display());
                return Err(NotReplayed::Refused(reason));
            }
        }
    }
    Err(NotReplayed::Gone(name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_directory_on_the_same_file_system_is_found() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let device = observed_file(dir.path()).unwrap().device;
        let gone = dir.path().join("gone/deeper");
        assert_eq!(find(dir.path(), Some(device)).unwrap(), dir.path());
        assert_eq!(find(&gone, Some(device)).unwrap(), dir.path());
        assert_eq!(find(&gone, None).unwrap(), gone, "taken as it is");
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
