//! `lab buffering`: the work and its measurement.
//!
//! What is measured is described in [`iostrata_core::buffering`]; here records
//! are really written ([`WriteJob`]), timed, observed and
//! read back.

pub(crate) mod caveats;
mod duration;
mod expected;
mod item;
mod job;
mod memory;
mod observed;
mod records;
mod run;
mod runtimes;
mod settings;
mod steps;
mod timeline;
mod workload;
mod writer;

pub use duration::expected;
pub use expected::{Calls, expected_calls};
pub use job::{NullJob, ReadJob, ReadReport, StepReport, StepsJob, WriteJob};
pub use run::run;
pub use settings::{Selection, needed_bytes};
pub(crate) use steps::{ReadTask, StepsTask};
pub(crate) use workload::{NullTask, WriteTask};
