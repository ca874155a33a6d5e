//! `lab buffering`: the work and its measurement.
//!
//! What is measured is described in [`iostrata_core::buffering`]; here records
//! are really written ([`Job::Write`](crate::engine::Job)), timed, observed and
//! read back.

mod caveats;
mod charge;
mod error;
mod expected;
mod memory;
mod observed;
mod records;
mod run;
mod runtimes;
mod session;
mod settings;
mod steps;
mod timed;
mod timeline;
mod workload;
mod writer;

pub use error::BufferingError;
pub use expected::{Calls, expected_calls};
pub use run::run;
pub use settings::{Effort, Selection, Settings, needed_bytes};
pub(crate) use steps::{ReadTask, StepsTask};
pub(crate) use workload::{NullTask, WriteTask};
