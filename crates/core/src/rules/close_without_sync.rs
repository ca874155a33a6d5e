//! `close-without-sync`: one file is not synced by a process that syncs other files in its
//! directory.

use super::fault::{Fault, Habits, Stake};
use super::rule::{Rule, Subject};
use crate::bytes::short;
use crate::trace::{FileHistory, FileRow};

pub(super) static RULE: Rule = Rule {
    id: "close-without-sync",
    looks_for: "a file closed without a sync by a process that syncs other files in its directory",
    in_short: "call fsync before close",
    advice: "call fsync before close if the file must survive a crash like its neighbours: close \
             makes nothing durable (close(2)); if it need not, as with a log for people, ignore \
             this rule",
    at: Subject::CrashOf(
        "written and closed without a sync, although the same process syncs other files in its \
         directory",
        fault,
    ),
};

/// Never synced in any way; other rules' subjects are left to them.
fn is_forgotten(history: &FileHistory) -> bool {
    history.closed_unsynced.is_any()
        && history.unsynced_bytes > 0
        && !history.syncs.is_any()
        && !history.failed_syncs.is_any()
        && !history.hints.is_any()
        && !history.mapping_synced
        && !history.renamed_unsynced.is_any()
        && !history.acknowledged.is_any()
        && !history.unlinked
}

fn fault<'a>(habits: &Habits<'a>, file: &'a FileRow, history: &FileHistory) -> Option<Fault<'a>> {
    let is_exception = is_forgotten(history) && habits.is_beside(file, history);
    is_exception.then(|| Fault {
        file,
        stake: if history.created {
            Stake::New
        } else {
            Stake::Little
        },
        // Only the author knows what the program intends to keep.
        is_proven: false,
        what: format!(
            "{} were not durable when it was closed, nor at the end",
            short(history.unsynced_bytes)
        ),
        call: "close",
        happened: history.closed_unsynced.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{changed, happened, run, synced, the_only};
    use super::*;
    use crate::trace::{Confidence, Severity};

    fn forgotten() -> FileHistory {
        FileHistory {
            created: true,
            written_by: Some(7),
            unsynced_bytes: 100,
            closed_unsynced: happened(&[1]),
            ..FileHistory::default()
        }
    }

    fn synced_by(process: u32) -> FileRow {
        let history = FileHistory {
            synced_by: Some(process),
            ..synced(1, 1, 0.001)
        };
        changed("/data/b", history)
    }

    #[test]
    fn the_exception_is_told() {
        let files = vec![changed("/data/a", forgotten()), synced_by(7)];
        let draft = the_only(RULE.look(&run(files)));
        assert_eq!(draft.finding.file.as_deref(), Some("/data/a"));
        assert_eq!(draft.finding.severity, Severity::Medium);
        assert_eq!(draft.finding.confidence, Confidence::Likely);
    }

    #[test]
    fn a_program_that_syncs_nothing_has_no_exceptions() {
        let alone = vec![changed("/data/a", forgotten())];
        assert_eq!(RULE.look(&run(alone)), vec![]);
        let other = vec![changed("/data/a", forgotten()), synced_by(8)];
        assert_eq!(RULE.look(&run(other)), vec![]);
    }

    #[test]
    fn removed_and_partly_synced_files_are_none() {
        let removed = FileHistory {
            unlinked: true,
            ..forgotten()
        };
        let recovered = FileHistory {
            syncs: happened(&[1]),
            ..forgotten()
        };
        let files = [removed, recovered].map(|history| changed("/data/a", history));
        let files = files.into_iter().chain([synced_by(7)]).collect();
        assert_eq!(RULE.look(&run(files)), vec![]);
    }
}
