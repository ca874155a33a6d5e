//! Crash states on disk: a log is read, its trees are made, and a checker looks at them.

pub mod block;
mod checker;
mod log;

pub use checker::{Checker, Sandbox, Stage};
pub use log::{Log, LogError};
