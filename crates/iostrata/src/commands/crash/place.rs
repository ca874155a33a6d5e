//! The copy that a program works in, and the log of it.

use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use super::cannot;
use crate::cli::Crash;
use crate::error::Failure;

/// Where everything is, in a directory that is removed at the end.
pub(super) struct Place {
    /// The copy that the program works in.
    pub(super) work: PathBuf,
    pub(super) log: PathBuf,
    pub(super) scratch: PathBuf,
}

impl Place {
    pub(super) fn prepare(options: &Crash, scratch: &Path) -> Result<Self, Failure> {
        let work = scratch.join("work");
        let meta = std::fs::metadata(&options.dir);
        let is_directory = meta.is_ok_and(|meta| meta.is_dir());
        if !is_directory {
            return Err(Failure::Usage(format!(
                "--dir {}: not a directory; name the one that holds the program's files",
                options.dir.display()
            )));
        }
        let copied = Command::new("cp")
            .args(["--archive", "--reflink=auto", "--no-target-directory", "--"])
            .args([&options.dir, &work])
            .stdin(Stdio::null())
            .output();
        let copied = copied.map_err(|error| cannot("copy the directory with cp", &error))?;
        if !copied.status.success() {
            let said = String::from_utf8_lossy(&copied.stderr);
            return Err(Failure::Cannot(format!(
                "cannot copy {}: {}",
                options.dir.display(),
                said.trim()
            )));
        }
        if let Some(init) = &options.init {
            let status = Command::new("/bin/sh")
                .args(["-c", init])
                .current_dir(&work)
                .status();
            succeeded(
                "--init",
                status.map_err(|error| cannot("run --init", &error))?,
            )?;
        }
        Ok(Self {
            work,
            log: scratch.join("log"),
            scratch: scratch.to_owned(),
        })
    }

    /// Runs the program under another process of iostrata, which writes the log. Gives what it printed.
    pub(super) fn record(&self, options: &Crash) -> Result<Vec<u8>, Failure> {
        let mut child = Command::new("/proc/self/exe")
            .args([
                "trace",
                "--purpose",
                "record",
                "--no-save",
                "--no-measure",
                "--record",
            ])
            .arg(&self.log)
            .arg("--record-before")
            .arg(&self.work)
            .arg("--")
            .args(&options.command)
            .current_dir(&self.work)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| cannot("run the program", &error))?;
        let printed = match child.stdout.take() {
            Some(pipe) => read_on(pipe, options.json.as_deref() != Some(Path::new("-"))),
            None => Ok(Vec::new()),
        };
        let status = child.wait();
        let status = status.map_err(|error| cannot("wait for the program", &error))?;
        let printed = printed.map_err(|error| cannot("read what the program prints", &error))?;
        if self.log.exists() {
            return Ok(printed);
        }
        // It has said why.
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        Err(Failure::Program {
            message: format!("the program did not run ({status}); nothing was explored"),
            code: code.unwrap_or(125),
        })
    }
}

/// Passes on what the program prints, and keeps it.
fn read_on(mut pipe: impl Read, passes_on: bool) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    let mut part = vec![0; 1 << 16];
    loop {
        let count = match pipe.read(&mut part) {
            Ok(0) => return Ok(all),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if passes_on {
            let mut output = io::stdout();
            output.write_all(&part[..count])?;
            output.flush()?;
        }
        all.extend_from_slice(&part[..count]);
    }
}

fn succeeded(what: &str, status: ExitStatus) -> Result<(), Failure> {
    if status.success() {
        return Ok(());
    }
    Err(Failure::Cannot(format!(
        "{what} ended with {status}; nothing was explored"
    )))
}
