//! Laws that figures obey which were counted in two ways; `trace::audit` judges them.

use serde::{Deserialize, Serialize};

/// What must hold in each result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// Threads have made the calls.
    Calls,
    /// Threads have spent the time of calls on files.
    Time,
    /// Part of it blocked.
    Blocked,
    /// Threads have moved the bytes that calls returned.
    Bytes,
    /// The kernel has accounted the bytes that calls returned to the threads.
    Accounting,
    /// Each call is in a histogram of times that agrees with the time of all.
    Histogram,
    /// Writes and syncs are in the timeline.
    TimelineCalls,
    /// Requests are in the timeline.
    TimelineRequests,
    /// The history of a file has the bytes and syncs of its calls.
    History,
    /// Bytes written to a file's pages turn pages dirty.
    Dirtied,
    /// Dirty pages that a sync has waited for reached a disk.
    Synced,
    /// Threads are on a CPU or blocked in calls no longer than they live.
    Bounds,
}
