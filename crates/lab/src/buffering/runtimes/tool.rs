//! Running a compiler, or asking a program for its version.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::engine::{EngineError, Process};

/// Why there is no output.
pub(super) enum Trouble {
    /// Cannot be used here; the reason is for the user.
    Unusable(String),
    /// The run is to end.
    Stop(EngineError),
}

/// Runs a command whose outputs go to files in `dir`, and gives the standard one, without white
/// space around it.
pub(super) fn output(
    argv: &[OsString],
    environment: &[(OsString, OsString)],
    dir: &Path,
    stop: &dyn Fn() -> bool,
) -> Result<String, Trouble> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err(Trouble::Unusable("no program".to_owned()));
    };
    let name = program.display();
    let unusable = |error: io::Error| Trouble::Unusable(format!("cannot run {name}: {error}"));
    let (out, err) = (dir.join("stdout"), dir.join("stderr"));
    let mut command = Command::new(program);
    command
        .args(arguments)
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(File::create(&out).map_err(unusable)?)
        .stderr(File::create(&err).map_err(unusable)?);
    let mut process = match Process::start(&mut command) {
        Ok(process) => process,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Trouble::Unusable(format!(
                "not installed: no {name} in PATH"
            )));
        }
        Err(error) => return Err(unusable(error)),
    };
    let status = process.wait(stop).map_err(Trouble::Stop)?;
    if !status.success() {
        return Err(Trouble::Unusable(format!(
            "{name} failed ({status}){}",
            first_line(&err)
        )));
    }
    let text = fs::read(&out).map_err(unusable)?;
    Ok(String::from_utf8_lossy(&text).trim().to_owned())
}

/// The first line of a file of error messages, after a colon; empty when there is none.
pub(super) fn first_line(path: &Path) -> String {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines()
        .next()
        .map(|line| format!(": {line}"))
        .unwrap_or_default()
}
