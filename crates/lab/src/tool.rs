//! Programs on this machine that a part of an experiment needs, and parts that cannot be done.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use iostrata_core::gap::{Gap, Missing, Reason};
use rustix::fs::{MemfdFlags, memfd_create};

use crate::engine::{EngineError, Process};
use crate::error::LabError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// It is not possible here; the reason is for the user.
    #[error("{}", .0.text())]
    Unusable(Reason),
    /// The run must end.
    #[error(transparent)]
    Stop(#[from] LabError),
}

impl Trouble {
    /// Of an error, or of what a program said.
    pub(crate) fn said(text: impl Into<String>) -> Self {
        Self::Unusable(Reason::Error(text.into()))
    }
}

impl From<EngineError> for Trouble {
    fn from(error: EngineError) -> Self {
        Self::Stop(error.into())
    }
}

/// The result of a part, or that `what` is missing and why.
pub(crate) fn or_gap<T>(
    outcome: Result<T, Trouble>,
    what: Missing,
) -> Result<Result<T, Gap>, LabError> {
    match outcome {
        Ok(done) => Ok(Ok(done)),
        Err(Trouble::Unusable(why)) => Ok(Err(Gap::new(what, why))),
        Err(Trouble::Stop(error)) => Err(error),
    }
}

/// Longest time of a program that builds something, on a slow machine too.
pub(crate) const BUILDS: Duration = Duration::from_mins(10);

/// A program that did not end in time.
pub(crate) fn hangs(name: &str, longest: Duration) -> Trouble {
    let seconds = longest.as_secs_f64();
    Trouble::said(format!(
        "{name} did not end within {seconds} s; it was killed"
    ))
}

/// Runs a program to its end, without input, and returns its standard output. It is killed when it
/// takes longer than `longest`.
pub(crate) fn run(
    command: &mut Command,
    longest: Duration,
    stop: &dyn Fn() -> bool,
) -> Result<String, Trouble> {
    let name = command.get_program().to_string_lossy().into_owned();
    let unusable = |error: io::Error| Trouble::said(format!("cannot run {name}: {error}"));
    // Files, not pipes: nothing has to read while the program runs.
    let file = || memfd_create(&*name, MemfdFlags::CLOEXEC).map(File::from);
    let opened = file().and_then(|output| Ok((output, file()?)));
    let (mut output, mut errors) = opened.map_err(|errno| unusable(errno.into()))?;
    command
        .stdin(Stdio::null())
        .stdout(output.try_clone().map_err(unusable)?)
        .stderr(errors.try_clone().map_err(unusable)?);
    let mut process = match Process::start(command) {
        Ok(process) => process,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Trouble::Unusable(Reason::NotInstalled(name)));
        }
        Err(error) => return Err(unusable(error)),
    };
    let Some(status) = process.wait(longest, stop)? else {
        return Err(hangs(&name, longest));
    };
    if !status.success() {
        let said = first_line(&text(&mut errors).unwrap_or_default());
        let why = format!("{name} failed ({status}){said}");
        return Err(Trouble::said(why));
    }
    text(&mut output).map_err(unusable)
}

fn text(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The first line of the output, after a colon; empty if there was none.
pub(crate) fn first_line(said: &str) -> String {
    let line = said.lines().next().map(|line| format!(": {line}"));
    line.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<String, Trouble> {
        run(Command::new("sh").args(["-c", script]), BUILDS, &|| false)
    }

    fn why(outcome: Result<String, Trouble>) -> Reason {
        let gap = or_gap(outcome, Missing::Findings).unwrap();
        gap.unwrap_err().why
    }

    fn said(text: &str) -> Reason {
        Reason::Error(text.to_owned())
    }

    #[test]
    fn the_standard_output_is_given_alone() {
        assert_eq!(shell("echo said; echo other >&2").unwrap(), "said\n");
    }

    #[test]
    fn a_program_that_fails_is_named_with_what_it_said_first() {
        let broken = why(shell("echo broken >&2; echo more >&2; exit 3"));
        assert_eq!(broken, said("sh failed (exit status: 3): broken"));
        let none = why(run(&mut Command::new("no-such-program"), BUILDS, &|| false));
        let name = "no-such-program".to_owned();
        assert_eq!(none, Reason::NotInstalled(name));
    }

    #[test]
    fn a_program_that_hangs_is_killed() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000"]);
        let outcome = run(&mut command, Duration::from_millis(100), &|| false);
        let killed = said("sh did not end within 0.1 s; it was killed");
        assert_eq!(why(outcome), killed);
    }
}
