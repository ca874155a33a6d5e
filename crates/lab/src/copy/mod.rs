//! `lab copy`: the work and its measurement.
//!
//! What is measured is described in [`iostrata_core::copy`]; here files are really copied
//! ([`CopyJob`]), timed, observed, and every copy is compared with
//! its source.

mod caveats;
mod duration;
mod item;
mod methods;
mod observed;
mod probe;
mod run;
mod settings;
mod source;
mod states;
mod yardsticks;

pub use duration::expected;
pub use methods::CopyJob;
pub(crate) use methods::CopyTask;
pub use run::run;
pub use settings::{Buffer, Cases, Selection, needed_bytes};
pub use yardsticks::YardstickJob;
pub(crate) use yardsticks::YardstickTask;
