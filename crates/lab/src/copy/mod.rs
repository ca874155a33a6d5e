//! `lab copy`: the work and its measurement.
//!
//! What is measured is described in [`iostrata_core::copy`]; here files are really copied
//! ([`CopyJob`]), timed, observed, and every copy is compared with
//! its source.

mod ground;
mod item;
mod methods;
mod probe;
mod run;
mod settings;
mod source;
mod states;
mod yardsticks;

pub use methods::CopyJob;
pub use settings::{Buffer, Plan, Selection};
pub use yardsticks::YardstickJob;
pub(crate) use yardsticks::YardstickTask;
