//! `mapped-not-synced`: stores to a mapped file that nothing makes durable.

use super::fault::{Fault, Habits, Stake};
use super::rule::{Rule, Subject};
use crate::bytes::short;
use crate::trace::{FileHistory, FileRow};

pub(super) static RULE: Rule = Rule {
    id: "mapped-not-synced",
    looks_for: "a file changed through a mapping and never synced, by a process that syncs others",
    in_short: "call msync with MS_SYNC",
    advice: "call msync with MS_SYNC on the changed range, or fsync on the file, before relying \
             on it; neither munmap nor exit makes stores durable (msync(2))",
    at: Subject::CrashOf(
        "mapped, written and never synced, although the same process syncs other files in its \
         directory",
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
    if !is_forgotten(file, history) || !habits.is_beside(file, history) {
        return None;
    }
    let dirtied = file.evidence.cache.dirtied_bytes;
    let by_stores = dirtied.map(|dirtied| dirtied.saturating_sub(history.written_bytes));
    let seen = match by_stores {
        Some(bytes) => format!("stores made {} of it dirty", short(bytes)),
        None => "iostrata could not see whether stores changed it".to_owned(),
    };
    Some(Fault {
        file,
        stake: Stake::New,
        is_proven: by_stores.is_some_and(|bytes| bytes > 0),
        what: format!("mapped with MAP_SHARED and PROT_WRITE, never synced; {seen}"),
        call: "mmap",
        happened: history.mapped_to_write.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{changed, happened, run, synced, the_only};
    use super::*;
    use crate::trace::{Confidence, TraceResult};

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
        let alone = run(vec![mapped("/data/index", Some(8192))]);
        assert_eq!(RULE.look(&alone), vec![]);
    }
}
