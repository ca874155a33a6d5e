//! `journal-amplification`: the journal writes several times as much as the data.

use super::draft::{Found, said};
use super::rule::{Rule, Subject};
use super::synced::{LEAST_SYNCS, synced_names};
use crate::bytes::{grouped, short};
use crate::evidence::RequestCount;
use crate::trace::{Cited, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "journal-amplification",
    looks_for: "a journal that writes several times as many bytes as the data itself",
    in_short: "batch several records per sync",
    advice: "make fewer transactions: sync several records together, overwrite preallocated space \
             with fdatasync instead of appending, and create and remove fewer files between syncs",
    at: Subject::Run(look),
};

/// From this ratio on, most of the disk's writes are the journal.
const LEAST_TIMES: u64 = 2;

fn look(run: &TraceResult) -> Option<Found> {
    let device = run.evidence.exact_device()?;
    let journal = RequestCount {
        count: device.journal.count + device.commit.count,
        bytes: device.journal.bytes + device.commit.bytes,
        time_s: device.journal.time_s + device.commit.time_s,
    };
    let names = synced_names(run);
    let most = names.iter().max_by_key(|name| name.sum.syncs.count)?;
    let too_few = journal.count < LEAST_SYNCS || device.data.bytes == 0;
    if too_few || journal.bytes < device.data.bytes.saturating_mul(LEAST_TIMES) {
        return None;
    }
    // A transaction for several syncs has as much journal as data.
    let too_much = 1.0 - device.data.bytes as f64 / journal.bytes as f64;
    // A sync without a journal needs one flush. A transaction needs one before the commit block,
    // and one after it if the disk has no FUA (fs/jbd2/commit.c).
    let syncs: u64 = names.iter().map(|name| name.sum.syncs.count).sum();
    let flush_s = device.flush_time_s / device.flushes.max(1) as f64;
    let more_s = flush_s * device.flushes.saturating_sub(syncs) as f64;
    let cost_s = (journal.time_s + more_s).min(run.wall_s);
    let syncs = format!(
        "{} syncs, the most of any file",
        grouped(most.sum.syncs.count)
    );
    Some(Found {
        title: format!(
            "the journal wrote {} for {} of data",
            short(journal.bytes),
            short(device.data.bytes)
        ),
        evidence: vec![
            Cited {
                count: Some(journal.count),
                ..said(format!(
                    "{} journal requests with {}, {} data requests with {}",
                    grouped(journal.count),
                    short(journal.bytes),
                    grouped(device.data.count),
                    short(device.data.bytes)
                ))
            },
            most.cited(run, syncs, &most.sum.syncs),
        ],
        cost_s,
        saving_s: Some(cost_s * too_much),
        is_unproven: run.other_requests != Some(0),
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{changed, run, synced, the_only};
    use super::*;
    use crate::evidence::DeviceCounts;
    use crate::trace::Confidence;

    fn of(bytes: u64, time_s: f64) -> RequestCount {
        RequestCount {
            count: 100,
            bytes,
            time_s,
        }
    }

    fn with_journal(data: u64, journal: u64, commit: u64) -> TraceResult {
        let mut run = run(vec![changed("/data/log", synced(100, 100, 0.5))]);
        run.evidence.device = Some(
            DeviceCounts {
                data: of(data, 0.1),
                journal: of(journal, 0.15),
                commit: of(commit, 0.05),
                flushes: 200,
                flush_time_s: 0.2,
                ..DeviceCounts::default()
            }
            .into(),
        );
        run
    }

    #[test]
    fn what_exceeds_the_data_is_saved() {
        let run = with_journal(409_600, 819_200, 409_600);
        let draft = the_only(RULE.look(&run));
        // 0.2 s for the journal, and one needed flush per sync of the 200 flushes of 1 ms.
        let cost_s = draft.finding.cost_s.unwrap();
        assert!((cost_s - 0.3).abs() < 1e-9, "{cost_s}");
        // Two thirds of the journal's bytes exceed the data.
        let saving_s = draft.finding.saving_s.unwrap();
        assert!((saving_s - 0.3 * 2.0 / 3.0).abs() < 1e-9, "{saving_s}");
        assert_eq!(draft.finding.confidence, Confidence::Likely);
        assert_eq!(draft.finding.evidence[1].count, Some(100));
    }

    #[test]
    fn a_journal_of_less_than_twice_the_data_is_none() {
        assert_eq!(RULE.look(&with_journal(409_600, 409_600, 409_599)), vec![]);
        let mut unseen = with_journal(409_600, 819_200, 409_600);
        unseen.evidence.device = None;
        assert_eq!(RULE.look(&unseen), vec![]);
    }
}
