//! What a language runtime buffers, read off its system calls.

use serde::{Deserialize, Serialize};

use crate::op::Op;

/// One system call of a runtime's program on its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuntimeCall {
    /// `write`, `writev`, `fsync` ...
    pub name: String,
    /// Length of each buffer handed over.
    pub pieces_bytes: Vec<u64>,
    /// What the kernel took.
    pub returned_bytes: u64,
}

/// What one runtime does with small writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuntimeBuffer {
    /// `C stdio`, `Python` ...
    pub runtime: String,
    /// Version it reports.
    pub version: String,
    /// Call used in its own words, such as `open(path, "wb").write`.
    pub api: String,
    /// Calls of: write "one", "two", "three", flush.
    pub three_writes: Vec<RuntimeCall>,
    /// Calls of: ten records of 1 KiB, close.
    pub ten_kib: Vec<RuntimeCall>,
    /// Size of the user-space buffer; `null` when there is none or it was not reached.
    pub buffer_bytes: Option<u64>,
    /// What must be said about the row, such as why the buffer size is unknown.
    pub note: Option<String>,
}

/// The calls among `ops` that touch one file, and the buffer size they show.
pub fn buffer_from_ops(_ops: &[Op]) -> Option<u64> {
    None
}
