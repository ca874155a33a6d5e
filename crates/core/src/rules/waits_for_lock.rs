//! `waits-for-lock`: time spent waiting for another holder of a file lock.

use super::calls::Sum;
use super::draft::{Found, cited};
use super::rule::{Rule, Subject};

use crate::noun::counted;
use crate::trace::{FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "waits-for-lock",
    looks_for: "calls that waited for another process to release a file lock",
    in_short: "hold the lock for a shorter time",
    advice: "hold the lock for a shorter time, lock parts of the file (F_OFD_SETLKW) or let \
             readers share it (LOCK_SH); if the wait is intended, ignore this rule",
    at: Subject::Files(waited),
};

/// Only the locking commands of these calls can wait (`flock(2)`, `F_SETLKW` in `fcntl(2)`).
const LOCKS: &[&str] = &["flock", "fcntl"];

fn waited(run: &TraceResult, file: &FileRow) -> Option<Found> {
    let locks = Sum::of(file, LOCKS);
    let waited_s = locks.blocked_s.filter(|waited_s| *waited_s > 0.0)?;
    let what = format!(
        "{}, {waited_s:.3} of {:.3} s spent waiting",
        counted(locks.stats.count, "call"),
        locks.stats.time_s
    );
    Some(Found {
        title: format!("waited {waited_s:.2} s for a lock on it"),
        evidence: vec![cited(what, locks.name, file, locks.stats.count)],
        cost_s: waited_s,
        // Several threads may wait at the same time.
        saving_s: Some(waited_s.min(run.wall_s)),
        // Without the lock, the thread may wait for something else.
        is_unproven: true,
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{blocked, file, file_call, run, the_only, with_calls};
    use super::*;

    #[test]
    fn waiting_is_what_is_saved() {
        let calls = vec![blocked(file_call("flock", 2, 0, 0.31), 0.3)];
        let draft = the_only(RULE.look(&run(vec![with_calls(file("/data/lock"), calls)])));
        assert_eq!(draft.finding.saving_s, Some(0.3));
        assert_eq!(draft.finding.title, "waited 0.30 s for a lock on it");
    }

    #[test]
    fn many_locks_that_were_free_are_none() {
        let calls = vec![blocked(file_call("fcntl", 100_000, 0, 0.3), 0.004)];
        assert_eq!(
            RULE.look(&run(vec![with_calls(file("/data/lock"), calls)])),
            vec![]
        );
    }

    #[test]
    fn waiting_that_was_not_seen_is_not_said() {
        let calls = vec![file_call("flock", 2, 0, 0.31)];
        assert_eq!(
            RULE.look(&run(vec![with_calls(file("/data/lock"), calls)])),
            vec![]
        );
    }
}
