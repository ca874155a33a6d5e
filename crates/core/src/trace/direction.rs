//! The effect of a call on bytes.

use super::calls::{Effect, effect};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the file.
    Read,
    /// Into the file.
    Write,
}

/// The direction in which the call moves bytes of its file; `None` for calls that do not return a
/// number of bytes.
pub fn direction(call: &str) -> Option<Direction> {
    match effect(call)? {
        Effect::Reads => Some(Direction::Read),
        Effect::Writes | Effect::Copies => Some(Direction::Write),
        _ => None,
    }
}

/// Whether the call makes data durable or requests it.
pub fn is_sync(call: &str) -> bool {
    effect(call) == Some(Effect::Syncs)
}

/// Whether the call opens a file.
pub fn is_open(call: &str) -> bool {
    effect(call) == Some(Effect::Opens)
}
