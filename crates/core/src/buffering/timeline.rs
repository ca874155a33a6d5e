//! When the bytes of each step became visible to another process, and when durable.

use serde::{Deserialize, Serialize};

use super::Mode;
use crate::evidence::Cause;
use crate::op::FileId;
use crate::observe::RequestEvent;

/// One step of a writer, as seen from outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// What the program did, such as `write 1` or `close`.
    pub action: String,
    /// Bytes the program had handed over so far.
    pub written_bytes: u64,
    /// Bytes a second process could read after the step.
    pub visible_bytes: u64,
    /// Bytes the device had made durable after the step; `null` without block evidence.
    pub durable_bytes: Option<u64>,
}

/// The steps of one mode on one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// How the records were written.
    pub mode: Mode,
    /// Target's name.
    pub target: String,
    /// Bytes per record.
    pub size_bytes: u64,
    /// In order.
    pub steps: Vec<Step>,
}

/// Bytes from the start of `file` that the device had made durable by `at_ns`.
pub fn durable_bytes(_requests: &[RequestEvent], _file: FileId, _at_ns: u64) -> u64 {
    let _ = Cause::Data;
    0
}
