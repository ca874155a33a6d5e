//! A request that a block device got.

/// One request, in the order of arrival. The device had answered it when the next one came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// When it was done, nanoseconds of `CLOCK_MONOTONIC`.
    pub done_ns: u64,
    pub action: Action,
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Bytes for a range.
    Write {
        /// Where on the device, bytes.
        offset: u64,
        bytes: u64,
        /// Where they are in the log of requests, bytes.
        at: u64,
    },
    /// Everything that was answered before is to be durable.
    Flush,
    /// A range is not needed any more; it reads as zeros.
    Discard { offset: u64, bytes: u64 },
    /// A range is to read as zeros.
    Zero { offset: u64, bytes: u64 },
}
