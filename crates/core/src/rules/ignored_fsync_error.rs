//! `ignored-fsync-error`: a sync failed, and the program continued to use the file.

use super::fault::{Fault, Habits, Stake};
use super::rule::{Rule, Subject};

use crate::noun::counted;
use crate::trace::{FileHistory, FileRow};

pub(super) static RULE: Rule = Rule {
    id: "ignored-fsync-error",
    looks_for: "writes or syncs after a failed sync, through the same open file",
    in_short: "treat a failed fsync as lost data",
    advice: "treat a failed fsync as lost data: stop, and rewrite everything from your own copy. \
             Calling fsync again does not help: the kernel reports an error once, and may have \
             marked the pages clean (fsync(2))",
    at: Subject::CrashOf(
        "a sync failed and the program continued: data written before it may be lost",
        fault,
    ),
};

fn is_ignored(history: &FileHistory) -> bool {
    let goes_on = history.writes_after_failed_sync > 0 || history.syncs_after_failed_sync.is_any();
    history.failed_syncs.is_any() && goes_on
}

fn fault<'a>(_: &Habits<'_>, file: &'a FileRow, history: &FileHistory) -> Option<Fault<'a>> {
    is_ignored(history).then(|| Fault {
        file,
        stake: Stake::Acknowledged,
        is_proven: true,
        what: format!(
            "{} failed; then {} and {} succeeded, without reopening the file",
            counted(history.failed_syncs.count, "sync"),
            counted(history.writes_after_failed_sync, "write"),
            counted(history.syncs_after_failed_sync.count, "sync")
        ),
        call: "fsync",
        happened: history.failed_syncs.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{changed, happened, run, the_only};
    use super::*;
    use crate::trace::{Severity, TraceResult};

    fn failed(writes_after: u64, syncs_after: &[u64]) -> TraceResult {
        let history = FileHistory {
            failed_syncs: happened(&[3_000_000]),
            writes_after_failed_sync: writes_after,
            syncs_after_failed_sync: happened(syncs_after),
            ..FileHistory::default()
        };
        run(vec![changed("/data/db", history)])
    }

    #[test]
    fn writing_on_and_trying_again_are_faults() {
        for run in [failed(2, &[]), failed(0, &[4])] {
            let finding = the_only(RULE.look(&run)).finding;
            assert_eq!(finding.severity, Severity::High);
            assert_eq!(finding.evidence[0].at_s, Some(0.003));
        }
    }

    #[test]
    fn to_stop_is_right() {
        assert_eq!(RULE.look(&failed(0, &[])), vec![]);
    }
}
