//! `lab page-cache`: the work and its measurement.
//!
//! [`iostrata_core::page_cache`] describes the cases; this module creates files, evicts or warms
//! them, verifies their state, and has a separate process read them, timed and observed.

mod content;
mod item;
mod parser;
mod possible;
mod random;
mod reader;
mod rows;
mod run;
mod settings;

pub use random::{Latencies, read_randomly};
pub(crate) use reader::ReadFileTask;
pub use reader::{FileStep, ReadFileJob, ReadFileReport};
pub use settings::{Plan, Selection};
