//! Where `--json` and the like write.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use iostrata_report::Json;
use rustix::fs::fstat;
use rustix::io::Errno;

use crate::error::Failure;
use crate::replacement::Replacement;
use crate::ui;
use iostrata_lab::place::{self, Found};

/// A destination that was checked to be writable before anything was measured.
///
/// A file appears whole or not at all: it gets its name when it is complete, and replaces
/// an older one in one step. Only what cannot be replaced is written in place: standard
/// output, an opened descriptor, a pipe, a device.
#[derive(Debug)]
pub(crate) struct Destination {
    path: PathBuf,
    to: To,
}

#[derive(Debug)]
pub(crate) enum To {
    /// For `-`.
    StandardOutput,
    /// Written to as it is.
    Opened(File),
    /// Replaced at the end.
    Replaced(Replacement),
}

impl To {
    /// Opens the destination; `-` is standard output.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self::StandardOutput);
        }
        let place = match place::find(path)? {
            Found::Directory(_) => return Err(Errno::ISDIR.into()),
            // It would overwrite the text.
            Found::Descriptor(file) if is_standard_output(&file)? => {
                return Ok(Self::StandardOutput);
            }
            Found::Descriptor(file) => return Ok(Self::Opened(file)),
            Found::Name(place) => place,
        };
        Ok(match place::special(&place)? {
            Some(file) => Self::Opened(file),
            None => Self::Replaced(Replacement::begin_at(place)?),
        })
    }

    /// Writes all that is made. A closed pipe is not an error.
    pub(crate) fn write_by(
        self,
        make: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let written = match self {
            Self::StandardOutput => ui::write_exactly(make),
            Self::Opened(mut file) => emptied(&file).and_then(|()| make(&mut file)),
            Self::Replaced(replacement) => {
                let written = make(&mut replacement.file());
                return written.and_then(|()| replacement.finish());
            }
        };
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }
}

impl Destination {
    /// That of `--json`, if it was given.
    pub(crate) fn open(path: Option<&Path>) -> Result<Option<Self>, Failure> {
        Self::open_for("--json", path)
    }

    /// Opens the file of an option, if that was given, or standard output for `-`.
    pub(crate) fn open_for(option: &str, path: Option<&Path>) -> Result<Option<Self>, Failure> {
        path.map(|path| Self::open_at(option, path)).transpose()
    }

    pub(crate) fn open_at(option: &str, path: &Path) -> Result<Self, Failure> {
        let to = To::open(path).map_err(|error| {
            Failure::Cannot(format!(
                "cannot write the result to {}: {error}; name a writable file with {option}",
                path.display()
            ))
        })?;
        let path = path.to_owned();
        Ok(Self { path, to })
    }

    pub(crate) fn is_standard_output(&self) -> bool {
        matches!(self.to, To::StandardOutput)
    }

    pub(crate) fn save(self, result: &str) -> Result<(), Failure> {
        self.save_by(|to| to.write_all(result.as_bytes()))
    }

    pub(crate) fn save_json(self, result: &impl Json) -> Result<(), Failure> {
        self.save_by(|to| result.write_json(to))
    }

    pub(crate) fn save_by(
        self,
        make: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let to = match self.to {
            To::StandardOutput => "standard output".to_owned(),
            _ => self.path.display().to_string(),
        };
        let written = self.to.write_by(make);
        written.map_err(|error| {
            let remedy = match error.kind() {
                io::ErrorKind::StorageFull => "; free space there, or name another file",
                _ => "",
            };
            Failure::Cannot(format!("cannot write the result to {to}: {error}{remedy}"))
        })
    }
}

/// Whether standard output goes to it.
fn is_standard_output(file: &File) -> io::Result<bool> {
    let (file, output) = (fstat(file)?, fstat(io::stdout())?);
    Ok((file.st_dev, file.st_ino) == (output.st_dev, output.st_ino))
}

/// Truncates a file; a pipe or a device has no length to set.
fn emptied(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_has_no_name_before_there_is_a_result() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("result.json");
        let destination = Destination::open_at("--json", &path).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        destination.save("{}\n").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"{}\n");
    }

    #[test]
    fn what_was_there_is_kept_until_a_result_replaces_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("result.json");
        fs::write(&path, "an older and longer result").unwrap();
        drop(Destination::open_at("--json", &path).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"an older and longer result");
        Destination::open_at("--json", &path)
            .unwrap()
            .save("{}\n")
            .unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"{}\n");
    }

    #[test]
    fn a_pipe_takes_a_result() {
        let (mut reader, writer) = io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writer));
        Destination::open_at("--json", path.as_ref())
            .unwrap()
            .save("{}\n")
            .unwrap();
        drop(writer);
        assert_eq!(io::read_to_string(&mut reader).unwrap(), "{}\n");
    }
}
