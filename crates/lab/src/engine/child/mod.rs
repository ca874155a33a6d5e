//! The process that does an experiment's work, and the pipe to it.
//!
//! Each message is one JSON line. The parent sends a [`Job`]; the child prepares and sends `ready`;
//! the parent, which may now attach an observer, sends `go`; the child works and answers with a
//! report; `exit`, or the end of the input, ends it. A job with several steps takes one `go` for
//! each.

mod error;
mod job;
mod launch;
mod stopwatch;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process;

use serde::{Deserialize, Serialize};

pub use error::{EngineError, Failure, FailureKind};
pub use job::{Job, Work};
pub(crate) use job::{Kind, Task, child_main};
pub use launch::{Launcher, Workload};
pub(crate) use stopwatch::{Stopwatch, monotonic_ns, usage};

/// Messages of the child.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Message<R> {
    /// Prepared; waits for `go`.
    Ready,
    /// The step is done; waits for the next command.
    Done(R),
    /// The step, or the preparation, failed; the child ends.
    Failed(Failure),
}

/// Messages of the parent after the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Command {
    Go,
    Exit,
}

/// Exit code of a program that could not be executed, as env(1) gives it.
const EXIT_CANNOT_EXECUTE: i32 = 127;

/// Executes another program at `go`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExecJob {
    /// Program and arguments; a program without `/` is looked up in `PATH`.
    pub argv: Vec<OsString>,
    /// Variables added to the environment.
    pub environment: Vec<(OsString, OsString)>,
    /// File for standard error. Standard input and output are `/dev/null`.
    pub stderr: OsString,
}

impl Job for ExecJob {
    const NAME: &'static str = "exec";
    type Report = ();
}

impl Task for ExecJob {
    type Job = Self;

    fn prepare(job: Self) -> Result<Self, Failure> {
        Ok(job)
    }

    fn go(&mut self) -> Result<(), Failure> {
        Err(become_program(self))
    }
}

/// Replaces this process; returns only if that failed before anything was replaced.
fn become_program(job: &ExecJob) -> Failure {
    let Some((program, arguments)) = job.argv.split_first() else {
        return Failure::job("no program was given");
    };
    let stderr = match File::create(&job.stderr) {
        Ok(file) => file,
        Err(error) => return Failure::from_io(&format!("create {}", shown(&job.stderr)), &error),
    };
    let error = process::Command::new(program)
        .args(arguments)
        .envs(job.environment.iter().map(|(name, value)| (name, value)))
        .stdin(process::Stdio::null())
        .stdout(process::Stdio::null())
        .stderr(stderr)
        .exec();
    // A failed exec has already replaced the standard streams, so the pipe to the parent is gone:
    // the reason goes where the program's own errors would.
    drop(writeln!(
        io::stderr(),
        "cannot execute {}: {error}",
        shown(program)
    ));
    exit_cannot_execute()
}

#[expect(
    clippy::exit,
    reason = "the pipe to the parent is gone, so no failure can be returned"
)]
fn exit_cannot_execute() -> ! {
    process::exit(EXIT_CANNOT_EXECUTE)
}

fn shown(path: &OsString) -> String {
    path.display().to_string()
}
