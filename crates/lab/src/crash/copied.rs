//! Copies of directories, with everything that a program could ask for.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;
use std::process::{Command, Stdio};

use iostrata_core::noun::counted;
use rustix::fs::{MemfdFlags, memfd_create};

use crate::engine::run_to_end;
use crate::interrupt::{Interrupt, Interrupted};

#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error("cannot run cp: {0}; install it (Debian package coreutils)")]
    Run(#[from] io::Error),
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    #[error("cannot copy {from}: {said}")]
    Failed {
        from: String,
        /// What `cp` said first.
        said: String,
    },
}

/// Copies a directory to a path that does not exist: names, contents, links, modes, owners, times, extended
/// attributes.
pub fn copy_directory(from: &Path, to: &Path, interrupt: &Interrupt) -> Result<(), CopyError> {
    let mut command = Command::new("cp");
    command
        .args(["--archive", "--reflink=auto", "--no-target-directory", "--"])
        .args([from, to])
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    // A file, not a pipe: nothing has to read while the program runs.
    let said = memfd_create("cp", MemfdFlags::CLOEXEC).map_err(io::Error::from)?;
    let mut said = File::from(said);
    command.stderr(said.try_clone()?);
    if run_to_end(&mut command, interrupt)??.success() {
        return Ok(());
    }
    let mut text = Vec::new();
    said.rewind()?;
    said.read_to_end(&mut text)?;
    Err(CopyError::Failed {
        from: from.display().to_string(),
        said: shortened(&String::from_utf8_lossy(&text)),
    })
}

/// The first line, and how many there are more: `cp` has one for each file.
fn shortened(said: &str) -> String {
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines
        .next()
        .unwrap_or("cp failed without a word")
        .to_owned();
    match lines.count() {
        0 => first,
        more => format!("{first} (and {})", counted(more as u64, "more line")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn all_that_cannot_be_copied_is_one_line() {
        assert_eq!(shortened("cp: no\n"), "cp: no");
        assert_eq!(
            shortened("cp: no\ncp: nor this\n\ncp: nor that\n"),
            "cp: no (and 2 more lines)"
        );
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir(&from).unwrap();
        fs::write(from.join("file"), "text").unwrap();
        let never = Interrupt::never();
        copy_directory(&from, &to, &never).unwrap();
        assert_eq!(fs::read_to_string(to.join("file")).unwrap(), "text");
        let missing = copy_directory(&dir.path().join("missing"), &to, &never);
        let said = missing.unwrap_err().to_string();
        assert!(said.ends_with("No such file or directory"), "{said}");
    }
}
