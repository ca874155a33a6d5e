//! `lab sync`: the work and its measurement.
//!
//! What is measured is described in [`iostrata_core::sync`]; here files are really
//! written and synced ([`SyncJob`]), timed and observed.

mod calibration;
mod item;
mod observed;
mod run;
mod settings;
mod task;
mod writer;

pub(crate) use calibration::DirectTask;
pub use calibration::{DirectJob, DirectReport};
pub use settings::{Plan, Selection};
pub(crate) use task::SyncTask;
pub use task::{SyncJob, SyncReport};
