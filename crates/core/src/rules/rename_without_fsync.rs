//! `rename-without-fsync`: a file gets its name before its contents are durable.

use super::fault::{Fault, Habits, Stake};
use super::rule::{Rule, Subject};
use crate::bytes::short;
use crate::trace::{FileHistory, FileRow, NameHolder, Naming};

pub(super) static RULE: Rule = Rule {
    id: "rename-without-fsync",
    looks_for: "a file renamed or linked to its final name before its contents were synced",
    in_short: "call fsync before rename",
    advice: "call fsync or fdatasync on the new file (msync with MS_SYNC on a mapping) before \
             rename or link, and before the rename of a directory on each file in it; then call \
             fsync on the directory; the file system's own safeguard (ext4: auto_da_alloc) only \
             starts the write and waits for nothing",
    at: Subject::CrashOf(
        "got its name before its contents were synced: a crash can leave it empty or full of zeros",
        fault,
    ),
};

const VACANT: &str = "no file had that name before";

fn is_at_risk(file: &FileRow, history: &FileHistory) -> bool {
    // Mapped, without stores.
    let is_untouched = history.written_bytes == 0 && file.evidence.cache.dirtied_bytes == Some(0);
    // No previous contents exist: programs that set up a directory sync it once, when everything is
    // there.
    let is_made_good = history.unsynced_bytes == 0
        && history.written_bytes > 0
        && matches!(
            history.renamed_over,
            Some(NameHolder::Vacant | NameHolder::Own)
        );
    history.renamed_unsynced.is_any() && !history.unlinked && !is_untouched && !is_made_good
}

fn fault<'a>(habits: &Habits<'_>, file: &'a FileRow, history: &FileHistory) -> Option<Fault<'a>> {
    if !is_at_risk(file, history) {
        return None;
    }
    let is_told = history.acknowledged.is_any();
    let (stake, is_proven, target) = match history.renamed_over {
        Some(NameHolder::Existing) => (Stake::Old, true, "replaced the existing file"),
        Some(NameHolder::Own) => (Stake::New, true, "replaced a file that the run had created"),
        // No old contents are lost. A program that syncs nothing does not rely on the new ones.
        Some(NameHolder::Vacant) if is_told || habits.is_anywhere(history) => {
            (Stake::New, true, VACANT)
        }
        Some(NameHolder::Vacant) => (Stake::Little, true, VACANT),
        Some(NameHolder::Unknown) | None => (
            Stake::Old,
            false,
            "replaced any previous file of that name; iostrata did not see whether there was one",
        ),
    };
    let (call, how) = match history.name_unsynced {
        Some(Naming::Linked) => ("link", "linked"),
        _ => ("rename", "renamed"),
    };
    Some(Fault {
        file,
        stake,
        is_proven,
        what: format!(
            "{} written as {}, {how} without a sync in between; {target}",
            short(history.written_bytes),
            file.path
        ),
        call,
        happened: history.renamed_unsynced.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{changed, happened, run, the_only};
    use super::*;
    use crate::trace::{Confidence, Severity};

    fn renamed(target: Option<NameHolder>) -> FileRow {
        let history = FileHistory {
            written_bytes: 9000,
            unsynced_bytes: 9000,
            renamed_unsynced: happened(&[500_000_000]),
            renamed_over: target,
            ..FileHistory::default()
        };
        FileRow {
            renamed_to: Some("/data/config".to_owned()),
            ..changed("/data/config.tmp", history)
        }
    }

    #[test]
    fn to_lose_the_old_contents_is_worse_than_to_lose_the_new() {
        let told = |target| {
            let finding = the_only(RULE.look(&run(vec![renamed(target)]))).finding;
            (finding.severity, finding.confidence)
        };
        let (certain, likely) = (Confidence::Certain, Confidence::Likely);
        assert_eq!(told(Some(NameHolder::Existing)), (Severity::High, certain));
        assert_eq!(told(Some(NameHolder::Vacant)), (Severity::Low, certain));
        assert_eq!(told(Some(NameHolder::Unknown)), (Severity::High, likely));
    }

    #[test]
    fn a_new_name_matters_more_to_a_process_that_syncs() {
        let history = FileHistory {
            written_by: Some(7),
            ..*renamed(Some(NameHolder::Vacant)).history.unwrap()
        };
        let other = FileHistory {
            synced_by: Some(7),
            ..FileHistory::default()
        };
        let files = vec![changed("/data/a", history), changed("/log", other)];
        let draft = the_only(RULE.look(&run(files)));
        assert_eq!(draft.finding.severity, Severity::Medium);
    }

    #[test]
    fn the_final_name_and_the_moment_are_cited() {
        let renamed = renamed(Some(NameHolder::Existing));
        let draft = the_only(RULE.look(&run(vec![renamed])));
        assert_eq!(draft.finding.file.as_deref(), Some("/data/config"));
        assert_eq!(draft.finding.evidence[0].at_s, Some(0.5));
        let what = &draft.finding.evidence[0].what;
        assert!(
            what.contains("8.8 KiB written as /data/config.tmp"),
            "{what}"
        );
    }

    #[test]
    fn a_file_that_was_synced_first_is_none() {
        let mut synced = renamed(None);
        synced.history.as_mut().unwrap().renamed_unsynced = happened(&[]);
        let mut compiled = renamed(Some(NameHolder::Vacant));
        compiled.renamed_to = Some("/lib/__pycache__/a.cpython-311.pyc".to_owned());
        assert_eq!(RULE.look(&run(vec![synced, compiled])), vec![]);
    }

    #[test]
    fn new_files_that_are_all_synced_in_the_end_are_none() {
        let late = |target| {
            let mut file = renamed(Some(target));
            file.history.as_mut().unwrap().unsynced_bytes = 0;
            RULE.look(&run(vec![file])).len()
        };
        assert_eq!((late(NameHolder::Vacant), late(NameHolder::Own)), (0, 0));
        assert_eq!(
            late(NameHolder::Existing),
            1,
            "the old one was at risk meanwhile"
        );
    }
}
