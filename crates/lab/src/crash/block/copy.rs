//! Copies of directories, with everything that a program could ask for.

use std::path::Path;
use std::process::{Command, Stdio};

use iostrata_tracer::kernel::die_with_parent;

use super::BlockError;

/// Copies a directory to a path that does not exist: names, contents, links, modes, owners, times, extended
/// attributes.
///
/// # Errors
/// When a part of it cannot be read, or there is no room.
pub fn copy_directory(from: &Path, to: &Path) -> Result<(), BlockError> {
    let mut command = Command::new("cp");
    command
        .args(["--archive", "--reflink=auto", "--no-target-directory", "--"])
        .args([from, to])
        .stdin(Stdio::null());
    let copied = die_with_parent(&mut command).output();
    let copied = copied.map_err(BlockError::io("run cp"))?;
    if copied.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&copied.stderr);
    Err(BlockError::Copy {
        from: from.display().to_string(),
        said: said.trim().to_owned(),
    })
}
