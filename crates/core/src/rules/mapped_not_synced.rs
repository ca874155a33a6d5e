//! `mapped-not-synced`: stores to a mapped file that nothing makes durable.

use super::calls::PAGE_BYTES;
use super::fault::{Fault, Habits, Stake};
use super::rule::{Rule, Subject};
use crate::bytes::short;
use crate::trace::{FileHistory, FileRow};

pub(super) static RULE: Rule = Rule {
    id: "mapped-not-synced",
    looks_for: "a file changed through a mapping and never synced, older than the run or beside synced ones",
    in_short: "call msync with MS_SYNC",
    advice: "call msync with MS_SYNC on the changed range, or fsync on the file, before relying \
             on it; neither munmap nor exit makes stores durable (msync(2))",
    at: Subject::CrashOf(
        "mapped, written and never synced: a crash leaves any mix of old and new pages",
        fault,
    ),
};

fn is_forgotten(file: &FileRow, history: &FileHistory) -> bool {
    history.mapped_to_write.is_any()
        && !history.mapping_synced
        && !history.syncs.is_any()
        && !history.unlinked
        // A writable mapping without stores.
        && file.evidence.cache.dirtied_bytes != Some(0)
}

fn fault<'a>(habits: &Habits<'a>, file: &'a FileRow, history: &FileHistory) -> Option<Fault<'a>> {
    if !is_forgotten(file, history) {
        return None;
    }
    let dirtied = file.evidence.cache.dirtied_bytes;
    let by_stores = dirtied.map(|dirtied| dirtied.saturating_sub(history.written_bytes));
    let is_changed = by_stores.is_some_and(|bytes| bytes > 0);
    // Other rules report what was acknowledged or renamed.
    let is_old = !history.created
        && is_changed
        && !history.acknowledged.is_any()
        && !history.renamed_unsynced.is_any();
    if !is_old && !habits.is_beside(file, history) {
        return None;
    }
    // One page is normally old or new.
    let stake = if is_old && by_stores > Some(PAGE_BYTES) {
        Stake::Old
    } else {
        Stake::New
    };
    let seen = match by_stores {
        Some(bytes) => format!("stores made {} of it dirty", short(bytes)),
        None => "iostrata could not see whether stores changed it".to_owned(),
    };
    Some(Fault {
        file,
        stake,
        is_proven: is_changed,
        what: format!("mapped with MAP_SHARED and PROT_WRITE, never synced; {seen}"),
        call: "mmap",
        happened: history.mapped_to_write.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{changed, happened, run, synced, the_only};
    use super::*;
    use crate::trace::{Confidence, Severity, TraceResult};

    fn mapped(path: &str, dirtied_bytes: Option<u64>) -> FileRow {
        let history = FileHistory {
            written_by: Some(7),
            mapped_to_write: happened(&[1]),
            ..FileHistory::default()
        };
        let mut file = changed(path, history);
        file.evidence.cache.dirtied_bytes = dirtied_bytes;
        file
    }

    fn beside(file: FileRow) -> TraceResult {
        let history = FileHistory {
            synced_by: Some(7),
            ..synced(1, 1, 0.001)
        };
        run(vec![file, changed("/data/log", history)])
    }

    #[test]
    fn stores_that_were_seen_make_it_certain() {
        let draft = the_only(RULE.look(&beside(mapped("/data/index", Some(8192)))));
        assert_eq!(draft.finding.confidence, Confidence::Certain);
        let what = &draft.finding.evidence[0].what;
        assert!(what.contains("8.0 KiB of it dirty"), "{what}");
        let draft = the_only(RULE.look(&beside(mapped("/data/index", None))));
        assert_eq!(draft.finding.confidence, Confidence::Likely);
    }

    #[test]
    fn unwritten_synced_and_rebuilt_ones_are_none() {
        assert_eq!(RULE.look(&beside(mapped("/data/index", Some(0)))), vec![]);
        assert_eq!(
            RULE.look(&beside(mapped("/data/db-shm", Some(8192)))),
            vec![]
        );
        let mut cared = mapped("/data/index", Some(8192));
        cared.history.as_mut().unwrap().mapping_synced = true;
        assert_eq!(RULE.look(&beside(cared)), vec![]);
        let mut new = mapped("/data/index", Some(8192));
        new.history.as_mut().unwrap().created = true;
        assert_eq!(RULE.look(&run(vec![new])), vec![]);
        let unseen = run(vec![mapped("/data/index", None)]);
        assert_eq!(RULE.look(&unseen), vec![]);
    }

    #[test]
    fn several_changed_pages_of_an_old_file_can_be_mixed() {
        let severity = |dirtied| {
            let alone = run(vec![mapped("/data/table", Some(dirtied))]);
            the_only(RULE.look(&alone)).finding.severity
        };
        assert_eq!(
            (severity(8192), severity(4096)),
            (Severity::High, Severity::Medium)
        );
    }
}
