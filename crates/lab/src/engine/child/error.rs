//! Failures between the engine and its workload process.

use std::collections::TryReserveError;
use std::io;
use std::path::Path;

use nix::sys::signal::Signal;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// Why the workload could not do its job, as reported by the child.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub kind: FailureKind,
    /// The kernel's error number, if the kernel refused.
    pub errno: Option<i32>,
    /// Fact, cause and remedy.
    pub message: String,
}

/// Kinds of failure that a caller may want to distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// No space or quota left.
    NoSpace,
    /// Read-only file system, or no permission.
    Denied,
    /// The kernel or the file system does not support the operation.
    Unsupported,
    /// Not enough memory for the record.
    Memory,
    Io,
    /// The job or command is impossible for the child.
    Job,
}

impl Failure {
    /// A failure of `doing`, such as `write record 7 to /x`.
    pub(crate) fn from_io(doing: &str, error: &io::Error) -> Self {
        let errno = error.raw_os_error();
        let kind = match errno {
            Some(errno) => kind_of(errno),
            None if error.kind() == io::ErrorKind::Unsupported => FailureKind::Unsupported,
            None => FailureKind::Io,
        };
        let remedy = match kind {
            FailureKind::NoSpace => {
                "; free space there, choose another directory, or use fewer or smaller records"
            }
            FailureKind::Denied => "; choose a directory that this user may write to",
            FailureKind::Unsupported => {
                "; leave this mode out, or choose a directory on another file system"
            }
            FailureKind::Memory | FailureKind::Io | FailureKind::Job => "",
        };
        Self {
            kind,
            errno,
            message: format!("cannot {doing}: {error}{remedy}"),
        }
    }

    /// A failure of `doing` to the file at a path: takes the error.
    pub(crate) fn at<E: Into<io::Error>>(doing: &str, path: &Path) -> impl FnOnce(E) -> Self {
        move |error| Self::from_io(&format!("{doing} {}", path.display()), &error.into())
    }

    /// A record that does not fit into memory.
    pub(crate) fn memory(bytes: u64, error: Option<&TryReserveError>) -> Self {
        let cause = error.map_or_else(
            || "it exceeds this machine's address space".to_owned(),
            ToString::to_string,
        );
        Self {
            kind: FailureKind::Memory,
            errno: None,
            message: format!("cannot make a record of {bytes} bytes: {cause}; use smaller records"),
        }
    }

    /// A job or command that this child cannot interpret.
    pub(crate) fn job(message: impl Into<String>) -> Self {
        Self {
            kind: FailureKind::Job,
            errno: None,
            message: message.into(),
        }
    }
}

fn kind_of(errno: i32) -> FailureKind {
    match Errno::from_raw_os_error(errno) {
        Errno::NOSPC | Errno::DQUOT => FailureKind::NoSpace,
        Errno::ROFS | Errno::ACCESS | Errno::PERM => FailureKind::Denied,
        Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::NOTTY => FailureKind::Unsupported,
        Errno::NOMEM => FailureKind::Memory,
        _ => FailureKind::Io,
    }
}

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("cannot start the workload process {program}: {source}")]
    Start { program: String, source: io::Error },
    #[error("the workload process was killed by {} before it could {doing}{}", signal_name(*.signal), kill_hint(*.signal))]
    Killed { signal: i32, doing: &'static str },
    #[error("the workload process ended with exit code {code} before it could {doing}")]
    Ended { code: i32, doing: &'static str },
    #[error(transparent)]
    Failed(#[from] Failure),
    #[error("unexpected reply from the workload process: {0}")]
    Protocol(String),
    #[error("lost contact with the workload process: {0}")]
    Pipe(#[from] io::Error),
    #[error("interrupted")]
    Interrupted,
}

fn signal_name(signal: i32) -> String {
    Signal::try_from(signal).map_or_else(
        |_| format!("signal {signal}"),
        |known| format!("signal {signal} ({})", known.as_str()),
    )
}

fn kill_hint(signal: i32) -> &'static str {
    if signal == Signal::SIGKILL as i32 {
        "; the kernel does so when memory runs out (see dmesg): ask for smaller records"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_space_names_fact_cause_and_remedy() {
        let error = io::Error::from_raw_os_error(Errno::NOSPC.raw_os_error());
        let failure = Failure::from_io("write record 7 to /x", &error);
        assert_eq!(failure.kind, FailureKind::NoSpace);
        assert_eq!(failure.errno, Some(28));
        assert!(
            failure
                .message
                .starts_with("cannot write record 7 to /x: No space left")
        );
        assert!(failure.message.contains("free space there"));
    }

    #[test]
    fn a_killed_process_is_named_with_its_signal() {
        let killed = EngineError::Killed {
            signal: 9,
            doing: "write",
        }
        .to_string();
        assert!(killed.starts_with("the workload process was killed by signal 9 (SIGKILL)"));
        assert!(killed.contains("memory"));
        let stopped = EngineError::Killed {
            signal: 15,
            doing: "write",
        }
        .to_string();
        assert!(
            !stopped.contains("memory"),
            "only SIGKILL hints at memory: {stopped}"
        );
        let realtime = EngineError::Killed {
            signal: 40,
            doing: "write",
        }
        .to_string();
        assert!(realtime.contains("signal 40 "), "{realtime}");
    }
}
