//! Crash states on disk: a log is read, its trees are made, and a checker looks at them.

mod checker;
mod log;

pub use checker::{Checker, Sandbox, Stage};
pub use log::{Log, LogError};
