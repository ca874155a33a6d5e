//! What a power failure would leave on disk.
//!
//! The operations of a log become [effects](effect), the pieces that reach the disk one without the
//! other. A [`Model`] says which effects wait for which and what a sync makes durable; the
//! [`Explorer`] goes through the states that it allows.

mod effect;
mod explore;
mod graph;
mod history;
mod model;
mod state;

#[cfg(test)]
mod tests;

pub use explore::{Budget, Coverage, Explorer, Point, State};
pub use history::{Builder, History, Step};
pub use model::Model;
