//! What a call does with bytes.

use super::calls::{Effect, effect};

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the file.
    Read,
    /// Into the file.
    Write,
}

/// Which way the call moves bytes of the file it is counted at; `None` for calls that
/// return no number of bytes.
pub fn direction(call: &str) -> Option<Direction> {
    match effect(call)? {
        Effect::Reads => Some(Direction::Read),
        Effect::Writes | Effect::Copies => Some(Direction::Write),
        _ => None,
    }
}

/// Whether the call makes data durable or asks for it.
pub fn is_sync(call: &str) -> bool {
    effect(call) == Some(Effect::Syncs)
}

/// Whether the call opens a file.
pub fn is_open(call: &str) -> bool {
    effect(call) == Some(Effect::Opens)
}
