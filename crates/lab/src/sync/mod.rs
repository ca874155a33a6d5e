//! `lab sync`: the work and its measurement.
//!
//! What is measured is described in [`iostrata_core::sync`]; here files are really
//! written and synced ([`SyncJob`]), timed and observed.

mod calibration;
mod caveats;
mod duration;
mod item;
mod job;
mod observed;
mod run;
mod settings;
mod task;
mod writer;

pub(crate) use calibration::DirectTask;
pub use calibration::{DirectJob, DirectReport};
pub use duration::expected;
pub use job::{SyncJob, SyncReport};
pub use run::run;
pub use settings::{Selection, needed_bytes};
pub(crate) use task::SyncTask;
