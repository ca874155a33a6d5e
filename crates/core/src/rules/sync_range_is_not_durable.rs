//! `sync-range-is-not-durable`: `sync_file_range` in place of a sync.

use super::fault::{Fault, Habits, Stake};
use super::rule::{Rule, Subject};
use crate::bytes::short;
use crate::noun::counted;
use crate::trace::{FileHistory, FileRow};

pub(super) static RULE: Rule = Rule {
    id: "sync-range-is-not-durable",
    looks_for: "sync_file_range on a file that is never synced",
    in_short: "call fdatasync instead of sync_file_range",
    advice: "call fdatasync or fsync where data must survive a crash: sync_file_range writes no \
             metadata and does not flush the disk's cache (sync_file_range(2)); use it to start \
             write-back early, before such a call",
    at: Subject::CrashOf(
        "sync_file_range without fsync: none of it is durable",
        fault,
    ),
};

fn is_relied_on(history: &FileHistory) -> bool {
    history.hints.is_any()
        && !history.syncs.is_any()
        && history.unsynced_bytes > 0
        && !history.unlinked
}

fn fault<'a>(_: &Habits<'_>, file: &'a FileRow, history: &FileHistory) -> Option<Fault<'a>> {
    is_relied_on(history).then(|| Fault {
        file,
        stake: Stake::New,
        // It may only serve to keep dirty memory low.
        is_proven: false,
        what: format!(
            "{} to sync_file_range, no fsync or fdatasync; {} were not durable at the end",
            counted(history.hints.count, "call"),
            short(history.unsynced_bytes)
        ),
        call: "sync_file_range",
        happened: history.hints.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{changed, happened, run, the_only};
    use super::*;
    use crate::trace::{Confidence, TraceResult};

    fn hinted(syncs: &[u64], unsynced_bytes: u64) -> TraceResult {
        let history = FileHistory {
            hints: happened(&[1, 2]),
            syncs: happened(syncs),
            unsynced_bytes,
            ..FileHistory::default()
        };
        run(vec![changed("/data/x", history)])
    }

    #[test]
    fn in_place_of_a_sync_it_is_a_fault() {
        let finding = the_only(RULE.look(&hinted(&[], 4096))).finding;
        assert_eq!(finding.evidence[0].count, Some(2));
        assert_eq!(finding.confidence, Confidence::Likely);
    }

    #[test]
    fn before_a_sync_it_is_good_style() {
        assert_eq!(RULE.look(&hinted(&[3], 0)), vec![]);
        assert_eq!(RULE.look(&hinted(&[], 0)), vec![], "O_DSYNC, or syncfs");
    }
}
