//! `lab copy`: the work and its measurement.
//!
//! [`iostrata_core::copy`] describes the cases; this module copies real files ([`CopyJob`]), timed,
//! observed, and compares every copy with its source.

mod ground;
mod item;
mod methods;
mod probe;
mod run;
mod settings;
mod source;
mod yardsticks;

pub use methods::CopyJob;
pub use settings::{Buffer, Plan, Selection};
pub use yardsticks::YardstickJob;
pub(crate) use yardsticks::YardstickTask;
