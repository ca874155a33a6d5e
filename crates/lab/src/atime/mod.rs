//! `lab atime`: what moves an access time, and what that costs.
//!
//! Single operations are done in this process, with the access time set before and read
//! after; loops are done by workload processes
//! ([`ReadLoopJob`]), timed and observed.

mod aged;
mod caveats;
mod cell;
mod duration;
mod job;
mod loops;
mod matrix;
mod moments;
mod mounts;
mod observed;
mod operations;
mod programs;
mod run;
mod settings;
mod tree;
mod workload;

pub use duration::expected;
pub use job::{LoopReport, ReadLoopJob};
pub use run::run;
pub use settings::{Chosen, Selection, needed_bytes};
pub(crate) use workload::ReadLoopTask;
