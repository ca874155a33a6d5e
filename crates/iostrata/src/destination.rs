//! Where `--json` and the like write.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;

use crate::error::Failure;
use crate::ui;

/// A place that was found writable before anything was measured.
///
/// A file that had to be made is removed again unless something was saved; one that was there
/// keeps its contents until then.
#[derive(Debug)]
pub(crate) struct Destination {
    path: PathBuf,
    /// `None` for standard output.
    file: Option<File>,
    made: bool,
}

impl Destination {
    /// Opens the file of `--json`, or standard output for `-`.
    pub(crate) fn open(path: PathBuf) -> Result<Self, Failure> {
        Self::open_for("--json", path)
    }

    /// Opens the file of an option, or standard output for `-`.
    pub(crate) fn open_for(option: &'static str, path: PathBuf) -> Result<Self, Failure> {
        if path.as_os_str() == "-" {
            return Ok(Self {
                path,
                file: None,
                made: false,
            });
        }
        let (file, made) = match OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (
                OpenOptions::new()
                    .write(true)
                    .create(true)
                    .truncate(false)
                    .open(&path),
                false,
            ),
            opened => (opened, true),
        };
        match file {
            Ok(file) => Ok(Self {
                path,
                file: Some(file),
                made,
            }),
            Err(error) => Err(Failure::Cannot(format!(
                "cannot write the result to {}: {error}; name a file that you may write with {option}",
                path.display()
            ))),
        }
    }

    /// Whether the result takes the place of the text.
    pub(crate) fn is_standard_output(&self) -> bool {
        self.file.is_none()
    }

    /// Writes the result.
    pub(crate) fn save(mut self, result: &str) -> Result<(), Failure> {
        let Some(mut file) = self.file.take() else {
            return ui::print(result);
        };
        // Of a file, what was in it; a pipe or a device has no length to set.
        let emptied = match file.metadata() {
            Ok(metadata) if metadata.is_file() => file.set_len(0),
            _ => Ok(()),
        };
        match emptied.and_then(|()| file.write_all(result.as_bytes())) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                let path = self.path.display();
                Err(Failure::Cannot(format!(
                    "cannot write the result to {path}: {error}"
                )))
            }
            _ => {
                self.made = false;
                Ok(())
            }
        }
    }
}

impl Drop for Destination {
    fn drop(&mut self) {
        if self.made {
            // Half a result is worth nothing, and the file is ours.
            drop(fs::remove_file(&self.path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_made_for_nothing_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("result.json");
        let destination = Destination::open(path.clone()).unwrap();
        assert!(path.exists());
        drop(destination);
        assert!(!path.exists());
    }

    #[test]
    fn what_was_there_is_kept_until_a_result_replaces_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("result.json");
        fs::write(&path, "an older and longer result").unwrap();
        drop(Destination::open(path.clone()).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"an older and longer result");
        Destination::open(path.clone())
            .unwrap()
            .save("{}\n")
            .unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"{}\n");
    }

    #[test]
    fn a_pipe_takes_a_result() {
        let (mut reader, writer) = io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writer));
        Destination::open(path.into())
            .unwrap()
            .save("{}\n")
            .unwrap();
        drop(writer);
        assert_eq!(io::read_to_string(&mut reader).unwrap(), "{}\n");
    }
}
