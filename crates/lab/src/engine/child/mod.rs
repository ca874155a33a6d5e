//! The process that does an experiment's work, and the pipe to it.
//!
//! Each message is one JSON line. The parent sends a [`Job`]; the child prepares and sends `ready`;
//! the parent, which may now attach an observer, sends `go`; the child works and answers with a
//! report; `exit`, or the end of the input, ends it. A job with several steps takes one `go` for
//! each.

mod error;
mod exec;
mod job;
mod launch;
mod stopwatch;

use serde::{Deserialize, Serialize};

pub use error::{EngineError, Failure, FailureKind};
pub use exec::ExecJob;
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
