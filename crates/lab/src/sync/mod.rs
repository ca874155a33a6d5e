//! `lab sync`: the work and its measurement.
//!
//! [`iostrata_core::sync`] describes the cases; this module writes and syncs real files
//! ([`SyncJob`]), timed and observed.

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
pub use writer::Limit;
