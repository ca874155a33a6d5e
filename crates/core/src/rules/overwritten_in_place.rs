//! `overwritten-in-place`: a file older than the run is changed in place.

use super::calls::{PAGE_BYTES, has};
use super::copied::Originals;
use super::fault::{Fault, Habits, Stake, lasting, name_of};
use super::rule::{Rule, Subject};
use crate::bytes::short;
use crate::trace::{FileHistory, FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "overwritten-in-place",
    looks_for: "an existing file, overwritten or truncated and rewritten, and never synced",
    in_short: "write a new file and rename it over the old one",
    advice: "write a new file in the same directory, fsync it, rename it over the old one and \
             fsync the directory; a file too large for that needs a journal that is synced before \
             the file is changed, and an fsync of the file before the journal is removed",
    at: Subject::Crash(
        "existed before, was changed in place and never synced: a crash can leave neither the \
            old nor the new contents",
        faults,
    ),
};

fn faults(run: &TraceResult) -> Vec<Fault<'_>> {
    let (habits, originals) = (Habits::of(run), Originals::of(run));
    let changed = lasting(run).filter(|(_, history)| is_left(history));
    let journals = unsynced_journals(run);
    changed
        // A program that syncs a log keeps the changes there, and the file for a checkpoint.
        .filter(|(_, history)| !habits.is_anywhere(history))
        .filter(|(file, _)| !originals.has_one_of(file))
        .filter_map(|(file, history)| {
            fault(file, history).or_else(|| unprotected(file, history, &journals))
        })
        .collect()
}

/// Other rules' subjects are left to them.
fn is_left(history: &FileHistory) -> bool {
    history.unsynced_bytes > 0
        && !history.syncs.is_any()
        && !history.hints.is_any()
        && !history.unlinked
        // Another rule reports acknowledged records.
        && (!history.acknowledged.is_any() || history.rewritten.is_any())
        && !history.renamed_unsynced.is_any()
}

fn fault<'a>(file: &'a FileRow, history: &FileHistory) -> Option<Fault<'a>> {
    if history.created {
        return None;
    }
    if history.overwritten.is_any() {
        let range = short(history.overwritten_bytes);
        // One block is normally written completely or not at all: then it is old or new.
        let (stake, what) = if history.overwritten_bytes > PAGE_BYTES {
            (
                Stake::Old,
                "after a crash it may hold any mix of old and new blocks",
            )
        } else {
            (Stake::New, "after a crash it may hold the old contents")
        };
        return Some(Fault {
            file,
            stake,
            is_proven: true,
            what: format!("{range} of its old contents were overwritten and never synced: {what}"),
            call: "write",
            happened: history.overwritten.clone(),
        });
    }
    // Contents that the program had used are the subject of `truncate-then-write`.
    let was_used = file.size_before_bytes > 0;
    let is_cut = has(file, "ftruncate") || has(file, "truncate");
    (history.rewritten.is_any() && !was_used && !is_cut).then(|| Fault {
        file,
        // Its previous contents were not observed.
        stake: if history.acknowledged.is_any() {
            Stake::Acknowledged
        } else {
            Stake::New
        },
        is_proven: false,
        what: format!(
            "it existed before, was truncated, and {} were written and never synced",
            short(history.written_bytes)
        ),
        call: "open",
        happened: history.rewritten.clone(),
    })
}

/// Journals that were written, removed, and never synced.
fn unsynced_journals(run: &TraceResult) -> Vec<(&FileRow, &FileHistory)> {
    let is_unsynced = |history: &FileHistory| {
        history.created && history.unlinked && history.writes > 0 && !history.syncs.is_any()
    };
    lasting(run)
        .filter(|(file, history)| is_unsynced(history) && journal_of(name_of(file)).is_some())
        .collect()
}

/// The path of a journal's file, by the endings that databases use.
fn journal_of(path: &str) -> Option<&str> {
    let endings = ["-journal", "-wal", ".journal", ".undo"];
    endings.iter().find_map(|ending| path.strip_suffix(ending))
}

/// A database with a journal that protects nothing: neither is ever synced.
fn unprotected<'a>(
    file: &'a FileRow,
    history: &FileHistory,
    journals: &[(&FileRow, &FileHistory)],
) -> Option<Fault<'a>> {
    let own = |(journal, _): &&(&FileRow, &FileHistory)| {
        journal_of(name_of(journal)) == Some(name_of(file))
    };
    let (journal, _) = journals.iter().find(own)?;
    Some(Fault {
        file,
        stake: Stake::New,
        is_proven: true,
        what: format!(
            "{} was written before the change and removed after it, and neither was ever synced: \
             the journal protects nothing, and {} may be corrupted",
            name_of(journal),
            short(history.unsynced_bytes)
        ),
        call: "unlink",
        happened: history.closed_unsynced.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{changed, file, happened, run, synced, the_only};
    use super::*;
    use crate::trace::{Confidence, Severity};

    fn overwritten(bytes: u64) -> FileHistory {
        FileHistory {
            writes: 3,
            written_bytes: 300,
            unsynced_bytes: 300,
            overwritten: happened(&[7_000_000]),
            overwritten_bytes: bytes,
            written_by: Some(7),
            ..FileHistory::default()
        }
    }

    fn emptied() -> FileHistory {
        FileHistory {
            writes: 1,
            written_bytes: 300,
            unsynced_bytes: 300,
            rewritten: happened(&[1]),
            ..FileHistory::default()
        }
    }

    fn told(history: FileHistory) -> (Severity, Confidence) {
        let finding = the_only(RULE.look(&run(vec![changed("/data/x", history)]))).finding;
        (finding.severity, finding.confidence)
    }

    #[test]
    fn blocks_can_be_mixed_and_one_block_is_old_or_new() {
        assert_eq!(
            told(overwritten(4097)),
            (Severity::High, Confidence::Certain)
        );
        assert_eq!(
            told(overwritten(4096)),
            (Severity::Medium, Confidence::Certain)
        );
        assert_eq!(told(emptied()), (Severity::Medium, Confidence::Likely));
    }

    #[test]
    fn a_journal_that_is_never_synced_protects_nothing() {
        let journal = FileHistory {
            created: true,
            unlinked: true,
            writes: 1,
            ..FileHistory::default()
        };
        let database = FileHistory {
            created: true,
            ..emptied()
        };
        let told = |name: &str| {
            RULE.look(&run(vec![
                changed("/data/t.db", database.clone()),
                changed(name, journal.clone()),
            ]))
        };
        let finding = the_only(told("/data/t.db-journal")).finding;
        assert_eq!(finding.file.as_deref(), Some("/data/t.db"));
        assert_eq!(finding.severity, Severity::Medium);
        assert_eq!(told("/data/u.db-journal"), vec![]);
    }

    #[test]
    fn copies_and_databases_with_a_log_are_none() {
        let mut source = file("/data/source");
        source.size_before_bytes = 300;
        source.reads.bytes = 300;
        let copied = run(vec![source, changed("/data/x", emptied())]);
        assert_eq!(RULE.look(&copied), vec![]);
        let log = FileHistory {
            synced_by: Some(7),
            ..synced(1, 1, 0.001)
        };
        let database = run(vec![
            changed("/data/log", log),
            changed("/data/x", overwritten(9000)),
        ]);
        assert_eq!(RULE.look(&database), vec![]);
    }
}
