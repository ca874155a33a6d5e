//! Real I/O: the experiments, the engine that times and observes them, and the
//! directories and file systems they may write to.
//!
//! Every experiment does its work in a child process ([`engine`]), so that timing
//! and evidence come from the same code, and only below a scratch directory.
#![forbid(unsafe_code)]

pub mod atime;
pub mod buffering;
mod caveats;
pub mod copy;
pub mod engine;
pub mod error;
pub mod experiment;
pub mod interrupt;
mod jobs;
pub mod pace;
pub mod page_cache;
pub mod rebuild;
mod refused;
pub mod replay;
pub mod scratch;
pub mod session;
pub mod sync;
pub mod target;
mod tool;

pub use jobs::child_main;
