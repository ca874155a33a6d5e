//! Where the time of a run went: on the CPU, or blocked, and in which calls.

use super::{CallGroup, CallRow, TraceResult};

/// Time of all threads, seconds. Their sum can exceed the run's, since threads run concurrently.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spent {
    /// Running; `None` when not observed.
    pub on_cpu_s: Option<f64>,
    /// Blocked inside calls; `None` when not observed.
    pub blocked: Option<InCalls>,
    /// Inside calls, on the CPU or blocked; `None` when calls were not observed.
    pub in_calls: Option<InCalls>,
}

/// Time inside calls by their purpose, seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct InCalls {
    /// In calls that make data durable.
    pub syncs_s: f64,
    /// In reads of stored files.
    pub reads_s: f64,
    /// In writes of stored files, and in copies inside the kernel.
    pub writes_s: f64,
    /// In `io_uring_enter`.
    pub ring_s: f64,
    /// In all other calls: opening, naming, listing.
    pub other_s: f64,
    /// Waiting for time, locks, children, pipes, sockets and terminals.
    pub waiting_s: f64,
}

impl InCalls {
    pub fn total_s(&self) -> f64 {
        self.file_s() + self.waiting_s
    }

    /// The part that is file I/O.
    pub fn file_s(&self) -> f64 {
        self.syncs_s + self.reads_s + self.writes_s + self.ring_s + self.other_s
    }

    fn of(&mut self, group: Option<CallGroup>) -> &mut f64 {
        match group {
            Some(CallGroup::Syncs) => &mut self.syncs_s,
            Some(CallGroup::Reads) => &mut self.reads_s,
            Some(CallGroup::Writes | CallGroup::Copies) => &mut self.writes_s,
            Some(CallGroup::Ring) => &mut self.ring_s,
            Some(CallGroup::Waits) => &mut self.waiting_s,
            Some(CallGroup::Opens) | None => &mut self.other_s,
        }
    }
}

/// Where the time of a run went.
///
/// Time in calls is that of `syscalls`; time on files that no file system stores (pipes, sockets,
/// terminals) is waiting.
pub fn spent(result: &TraceResult) -> Spent {
    Spent {
        on_cpu_s: result.evidence.on_cpu_s,
        blocked: in_calls(result, |call| call.blocked_s),
        in_calls: in_calls(result, |call| Some(call.stats.time_s)).or_else(|| {
            // Calls were observed, and there were none.
            result
                .evidence
                .syscalls
                .as_ref()
                .map(|_| InCalls::default())
        }),
    }
}

fn in_calls(result: &TraceResult, of: impl Fn(&CallRow) -> Option<f64>) -> Option<InCalls> {
    let mut seen = false;
    let mut sum = InCalls::default();
    for row in &result.syscalls {
        if let Some(time_s) = of(row) {
            seen = true;
            *sum.of(CallGroup::of(&row.name)) += time_s;
        }
    }
    let elsewhere = result.files.iter().filter(|file| !file.kind.is_stored());
    let calls = elsewhere.flat_map(|file| &file.calls);
    // A call between two files is counted for its destination.
    for call in calls.filter(|call| !call.is_source) {
        let group = CallGroup::of(&call.row.name);
        if group == Some(CallGroup::Waits) {
            continue;
        }
        let of_group = sum.of(group);
        // Never more than the total: both are sums of the same times, rounded.
        let moved = of(&call.row).unwrap_or(0.0).min(*of_group).max(0.0);
        *of_group -= moved;
        sum.waiting_s += moved;
    }
    seen.then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::fixture;
    use crate::trace::{FileCall, FileKind};

    #[test]
    fn blocked_time_goes_to_what_was_waited_for() {
        let mut result = fixture::result();
        result.syscalls = [
            ("fsync", Some(2.0)),
            ("read", Some(0.5)),
            ("write", Some(0.25)),
            ("openat", Some(0.125)),
            ("wait4", Some(4.0)),
            ("getpid", None),
        ]
        .map(|(name, blocked_s)| fixture::call(name, 1, blocked_s))
        .into();
        let mut pipe = fixture::file("pipe:[7]");
        pipe.kind = FileKind::Pipe;
        pipe.calls = vec![FileCall {
            sites: Vec::new(),
            row: fixture::call("read", 1, Some(0.375)),
            ..FileCall::default()
        }];
        result.files = vec![pipe];
        let blocked = spent(&result).blocked.unwrap();
        let expected = InCalls {
            syncs_s: 2.0,
            reads_s: 0.125,
            writes_s: 0.25,
            ring_s: 0.0,
            other_s: 0.125,
            waiting_s: 4.375,
        };
        assert_eq!(blocked, expected);
        assert!((blocked.total_s() - 6.875).abs() < 1e-9);
    }

    #[test]
    fn unseen_is_none_not_zero() {
        let mut result = fixture::result();
        result.syscalls = vec![fixture::call("write", 1, None)];
        assert_eq!(spent(&result).blocked, None);
    }
}
