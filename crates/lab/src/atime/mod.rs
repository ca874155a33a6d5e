//! `lab atime`: which operations update an access time, and the cost of that.
//!
//! Single operations run in this process, with the access time set before and read after; loops run
//! in workload processes ([`ReadLoopJob`]), timed and observed.

mod aged;
mod cell;
mod loops;
mod matrix;
mod moments;
mod mounts;
mod operations;
mod programs;
mod run;
mod settings;
mod tree;
mod workload;

pub use settings::{Plan, Selection};
pub(crate) use workload::ReadLoopTask;
pub use workload::{LoopReport, ReadLoopJob};
