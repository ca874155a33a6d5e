//! Crash states on disk: a log is read, its trees are made, and a checker looks at them.

mod attended;
pub mod block;
mod checker;
mod copied;
mod formats;
mod log;
mod room;
mod starter;
mod workers;

pub use attended::attended_main;
pub use checker::{CheckError, Checker, Stage};
pub use copied::{CopyError, copy_directory};
pub use log::{Log, LogError};
pub use starter::starter_main;
pub use workers::{SharedLog, Workers, sandbox};
