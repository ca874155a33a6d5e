//! `uring-single-operations`: `io_uring` used like a plain system call.

use super::draft::{Found, said};
use super::rule::{Rule, Subject};
use crate::bytes::grouped;
use crate::trace::{CallGroup, CallRow, Cited, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "uring-single-operations",
    looks_for: "one io_uring_enter call per operation",
    in_short: "submit several operations with one call",
    advice: "submit several operations with one call and wait for one of them, not for all; for \
             one at a time, pread and pwrite are cheaper",
    at: Subject::Run(single),
};

/// Fewer than three operations per two calls: hardly ever more than one at a time.
const OPERATIONS_PER_ENTER: f64 = 1.5;

/// Two concurrent operations halve the calls and the waits; how many the program could have under
/// way is unknown.
const SAVED: f64 = 0.5;

fn single(run: &TraceResult) -> Option<Found> {
    let enter = run
        .syscalls
        .iter()
        .find(|row| row.name == "io_uring_enter")?;
    let operations = Operations::of(run);
    let count = operations.count;
    if count == 0 || count as f64 > enter.stats.count as f64 * OPERATIONS_PER_ENTER {
        return None;
    }
    // Work that operations do inside the call is their own, and necessary. Waiting is not: other
    // operations could be under way meanwhile. But a thread that fetches completions also waits
    // while there is nothing to complete, which costs nothing.
    let waiting_s = enter.blocked_s?;
    let awaited_s = waiting_s.min(operations.time_s);
    let calling_s = (enter.stats.time_s - waiting_s - operations.time_s).max(0.0);
    let cost_s = calling_s + awaited_s;
    Some(Found {
        title: format!(
            "{} operations in {} calls of io_uring_enter",
            grouped(count),
            grouped(enter.stats.count)
        ),
        evidence: vec![Cited {
            call: Some(enter.name.clone()),
            count: Some(enter.stats.count),
            ..said(format!(
                "{:.3} s in it, {awaited_s:.3} s of that waiting for operations, {:.1} operations \
                 per call",
                enter.stats.time_s,
                count as f64 / enter.stats.count as f64
            ))
        }],
        cost_s,
        saving_s: Some(cost_s * SAVED),
        // Each operation may need the result of the previous one.
        is_unproven: true,
        ..Found::default()
    })
}

/// Operations on stored files. Others wait for pipes, sockets and time, not for a device.
struct Operations {
    count: u64,
    /// From submission to completion, seconds.
    time_s: f64,
}

impl Operations {
    fn of(run: &TraceResult) -> Self {
        let elsewhere = run.files.iter().filter(|file| !file.kind.is_stored());
        let elsewhere = elsewhere.flat_map(|file| &file.calls);
        let elsewhere = elsewhere.filter(|call| !call.is_source);
        let mut sum = Self {
            count: 0,
            time_s: 0.0,
        };
        for row in run.syscalls.iter().filter(|row| is_operation(row)) {
            sum.count = sum.count.saturating_add(row.stats.count);
            sum.time_s += row.stats.time_s;
        }
        for row in elsewhere
            .map(|call| &call.row)
            .filter(|row| is_operation(row))
        {
            sum.count = sum.count.saturating_sub(row.stats.count);
            sum.time_s = (sum.time_s - row.stats.time_s).max(0.0);
        }
        sum
    }
}

fn is_operation(row: &CallRow) -> bool {
    let moves = matches!(
        CallGroup::of(&row.name),
        Some(CallGroup::Reads | CallGroup::Writes | CallGroup::Copies | CallGroup::Syncs)
    );
    moves && row.name.starts_with("io_uring.")
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{call, file, file_call, run, the_only};
    use super::*;
    use crate::trace::FileKind;

    fn ring(operations: u64, working_s: f64) -> TraceResult {
        TraceResult {
            syscalls: vec![
                CallRow {
                    blocked_s: Some(0.03),
                    ..call("io_uring_enter", 10_000, 0, 0.1)
                },
                call("io_uring.write", operations, 0, working_s),
            ],
            ..run(vec![])
        }
    }

    #[test]
    fn what_is_not_the_work_of_operations_is_halved() {
        let draft = the_only(RULE.look(&ring(10_000, 0.04)));
        let saving_s = draft.finding.saving_s.unwrap();
        assert!((saving_s - 0.03).abs() < 1e-9, "{saving_s}");
    }

    #[test]
    fn waiting_is_counted_whatever_the_operations_took() {
        assert_eq!(
            the_only(RULE.look(&ring(10_000, 5.0))).finding.cost_s,
            Some(0.03)
        );
    }

    /// One thread submits and another fetches completions, for which it waits most of the time.
    #[test]
    fn an_idle_completion_thread_costs_nothing() {
        let mut idle = ring(10_000, 0.0004);
        idle.syscalls[0].stats.time_s = 4.76;
        idle.syscalls[0].blocked_s = Some(4.759);
        assert_eq!(RULE.look(&idle), vec![]);
        let mut waiting_for_others = ring(10_000, 0.0004);
        waiting_for_others.syscalls[0].stats.time_s = 4.76;
        waiting_for_others.syscalls[0].blocked_s = Some(4.76);
        let mut socket = file("socket:[7]");
        socket.kind = FileKind::Socket;
        socket.calls = vec![file_call("io_uring.read", 9_000, 0, 4.0)];
        waiting_for_others
            .syscalls
            .push(call("io_uring.read", 9_000, 0, 4.0));
        waiting_for_others.files = vec![socket];
        assert_eq!(RULE.look(&waiting_for_others), vec![]);
    }

    #[test]
    fn batches_are_none() {
        assert_eq!(RULE.look(&ring(15_001, 0.0)), vec![]);
    }
}
