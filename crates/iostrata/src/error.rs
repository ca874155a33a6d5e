//! From a failure to its message and exit code.

use std::fmt::Display;
use std::process::ExitCode;

use iostrata_core::observe::ObserveError;
use iostrata_lab::engine::EngineError;
use iostrata_lab::error::LabError;
use iostrata_lab::interrupt::Interrupted;
use iostrata_lab::scratch::ScratchError;
use iostrata_tracer::program::StartError;
use iostrata_tracer::stack::StackError;

use crate::ui;

#[derive(Debug)]
pub(crate) enum Failure {
    /// The request makes no sense: exit code 2.
    Usage(String),
    /// This machine or user cannot: exit code 3.
    Cannot(String),
    /// A named file cannot be read or understood: exit code 4.
    Input(String),
    /// `trace` cannot do its own work (125), or the program cannot be run (126) or found
    /// (127): the codes of env(1) and timeout(1).
    Program { message: String, code: u8 },
    /// A signal ended it after this number of rows: exit code 128 + signal.
    Interrupted { by: Interrupted, rows: usize },
    /// A signal ended `crash`, whose result holds what was found until then: exit code 128 + signal.
    Ended(Interrupted),
    /// A signal ended `trace` before the program was started: exit code 128 + signal.
    NotBegun(Interrupted),
    /// A signal ended `trace` in one of the runs before the observed one: exit code 128 + signal.
    BetweenRuns { by: Interrupted, label: String },
}

impl Failure {
    pub(crate) fn usage(message: impl Display) -> Self {
        Self::Usage(message.to_string())
    }

    pub(crate) fn cannot(message: impl Display) -> Self {
        Self::Cannot(message.to_string())
    }

    /// Catching signals needs a thread, a descriptor, and `/proc` to say which were ignored.
    pub(crate) fn no_signals(error: &std::io::Error) -> Self {
        let remedy = match error.kind() {
            std::io::ErrorKind::NotFound => "mount /proc (mount -t proc proc /proc)",
            _ => "check the limits of this user (ulimit -a)",
        };
        Self::Cannot(format!("cannot catch signals: {error}; {remedy}"))
    }

    /// An experiment's failure in a step, such as `timing fsync 1 B on host`.
    pub(crate) fn during(step: &str, error: LabError) -> Self {
        match error {
            LabError::Usage(message) => Self::Usage(message),
            other if step.is_empty() => Self::Cannot(other.to_string()),
            other => Self::Cannot(format!("{step}: {other}")),
        }
    }

    /// Prints the error and gives its exit code.
    pub(crate) fn report(self) -> ExitCode {
        let (message, code) = match self {
            Self::Usage(message) => (format!("error: {message}"), 2),
            Self::Cannot(message) => (format!("error: {message}"), 3),
            Self::Input(message) => (format!("error: {message}"), 4),
            Self::Program { message, code } => (format!("error: {message}"), code),
            Self::Interrupted { by, rows: 0 } => by_signal(
                by,
                " before the first row was complete: there is nothing to show",
            ),
            Self::Interrupted { by, .. } => by_signal(by, ": the result holds the completed rows"),
            Self::Ended(by) => by_signal(by, ": the result holds what was found until then"),
            Self::BetweenRuns { by, label } => by_signal(
                by,
                &format!(
                    " in {label}: the program was ended, was not observed, and there is nothing to show"
                ),
            ),
            Self::NotBegun(by) => by_signal(
                by,
                " before the observation began: no program was started, and there is nothing to show",
            ),
        };
        ui::say(&message);
        ExitCode::from(code)
    }
}

fn by_signal(by: Interrupted, what: &str) -> (String, u8) {
    let code = u8::try_from(128 + by.signal).unwrap_or(u8::MAX);
    (format!("{by}{what}"), code)
}

/// After a panic: says that this is a defect of iostrata.
pub(crate) fn bug() -> ExitCode {
    ui::say("error: this is a bug in iostrata; please report the lines above with the command");
    ExitCode::from(70)
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        let code = match error {
            StartError::NotFound { .. } => 127,
            StartError::NotExecutable { .. } => 126,
            StartError::NoProcess(_) => 125,
        };
        Self::Program {
            message: error.to_string(),
            code,
        }
    }
}

impl From<Interrupted> for Failure {
    fn from(by: Interrupted) -> Self {
        Self::Interrupted { by, rows: 0 }
    }
}

impl From<ScratchError> for Failure {
    fn from(error: ScratchError) -> Self {
        match error {
            ScratchError::Interrupted(by) => by.into(),
            ScratchError::NotADirectory { .. } => Self::Usage(error.to_string()),
            other => Self::Cannot(other.to_string()),
        }
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        Self::during("", error)
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self::Cannot(error.to_string())
    }
}

impl From<ObserveError> for Failure {
    fn from(error: ObserveError) -> Self {
        Self::Cannot(error.to_string())
    }
}

impl From<StackError> for Failure {
    fn from(error: StackError) -> Self {
        use std::io::ErrorKind::{NotADirectory, NotFound};
        match &error {
            StackError::Path { source, .. }
                if matches!(source.kind(), NotFound | NotADirectory) =>
            {
                Self::Usage(error.to_string())
            }
            _ => Self::Cannot(error.to_string()),
        }
    }
}
