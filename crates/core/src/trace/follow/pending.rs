//! Changes that no sync has covered yet.

use std::collections::VecDeque;

/// Changes that are kept apart. Older ones are joined, as if all had ended with the last
/// of them: so more counts as not covered than may be, never less.
const APART: usize = 16;

/// A change of a file or a directory, and how much it changed: bytes, or names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    /// When it began, nanoseconds.
    pub(super) started_ns: u64,
    /// When it ended, nanoseconds.
    pub(super) ended_ns: u64,
    /// Bytes or names.
    pub(super) amount: u64,
}

/// Changes since the last sync that covers all before it.
#[derive(Debug, Clone, Default)]
pub(super) struct Pending(VecDeque<Change>);

impl Pending {
    /// One more.
    pub(super) fn add(&mut self, change: Change) {
        self.0.push_back(change);
        if self.0.len() > APART {
            let old = self.0.pop_front();
            if let (Some(old), Some(next)) = (old, self.0.front_mut()) {
                next.started_ns = next.started_ns.min(old.started_ns);
                next.ended_ns = next.ended_ns.max(old.ended_ns);
                next.amount = next.amount.saturating_add(old.amount);
            }
        }
    }

    /// A sync that began at `began_ns` made durable what had ended by then. Says whether a
    /// change was under way at that moment.
    pub(super) fn cover(&mut self, began_ns: u64) -> bool {
        self.0.retain(|change| change.ended_ns > began_ns);
        self.0.iter().any(|change| change.started_ns < began_ns)
    }

    /// What is not covered: bytes, or names.
    pub(super) fn amount(&self) -> u64 {
        let amounts = self.0.iter().map(|change| change.amount);
        amounts.fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(started_ns: u64, ended_ns: u64, amount: u64) -> Change {
        Change {
            started_ns,
            ended_ns,
            amount,
        }
    }

    #[test]
    fn a_sync_covers_what_had_ended_when_it_began() {
        let mut pending = Pending::default();
        pending.add(change(0, 10, 1));
        pending.add(change(5, 20, 2));
        assert!(pending.cover(10), "the second was under way");
        assert_eq!(pending.amount(), 2);
        assert!(!pending.cover(20));
        assert_eq!(pending.amount(), 0);
    }

    #[test]
    fn joined_changes_are_covered_last() {
        let mut pending = Pending::default();
        for moment in 0..1000 {
            pending.add(change(moment, moment + 1, 1));
        }
        assert_eq!(pending.0.len(), APART);
        assert_eq!(pending.amount(), 1000);
        // The joined ones end at 985: a sync that began before covers none of them.
        pending.cover(984);
        assert_eq!(pending.amount(), 1000);
        pending.cover(985);
        assert_eq!(pending.amount(), 15);
    }
}
