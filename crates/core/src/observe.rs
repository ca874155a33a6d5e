//! The interface between the code that runs programs and the observers.

use std::fmt;

use crate::environment::Backend;
use crate::evidence::{BlockRow, Cause, Phase, RawEvidence};
use crate::gap::Gap;
use crate::op::{FileId, Op};
use crate::trace::Seen;

/// Events that are streamed in addition to the aggregates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stream {
    /// Every write and sync call on a file, as [`Op`]s.
    pub calls: bool,
    /// Every block request, as [`RequestEvent`]s.
    pub requests: bool,
}

/// One block request from issue to completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestEvent {
    /// Disk, kernel `dev_t`.
    pub disk: u32,
    pub phase: Phase,
    pub cause: Cause,
    /// File of the first page.
    pub file: Option<FileId>,
    /// Offset of the first page in that file, bytes.
    pub file_offset_bytes: u64,
    /// First 512-byte sector on the disk.
    pub sector: u64,
    pub bytes: u64,
    /// Whether the write itself bypasses the device's cache.
    pub forced_unit_access: bool,
    /// Issued to the driver, nanoseconds of `CLOCK_MONOTONIC`.
    pub issued_ns: u64,
    /// Completed by the device, same clock.
    pub completed_ns: u64,
}

/// The observation of one session.
#[derive(Debug, Clone, Default)]
pub struct Observation {
    pub raw: RawEvidence,
    /// Streamed calls, by start time. Empty unless requested.
    pub ops: Vec<Op>,
    /// Streamed requests, by issue time. Empty unless requested.
    pub requests: Vec<RequestEvent>,
    /// Names, tasks and history; `None` when the observer was opened without them.
    pub seen: Option<Seen>,
    /// Parts of the observer that failed: the resulting gap, and the reason. The rest was seen
    /// until then.
    pub failed: Vec<Gap>,
}

/// Observes one process tree at a time.
///
/// A session is `start`, then the program runs, then `program_ended`, then a wait for write-back,
/// then `stop`.
pub trait Observer {
    fn backend(&self) -> Backend;

    fn missing(&self) -> Vec<Gap>;

    /// Starts to observe `root` and all its descendants. `root` must be blocked, so that nothing is
    /// missed.
    fn start(&mut self, root: u32, stream: Stream) -> Result<(), ObserveError>;

    /// Marks the end of the program: later device requests are write-back.
    fn program_ended(&mut self) -> Result<(), ObserveError>;

    /// Device requests of the whole machine since the start, during the session; `None` when the
    /// stratum is not observed. Requests under way have no time yet.
    fn requests_so_far(&mut self) -> Result<Option<Vec<BlockRow>>, ObserveError>;

    /// Ends the session and returns the observation.
    fn stop(&mut self) -> Result<Observation, ObserveError>;
}

/// The kernel refused an operation that had worked when the observer was opened.
#[derive(Debug)]
pub struct ObserveError {
    pub doing: String,
    pub cause: String,
}

impl fmt::Display for ObserveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.doing, self.cause)
    }
}

impl std::error::Error for ObserveError {}
