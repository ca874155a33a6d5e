//! The engine of every experiment: child processes that do the work, the order and number of timing
//! runs, and their disturbances.
//!
//! A separate process does the work ([`Workload`]), so that an observer can attach before it
//! starts, and the timing pass and the evidence pass run exactly the same code.

mod child;
mod noise;
mod process;
mod progress;
mod residency;
mod timing;
mod xorshift;

pub use child::{EngineError, ExecJob, Failure, FailureKind, Job, Launcher, Work, Workload};
pub(crate) use child::{Kind, Stopwatch, Task, child_main, monotonic_ns};
pub use iostrata_tracer::identity::{KernelFile, observed_file};
pub use noise::{Meter, Reading};
pub(crate) use process::Process;
pub use process::run_to_end;
pub use progress::{Ledger, Progress, Silent, Step};
pub(crate) use residency::{Residency, evict, residency, warm};
pub use timing::{Measured, Round, StoppingRule, measure};
pub(crate) use xorshift::{XorShift, random_bytes, write_random};
