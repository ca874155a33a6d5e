//! Changes that no sync has covered yet.

use std::collections::VecDeque;

use super::Span;

/// Maximum number of separate changes. Older ones are joined, as if all had ended with the last of
/// them: so more may count as not covered than is true, never less.
const APART: usize = 16;

/// Changes since the last sync that covers everything before it, and the amount of each: bytes, or
/// names.
#[derive(Debug, Clone, Default)]
pub(super) struct Pending(VecDeque<(Span, u64)>);

impl Pending {
    pub(super) fn add(&mut self, span: Span, amount: u64) {
        self.0.push_back((span, amount));
        if self.0.len() > APART
            && let Some((old, less)) = self.0.pop_front()
            && let Some((next, amount)) = self.0.front_mut()
        {
            next.started_ns = next.started_ns.min(old.started_ns);
            next.ended_ns = next.ended_ns.max(old.ended_ns);
            *amount = amount.saturating_add(less);
        }
    }

    /// A sync that began at `began_ns` covered changes that had ended by then. Returns whether a
    /// change was under way at that moment.
    pub(super) fn cover(&mut self, began_ns: u64) -> bool {
        self.0.retain(|(span, _)| span.ended_ns > began_ns);
        self.0.iter().any(|(span, _)| span.started_ns < began_ns)
    }

    /// The uncovered amount: bytes, or names.
    pub(super) fn amount(&self) -> u64 {
        let amounts = self.0.iter().map(|(_, amount)| *amount);
        amounts.fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::fixture::span;

    #[test]
    fn a_sync_covers_what_had_ended_when_it_began() {
        let mut pending = Pending::default();
        pending.add(span(0, 10), 1);
        pending.add(span(5, 20), 2);
        assert!(pending.cover(10), "the second was under way");
        assert_eq!(pending.amount(), 2);
        assert!(!pending.cover(20));
        assert_eq!(pending.amount(), 0);
    }

    #[test]
    fn joined_changes_are_covered_last() {
        let mut pending = Pending::default();
        for moment in 0..1000 {
            pending.add(span(moment, moment + 1), 1);
        }
        assert_eq!(pending.0.len(), APART);
        assert_eq!(pending.amount(), 1000);
        // The joined ones end at 985: an earlier sync covers none of them.
        pending.cover(984);
        assert_eq!(pending.amount(), 1000);
        pending.cover(985);
        assert_eq!(pending.amount(), 15);
    }
}
