//! Draws results. Formats what the other crates found out; computes nothing.
#![forbid(unsafe_code)]

mod format;
pub mod terminal;

pub use format::printable;
