//! `cp`, the program that users would run.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use iostrata_core::copy::Case;
use iostrata_tracer::kernel::die_with_parent;

use super::sync_path;
use crate::engine::{Failure, FailureKind};

/// Starts `cp`, waits for it, and syncs the copy as the case requires.
pub(super) fn copy(case: &Case, from: &Path, to: &Path) -> Result<(), Failure> {
    let arguments = [OsStr::new("--"), from.as_os_str(), to.as_os_str()];
    let output = run(&arguments)?;
    if !output.status.success() {
        return Err(failed(&output));
    }
    sync_path(to, case).map_err(Failure::at("sync", to))
}

/// Starts `cp` and lets it end without a copy.
pub(in crate::copy) fn start_and_end() -> Result<(), Failure> {
    let output = run(&[OsStr::new("--version")])?;
    if output.status.success() {
        Ok(())
    } else {
        Err(failed(&output))
    }
}

fn run(arguments: &[&OsStr]) -> Result<Output, Failure> {
    let mut command = Command::new("cp");
    command
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    die_with_parent(&mut command)
        .spawn()
        .and_then(std::process::Child::wait_with_output)
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Failure {
                kind: FailureKind::Unsupported,
                errno: error.raw_os_error(),
                message: "cp is not installed, or not in PATH".to_owned(),
            },
            _ => Failure::from_io("run cp", &error),
        })
}

fn failed(output: &Output) -> Failure {
    let said = String::from_utf8_lossy(&output.stderr);
    // The C library's text for ENOSPC in the C locale.
    let kind = if said.contains("No space left on device") {
        FailureKind::NoSpace
    } else {
        FailureKind::Io
    };
    Failure {
        kind,
        errno: None,
        message: format!("cp failed ({}): {}", output.status, said.trim()),
    }
}
