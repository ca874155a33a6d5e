//! Program runs that the kernel skipped because the same program was already running on that CPU
//! (`__bpf_trace_run`, `kernel/trace/bpf_trace.c`), and how many events were lost with them.

use super::ways::Probe;
use iostrata_core::gap::Stratum;

#[derive(Debug, Clone, Default)]
pub(super) struct Skipped(Vec<(Stratum, Probe, u64)>);

impl FromIterator<(Stratum, Probe, u64)> for Skipped {
    fn from_iter<I: IntoIterator<Item = (Stratum, Probe, u64)>>(of: I) -> Self {
        Self(of.into_iter().collect())
    }
}

impl Skipped {
    pub(super) fn since(self, before: &Self) -> Self {
        let count_before = |program| {
            let same = before.0.iter().find(|(_, probe, _)| *probe == program);
            same.map_or(0, |(.., count)| *count)
        };
        let counts = self.0.into_iter();
        counts
            .map(|(stratum, probe, count)| {
                let count = count.saturating_sub(count_before(probe));
                (stratum, probe, count)
            })
            .collect()
    }

    /// Events that no program saw. Programs at one attachment point replace each other, so at most
    /// as many events are lost as the least skipped of them has skips.
    pub(super) fn events(&self, wanted: impl Fn(Stratum, &Probe) -> bool) -> u64 {
        let is_least = |at: usize, (_, probe, count): &(Stratum, Probe, u64)| {
            self.0
                .iter()
                .enumerate()
                .all(|(other_at, (_, other, less))| {
                    other.on != probe.on || (*count, at) <= (*less, other_at)
                })
        };
        let of_each_place = self.0.iter().enumerate();
        of_each_place
            .filter(|(_, (stratum, probe, _))| wanted(*stratum, probe))
            .filter(|(at, skipped)| is_least(*at, skipped))
            .map(|(_, (.., count))| *count)
            .sum()
    }

    /// All events that no program saw, given the number of requests that began without a visible
    /// end.
    pub(super) fn lost(&self, unended: u64) -> u64 {
        let is_end = |_, probe: &Probe| probe.on == REQUEST_ENDS;
        let others = self.events(|stratum, probe| !is_end(stratum, probe) && probe.on != BIO_ENDS);
        others.saturating_add(self.events(is_end).min(unended))
    }
}

/// Counts nothing: an event that it misses keeps its entry in a table, whose overflow is counted.
const BIO_ENDS: &str = "block_bio_complete";

/// Each request begins and ends, so missed ends are known: at most this many.
const REQUEST_ENDS: &str = "block_rq_complete";

#[cfg(test)]
mod tests {
    use super::super::ways::EVENTS;
    use super::*;

    fn skipped(counts: &[(&str, u64)]) -> Skipped {
        let count_of = |probe: &Probe| {
            let same = counts.iter().find(|(program, _)| *program == probe.program);
            same.map_or(0, |(_, count)| *count)
        };
        let first_ways = EVENTS.iter().flat_map(|event| {
            let probes = event.ways[0].probes.iter();
            probes.map(|probe| (event.stratum, *probe, count_of(probe)))
        });
        first_ways.collect()
    }

    #[test]
    fn what_another_program_has_seen_is_not_lost() {
        assert_eq!(skipped(&[("completed", 42)]).lost(9), 0);
        assert_eq!(skipped(&[("bio_ended", 42)]).lost(9), 0);
        let both = skipped(&[("completed", 42), ("completed_amid", 3), ("switched", 5)]);
        assert_eq!(both.lost(9), 3 + 5);
        assert_eq!(both.lost(1), 1 + 5, "all other requests were seen to end");
        let equal = skipped(&[("completed", 3), ("completed_amid", 3)]);
        assert_eq!(equal.lost(9), 3);
    }

    #[test]
    fn only_what_was_skipped_since_counts() {
        let before = skipped(&[("completed", 40), ("completed_amid", 2), ("switched", 5)]);
        let now = skipped(&[("completed", 42), ("completed_amid", 9), ("switched", 6)]);
        assert_eq!(now.since(&before).lost(9), 2 + 1);
        let calls = before.events(|stratum, _| stratum == Stratum::Blocked);
        assert_eq!(calls, 5);
    }
}
