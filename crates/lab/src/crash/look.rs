//! One look of a checker at a state, and what it says of it.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::ExitStatus;
use std::thread;
use std::time::Duration;

use iostrata_core::crash::Sandbox;
use rustix::process::{getegid, geteuid};

use super::changed::Looks;
use super::checker::{
    CheckError, Checker, MOST_SAID, Manner, Owners, Reply, SAID, Site, Unreliable,
};
use super::stage::Stage;
use crate::engine::Launcher;
use crate::interrupt::Interrupt;

/// The strongest sandbox that works here. `scratch` is an empty directory.
pub(super) fn strongest(scratch: &Path, launcher: &Launcher) -> Sandbox {
    let works = |sandbox| {
        let path = scratch.to_owned();
        let checker = Checker {
            command: ":".to_owned(),
            patience: TRIAL,
            manner: Manner::Starts,
            sandbox,
            user: (geteuid().as_raw(), getegid().as_raw()),
            gains: false,
            sees: Vec::new(),
            pass_env: Vec::new(),
            notes_changes: false,
            launcher: launcher.clone(),
        };
        // A sandbox is of the thread that enters it, and this one has to leave.
        let works = thread::spawn(move || {
            let mut stage = Stage::enter(path, &checker, 0, 0)?;
            let interrupt = Interrupt::never();
            let said = checker.check(&mut stage, Owners::Given, &interrupt, |_| {
                Ok::<_, CheckError>(())
            });
            said.map_err(io::Error::other)
        });
        matches!(works.join(), Ok(Ok(None)))
    };
    let all = [Sandbox::Room, Sandbox::UserNamespace];
    let found = all.into_iter().find(|sandbox| works(*sandbox));
    found.unwrap_or(Sandbox::ProcessGroup)
}

/// How long a sandbox may take to be found working.
const TRIAL: Duration = Duration::from_secs(10);

impl Checker {
    /// Runs it on what `fill` makes of an empty site; gives its message when it finds something broken.
    pub fn check<E: From<CheckError>>(
        &self,
        stage: &mut Stage,
        owners: Owners,
        interrupt: &Interrupt,
        fill: impl Fn(&Site) -> Result<(), E>,
    ) -> Result<Option<String>, E> {
        let was_new = stage.is_new();
        let said = self.look(stage, owners, interrupt, &fill)?;
        // A new process knows no other state.
        let is_doubted = !was_new && stage.is_doubted(said.as_deref(), self.manner);
        if is_doubted {
            stage.end();
            let anew = self.look(stage, owners, interrupt, &fill)?;
            agreed(said.as_deref(), anew.as_deref())?;
        }
        // The same process has failed a state now, and must not let that change its answers.
        if said.is_some() && (is_doubted || was_new) && !stage.is_new() {
            let again = self.look(stage, owners, interrupt, &fill)?;
            agreed(said.as_deref(), again.as_deref())?;
        }
        Ok(said)
    }

    fn look<E: From<CheckError>>(
        &self,
        stage: &mut Stage,
        owners: Owners,
        interrupt: &Interrupt,
        fill: &impl Fn(&Site) -> Result<(), E>,
    ) -> Result<Option<String>, E> {
        let site = stage.site(self).map_err(CheckError::from)?;
        fill(&site)?;
        Ok(self.judged(stage, site, owners, interrupt)?)
    }

    fn judged(
        &self,
        stage: &mut Stage,
        site: Site,
        owners: Owners,
        interrupt: &Interrupt,
    ) -> Result<Option<String>, CheckError> {
        if self.sandbox == Sandbox::Room {
            stage.own(&site, owners)?;
        }
        let before = self.notes_changes.then(|| Looks::of_past(&site.tree));
        let before = before.transpose()?;
        let (site, reply) = stage.run(site, self.patience, interrupt)?;
        // A directory that the checker has closed is another than before.
        stage.has_changed = before.is_some_and(|before| Looks::of(&site.tree).ok() != Some(before));
        let said = match (reply, stage.bytes.filter(|_| stage.is_full())) {
            (Reply::Fine, _) => None,
            (Reply::Over(message), _) | (Reply::Fails(message), None) => Some(message),
            (_, Some(bytes)) => {
                let room = bytes >> 20;
                Some(format!("the checker filled the {room} MiB that it has"))
            }
            (Reply::Ended(status), None) => Some(ended(status, &stage.path.join(SAID))?),
        };
        stage.clear(&site);
        // Each state has another path, and what breaks is the same.
        let tree = site.tree.to_string_lossy();
        Ok(said.map(|message| message.replace(&*tree, "DIR")))
    }
}

/// Fails where two answers about one state differ.
fn agreed(said: Option<&str>, again: Option<&str>) -> Result<(), CheckError> {
    if said == again {
        return Ok(());
    }
    let [said, again] =
        [said, again].map(|said| said.map_or("ok".to_owned(), |message| format!("fail {message}")));
    Err(Unreliable::Differs { said, again }.into())
}

/// How a checker has ended, by what it said or by its status.
fn ended(status: ExitStatus, said: &Path) -> io::Result<String> {
    // A shell gives the signal of its command so.
    let by_shell = status.code().and_then(|code| code.checked_sub(128));
    let signal = status.signal().or(by_shell.filter(|signal| *signal > 0));
    Ok(match (message(said)?, signal) {
        (Some(line), Some(signal)) if names(&line, signal) => {
            format!("a command of the checker was ended by signal {signal}")
        }
        (Some(line), _) => line,
        (None, Some(signal)) => format!("the checker was ended by signal {signal}"),
        (None, None) => format!("the checker exited with {}", status.code().unwrap_or(-1)),
    })
}

/// What shells say of a command that a signal ended, with its number as a process, which differs from state to state
/// (strsignal(3)).
const ENDED_BY: [(i32, &str); 6] = [
    (4, "Illegal instruction"),
    (6, "Aborted"),
    (7, "Bus error"),
    (8, "Floating point exception"),
    (9, "Killed"),
    (11, "Segmentation fault"),
];

fn names(line: &str, signal: i32) -> bool {
    let mut all = ENDED_BY.iter();
    all.any(|(number, words)| *number == signal && line.contains(words))
}

fn message(said: &Path) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    File::open(said)?.take(MOST_SAID).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(first_message(&text).map(str::to_owned))
}

/// Begins the text of an exception that nobody caught: the exception itself comes last
/// (<https://docs.python.org/3/library/traceback.html>).
const TRACEBACK: &str = "Traceback (most recent call last):";

/// The first line that is not empty; of an exception of Python the line that names it.
fn first_message(said: &str) -> Option<&str> {
    let first = said.lines().map(str::trim).find(|line| !line.is_empty())?;
    if first != TRACEBACK {
        return Some(first);
    }
    Some(exception(said).unwrap_or(first))
}

/// Calls are indented. An exception during the handling of another comes after it.
fn exception(said: &str) -> Option<&str> {
    let (_, last) = said.rsplit_once(TRACEBACK)?;
    let mut lines = last.lines().map(str::trim_end);
    lines.find(|line| !line.is_empty() && !line.starts_with([' ', '\t']))
}

#[cfg(test)]
mod tests {
    use super::{first_message, names};

    #[test]
    fn what_a_shell_says_of_a_signal_is_known() {
        let bash = "check.sh: line 14:     3 Bus error               /usr/bin/python3 - <<'P'";
        assert!(names(bash, 7) && !names(bash, 11));
        assert!(!names("f is torn", 7));
    }

    #[test]
    fn the_first_line_that_says_something_is_the_message() {
        assert_eq!(first_message("\n  torn \nmore\n"), Some("torn"));
        assert_eq!(first_message(" \n\n"), None);
    }

    #[test]
    fn of_an_exception_of_python_its_name_is_the_message() {
        let said = "Traceback (most recent call last):\n  File \"check\", line 3, in <module>\n    \
                    json.load(file)\nValueError: no value:\nline 1\n";
        assert_eq!(first_message(said), Some("ValueError: no value:"));
        let both = format!(
            "{said}\nDuring handling of the above exception, another exception occurred:\n\n\
             Traceback (most recent call last):\n  File \"check\", line 5\nSystemError: cut\n"
        );
        assert_eq!(first_message(&both), Some("SystemError: cut"));
        let cut = "Traceback (most recent call last):\n  File \"check\"";
        assert_eq!(
            first_message(cut),
            Some("Traceback (most recent call last):")
        );
        let after = format!("torn\n{said}");
        assert_eq!(first_message(&after), Some("torn"));
    }
}
