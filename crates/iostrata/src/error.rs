//! From what went wrong to what the user reads and the exit code.

use std::process::ExitCode;

use iostrata_core::observe::ObserveError;
use iostrata_lab::buffering::BufferingError;
use iostrata_lab::engine::EngineError;
use iostrata_lab::scratch::ScratchError;
use iostrata_tracer::stack::StackError;

use crate::ui;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The request makes no sense: exit code 2.
    Usage(String),
    /// This machine or user cannot: exit code 3.
    Cannot(String),
    /// A signal ended it: exit code 128 + signal.
    Interrupted(i32),
}

impl Failure {
    /// Prints the error and gives its exit code.
    pub(crate) fn report(self) -> ExitCode {
        let (message, code) = match self {
            Self::Usage(message) => (format!("error: {message}"), 2),
            Self::Cannot(message) => (format!("error: {message}"), 3),
            Self::Interrupted(signal) => {
                let code = u8::try_from(128 + signal).unwrap_or(u8::MAX);
                (format!("interrupted by signal {signal}; everything made was removed"), code)
            }
        };
        ui::say(&message);
        ExitCode::from(code)
    }
}

/// After a panic: says that it is our fault.
pub(crate) fn bug() -> ExitCode {
    ui::say("error: this is a bug in iostrata; please report the lines above with the command");
    ExitCode::from(70)
}

impl From<ScratchError> for Failure {
    fn from(error: ScratchError) -> Self {
        match error {
            ScratchError::Interrupted(interrupted) => Self::Interrupted(interrupted.signal),
            ScratchError::NotADirectory { .. } => Self::Usage(error.to_string()),
            other => Self::Cannot(other.to_string()),
        }
    }
}

impl From<BufferingError> for Failure {
    fn from(error: BufferingError) -> Self {
        match error {
            BufferingError::Usage(message) => Self::Usage(message),
            other => Self::Cannot(other.to_string()),
        }
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
        Self::Cannot(error.to_string())
    }
}
