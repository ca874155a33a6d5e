//! `lab page-cache`: the work and its measurement.
//!
//! What is measured is described in [`iostrata_core::page_cache`]; here files are made,
//! evicted or brought in, verified, read by a process of their own, timed and observed.

mod content;
mod item;
mod job;
mod memory;
mod parser;
mod possible;
mod random;
mod reader;
mod rows;
mod run;
mod settings;

pub use job::{FileStep, ReadFileJob, ReadFileReport};
pub use random::{Latencies, read_randomly};
pub(crate) use reader::ReadFileTask;
pub use settings::{Plan, Selection};
