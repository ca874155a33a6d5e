//! Finds the program as a shell would.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::StartError;

/// The value of `PATH` when it is not set (`_PATH_DEFPATH`, paths.h).
const DEFAULT: &str = "/usr/bin:/bin";

/// The executable for `name`: the path itself when it contains a slash, otherwise the first
/// executable file with that name in `path` (the value of `PATH`).
///
/// Looking it up before the program is observed keeps the failed attempts of
/// `execvp(3)` out of its counts.
pub(crate) fn find(name: &OsStr, path: Option<OsString>) -> Result<PathBuf, StartError> {
    if name.as_bytes().contains(&b'/') {
        let file = PathBuf::from(name);
        return check(&file).map(|()| file.clone()).map_err(|source| {
            if source.kind() == io::ErrorKind::NotFound {
                StartError::NotFound {
                    program: name.to_owned(),
                }
            } else {
                StartError::NotExecutable { path: file, source }
            }
        });
    }
    let path = path.unwrap_or_else(|| DEFAULT.into());
    let mut refused = None;
    for directory in std::env::split_paths(&path) {
        // An empty entry is the working directory (POSIX, Base Definitions 8.3).
        let directory = if directory.as_os_str().is_empty() {
            Path::new(".").to_owned()
        } else {
            directory
        };
        let file = directory.join(name);
        match check(&file) {
            Ok(()) => return Ok(file),
            Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
                refused.get_or_insert(StartError::NotExecutable { path: file, source });
            }
            Err(_) => {}
        }
    }
    Err(refused.unwrap_or_else(|| StartError::NotFound {
        program: name.to_owned(),
    }))
}

/// Whether the file may be executed. A directory may be "executed" too, but not run.
fn check(file: &Path) -> io::Result<()> {
    if std::fs::metadata(file)?.is_dir() {
        return Err(io::Error::from(io::ErrorKind::PermissionDenied));
    }
    Ok(access(file, Access::EXEC_OK)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn the_first_executable_file_on_the_path_is_meant() {
        let dir = tempfile::tempdir().unwrap();
        let in_dir = |name: &str| dir.path().join(name);
        for (place, mode) in [("a", 0o644), ("b", 0o755), ("c", 0o755)] {
            std::fs::create_dir(in_dir(place)).unwrap();
            let file = in_dir(place).join("tool");
            std::fs::write(&file, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let path = std::env::join_paths(["a", "b", "c"].map(in_dir)).unwrap();
        let found = find(OsStr::new("tool"), Some(path)).unwrap();
        assert_eq!(found, in_dir("b").join("tool"));
        let only = find(OsStr::new("tool"), Some(in_dir("a").into()));
        assert!(matches!(only, Err(StartError::NotExecutable { .. })));
        let none = find(OsStr::new("other"), Some(in_dir("a").into()));
        assert!(matches!(none, Err(StartError::NotFound { .. })));
        let directory = find(in_dir("a").as_os_str(), None);
        assert!(matches!(directory, Err(StartError::NotExecutable { .. })));
    }
}
