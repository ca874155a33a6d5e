//! Runs the program that creates a file system.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use iostrata_tracer::kernel::die_with_parent;
use rustix::fs::{MemfdFlags, memfd_create};

use super::error::ScratchError;
use super::kind::ImageKind;
use crate::engine::run_to_end;
use crate::interrupt::Interrupt;

/// Where Debian keeps these programs; often not in a user's PATH.
const SYSTEM_DIRECTORIES: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Finds the mkfs program for `kind`, in PATH first, by running it with its version option.
pub fn find(kind: ImageKind) -> Result<PathBuf, ScratchError> {
    let mkfs = kind.mkfs();
    let elsewhere = SYSTEM_DIRECTORIES.map(|directory| Path::new(directory).join(mkfs.program));
    for program in iter::once(PathBuf::from(mkfs.program)).chain(elsewhere) {
        let mut command = Command::new(&program);
        command
            .arg("-V")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        match die_with_parent(&mut command).status() {
            Ok(_) => return Ok(program),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(ScratchError::io("run", &program, error)),
        }
    }
    Err(ScratchError::NoMkfs {
        kind,
        program: mkfs.program,
        package: mkfs.package,
    })
}

/// Creates a file system of `kind` on `device`, with `further` arguments. The program is killed when a
/// signal arrives and when this process dies.
pub(crate) fn run(
    kind: ImageKind,
    further: &[&str],
    program: &Path,
    device: &Path,
    interrupt: &Interrupt,
) -> Result<(), ScratchError> {
    let failed = |source: io::Error| ScratchError::io("run", program, source);
    // A file, not a pipe: nothing has to read while the program runs.
    let mut output = File::from(
        memfd_create("mkfs", MemfdFlags::CLOEXEC).map_err(|errno| failed(errno.into()))?,
    );
    let mut command = Command::new(program);
    command
        .args(kind.mkfs().arguments)
        .args(further)
        .arg(device)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(output.try_clone().map_err(failed)?)
        .stderr(output.try_clone().map_err(failed)?);
    let line = command_line(&command);
    let status = run_to_end(&mut command, interrupt).map_err(failed)??;
    if status.success() {
        return Ok(());
    }
    Err(mkfs_failed(kind, line, status, &mut output))
}

fn mkfs_failed(
    kind: ImageKind,
    command: String,
    status: ExitStatus,
    output: &mut File,
) -> ScratchError {
    let mut text = Vec::new();
    let read = output
        .rewind()
        .and_then(|()| output.read_to_end(&mut text).map(drop));
    if let Err(error) = read {
        text = format!("(output unreadable: {error})").into_bytes();
    }
    ScratchError::MkfsFailed {
        kind,
        command,
        status,
        output: one_line(&String::from_utf8_lossy(&text)),
    }
}

fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("; ")
}

fn command_line(command: &Command) -> String {
    let words: Vec<_> = iter::once(command.get_program())
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect();
    words.join(" ")
}
