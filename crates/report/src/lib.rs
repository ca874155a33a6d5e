//! Renders results. Formats what the other crates computed; computes nothing.
#![forbid(unsafe_code)]

mod compared;
pub mod export;
mod fields;
#[cfg(test)]
mod fixture;
mod format;
pub mod html;
mod json;
pub mod markdown;
pub mod terminal;
mod view;
pub mod words;

pub use format::{is_printable, printable};
pub use json::Json;
