//! The effect of the syncs of one file.
//!
//! A run of writes is reported when it ends, so a sync by another thread may come first. The latest
//! syncs are kept, and judged again when a change turns out to precede them.

use std::collections::VecDeque;

use super::Span;
use crate::trace::FileHistory;

/// Number of syncs that can still be judged again.
const KEPT: usize = 16;

/// The effect of a change on the length of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    /// It is as long as before.
    Steady,
    /// It is longer, or shorter.
    Resized,
    /// Unknown; or a change other than of contents, which only `fsync` makes durable.
    Unclear,
}

/// The usefulness of a sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unsynced {
    /// Nothing had changed since the last sync.
    Nothing,
    /// The run had not changed the file yet; others may have.
    Untouched,
    /// The length had changed.
    Growing,
    /// Contents had changed, but not the length.
    Steady,
    Unclear,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    span: Span,
    /// Start of the sync after which changes count; 0 for none.
    since_ns: u64,
    data_only: bool,
    verdict: Unsynced,
}

/// The syncs of one file, and the latest moments of its changes.
#[derive(Debug, Clone, Default)]
pub(super) struct Syncs {
    latest: VecDeque<Seen>,
    /// Of the syncs no longer kept, the one with the latest end.
    forgotten: Option<Span>,
    change_ns: Option<u64>,
    resized_ns: Option<u64>,
    unclear_ns: Option<u64>,
}

impl Syncs {
    /// Start of the latest sync that had ended at `moment_ns`, of the file itself or of its `whole`
    /// file system. `None` without one.
    pub(super) fn complete_at(&self, moment_ns: u64, whole: Option<Span>) -> Option<u64> {
        let spans = self.latest.iter().map(|seen| seen.span);
        spans
            .chain(self.forgotten)
            .chain(whole)
            .filter(|span| span.ended_ns <= moment_ns)
            .map(|span| span.started_ns)
            .max()
    }

    /// Whether single syncs at `moment_ns` are no longer known.
    pub(super) fn is_forgotten(&self, moment_ns: u64) -> bool {
        self.forgotten.is_some_and(|span| span.ended_ns > moment_ns)
    }

    /// A change of the file, which may come after syncs that began after it.
    pub(super) fn changed(&mut self, span: Span, growth: Growth, history: &mut FileHistory) {
        let ended_ns = Some(span.ended_ns);
        self.change_ns = self.change_ns.max(ended_ns);
        match growth {
            Growth::Steady => {}
            Growth::Resized => self.resized_ns = self.resized_ns.max(ended_ns),
            Growth::Unclear => self.unclear_ns = self.unclear_ns.max(ended_ns),
        }
        for seen in &mut self.latest {
            if span.ended_ns <= seen.since_ns || span.started_ns >= seen.span.ended_ns {
                continue;
            }
            let better = match (seen.verdict, growth) {
                (Unsynced::Growing, _) | (_, Growth::Resized) => Unsynced::Growing,
                (Unsynced::Unclear, _) | (_, Growth::Unclear) => Unsynced::Unclear,
                (_, Growth::Steady) => Unsynced::Steady,
            };
            if better != seen.verdict {
                count(seen, history, false);
                seen.verdict = better;
                count(seen, history, true);
            }
        }
    }

    /// The latest change before a sync at `moment_ns` that is in the journal, which the sync
    /// therefore made the file system write: for `fdatasync`, a change of the length
    /// (`ext4_sync_file`, `fs/ext4/fsync.c`; `xfs_file_fsync`, `fs/xfs/xfs_file.c`).
    pub(super) fn journalled(&self, moment_ns: u64, data_only: bool) -> Option<u64> {
        let changed_ns = if data_only {
            self.resized_ns
        } else {
            self.change_ns
        };
        changed_ns.filter(|&at_ns| at_ns <= moment_ns)
    }

    /// A successful sync. `is_mapped`: stores, which are not observed, may change the file.
    pub(super) fn synced(
        &mut self,
        span: Span,
        data_only: bool,
        is_mapped: bool,
        whole: Option<Span>,
        history: &mut FileHistory,
    ) {
        let since = self.complete_at(span.started_ns, whole);
        let after = |moment: Option<u64>| moment.is_some_and(|at| since.is_none_or(|s| at > s));
        let verdict = if after(self.resized_ns) {
            Unsynced::Growing
        } else if is_mapped || after(self.unclear_ns) {
            Unsynced::Unclear
        } else if after(self.change_ns) {
            Unsynced::Steady
        } else if since.is_some() {
            Unsynced::Nothing
        } else {
            Unsynced::Untouched
        };
        let seen = Seen {
            span,
            since_ns: since.unwrap_or(0),
            data_only,
            verdict,
        };
        count(&seen, history, true);
        self.latest.push_back(seen);
        if self.latest.len() > KEPT
            && let Some(old) = self.latest.pop_front()
        {
            let is_later = |span: Span| span.ended_ns > old.span.ended_ns;
            self.forgotten = self
                .forgotten
                .filter(|&span| is_later(span))
                .or(Some(old.span));
        }
    }
}

fn count(seen: &Seen, history: &mut FileHistory, add: bool) {
    let happened = match seen.verdict {
        Unsynced::Nothing => &mut history.syncs_of_nothing,
        Unsynced::Growing => &mut history.growing_syncs,
        Unsynced::Steady if !seen.data_only => &mut history.steady_syncs,
        Unsynced::Steady | Unsynced::Untouched | Unsynced::Unclear => return,
    };
    if add {
        happened.add(seen.span);
    } else {
        happened.take_back(seen.span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::fixture::span;

    /// Syncs without changes, with the same length, with growth.
    fn counts(history: &FileHistory) -> (u64, u64, u64) {
        (
            history.syncs_of_nothing.count,
            history.steady_syncs.count,
            history.growing_syncs.count,
        )
    }

    #[test]
    fn syncs_are_told_apart() {
        let (mut syncs, mut history) = (Syncs::default(), FileHistory::default());
        let sync = |syncs: &mut Syncs, history: &mut FileHistory, at, data_only| {
            syncs.synced(span(at, at + 5), data_only, false, None, history);
        };
        sync(&mut syncs, &mut history, 0, false); // untouched
        syncs.changed(span(10, 11), Growth::Resized, &mut history);
        sync(&mut syncs, &mut history, 20, false);
        syncs.changed(span(30, 31), Growth::Steady, &mut history);
        sync(&mut syncs, &mut history, 40, false);
        syncs.changed(span(50, 51), Growth::Steady, &mut history);
        sync(&mut syncs, &mut history, 60, true); // same length, but already fdatasync
        sync(&mut syncs, &mut history, 70, false);
        syncs.changed(span(80, 81), Growth::Unclear, &mut history);
        sync(&mut syncs, &mut history, 90, false);
        assert_eq!(counts(&history), (1, 1, 1));
        assert_eq!(history.syncs_of_nothing.first_ns, [70]);
        assert_eq!(history.steady_syncs.first_ns, [40]);
        assert_eq!(history.growing_syncs.first_ns, [20]);
    }

    #[test]
    fn syncs_of_two_threads_that_overlap_are_both_needed() {
        let (mut syncs, mut history) = (Syncs::default(), FileHistory::default());
        syncs.changed(span(0, 1), Growth::Resized, &mut history);
        syncs.changed(span(2, 3), Growth::Resized, &mut history);
        syncs.synced(span(3, 90), false, false, None, &mut history);
        syncs.synced(span(1, 100), false, false, None, &mut history);
        assert_eq!(counts(&history), (0, 0, 2));
    }

    #[test]
    fn a_run_that_comes_late_changes_the_verdict() {
        let (mut syncs, mut history) = (Syncs::default(), FileHistory::default());
        syncs.synced(span(10, 15), false, false, None, &mut history);
        syncs.synced(span(20, 25), false, false, None, &mut history);
        syncs.synced(span(30, 35), false, false, None, &mut history);
        assert_eq!(counts(&history), (2, 0, 0));
        syncs.changed(span(16, 18), Growth::Steady, &mut history);
        assert_eq!(counts(&history), (1, 1, 0));
        assert_eq!(history.syncs_of_nothing.first_ns, [30]);
    }

    #[test]
    fn what_covered_the_file_at_a_moment() {
        let (mut syncs, mut history) = (Syncs::default(), FileHistory::default());
        assert_eq!(syncs.complete_at(100, None), None);
        syncs.synced(span(10, 20), false, false, None, &mut history);
        syncs.synced(span(30, 40), false, false, None, &mut history);
        assert_eq!(syncs.complete_at(39, None), Some(10));
        assert_eq!(syncs.complete_at(40, None), Some(30));
        assert_eq!(syncs.complete_at(60, Some(span(50, 60))), Some(50));
        for at in 100..100 + KEPT as u64 {
            syncs.synced(span(at, at + 1), false, false, None, &mut history);
        }
        assert!(syncs.is_forgotten(39));
        assert!(!syncs.is_forgotten(40));
    }
}
