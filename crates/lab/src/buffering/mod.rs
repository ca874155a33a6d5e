//! `lab buffering`: the work and its measurement.
//!
//! [`iostrata_core::buffering`] describes the cases; this module writes real records
//! ([`WriteJob`]), timed, observed and read back.

mod expected;
mod item;
mod records;
mod run;
mod runtimes;
mod settings;
mod steps;
mod timeline;
mod workload;
mod writer;

pub use expected::{Calls, expected_calls};
pub use settings::{Plan, Selection};
pub use steps::{ReadJob, ReadReport, StepReport, StepsJob};
pub(crate) use steps::{ReadTask, StepsTask};
pub use workload::WriteJob;
pub(crate) use workload::WriteTask;
