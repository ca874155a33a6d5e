//! A file that takes another's place all at once, or not at all.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};

/// Contents without a name, so that nothing is left when this process is killed. Where the file
/// system cannot do that, they have a hidden name until they are complete.
#[derive(Debug)]
pub(crate) struct Replacement {
    path: PathBuf,
    file: File,
    /// The hidden name, while there is one.
    hidden: Option<Hidden>,
}

/// A name that is removed again.
#[derive(Debug)]
struct Hidden(PathBuf);

impl Drop for Hidden {
    fn drop(&mut self) {
        // It is not there any more once it has the right name.
        drop(fs::remove_file(&self.0));
    }
}

impl Replacement {
    /// Begins what is to become `path`.
    pub(crate) fn begin(path: &Path) -> io::Result<Self> {
        // What a symbolic link names is replaced, not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_not_there| path.to_owned());
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        if let Ok(file) = open(directory, flags, Mode::from_raw_mode(0o666)) {
            return Ok(Self {
                path,
                file: file.into(),
                hidden: None,
            });
        }
        let name = hidden(&path);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&name)?;
        Ok(Self {
            path,
            file,
            hidden: Some(Hidden(name)),
        })
    }

    /// Where the contents go.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Gives the contents their name.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        // Else a crash could leave an empty file where a complete one was.
        self.file.sync_all()?;
        let hidden = match self.hidden.take() {
            Some(hidden) => hidden,
            None => self.name()?,
        };
        fs::rename(&hidden.0, &self.path)
    }

    /// `open(2)` on `O_TMPFILE` says how a file without a name gets one.
    fn name(&self) -> io::Result<Hidden> {
        let hidden = hidden(&self.path);
        let descriptor = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        linkat(CWD, descriptor, CWD, &hidden, AtFlags::SYMLINK_FOLLOW)?;
        Ok(Hidden(hidden))
    }
}

/// A name beside `path` that no other process uses.
fn hidden(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}", std::process::id()));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_was_there_stays_until_the_end_and_nothing_else_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("metrics");
        fs::write(&path, "old").unwrap();
        let names = || fs::read_dir(dir.path()).unwrap().count();
        drop(Replacement::begin(&path).unwrap());
        let replacement = Replacement::begin(&path).unwrap();
        replacement.file().write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        replacement.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(), 1);
    }

    #[test]
    fn a_hidden_name_is_removed_when_the_end_is_not_reached() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("metrics");
        let replacement = Replacement::begin(&path).unwrap();
        let hidden = Replacement {
            hidden: Some(replacement.name().unwrap()),
            ..replacement
        };
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        drop(hidden);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_link_goes_on_naming_what_it_names() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let replacement = Replacement::begin(&link).unwrap();
        replacement.file().write_all(b"new").unwrap();
        replacement.finish().unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
    }

    #[test]
    fn a_directory_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Replacement::begin(dir.path()).is_err());
        assert!(Replacement::begin(&dir.path().join("none/metrics")).is_err());
    }
}
