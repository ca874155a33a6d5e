//! `truncate-then-write`: an existing file is truncated and then rewritten in place.

use super::calls::has;
use super::copied::outlives;
use super::fault::{Fault, Stake, lasting};
use super::rule::{Rule, Subject};
use crate::bytes::short;
use crate::trace::{FileHistory, FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "truncate-then-write",
    looks_for: "an existing file, truncated and rewritten in place",
    in_short: "write a new file and rename it over the old one",
    advice: "write a new file in the same directory, fsync it, rename it over the old one, and \
             fsync the directory",
    at: Subject::Crash(
        "truncated and rewritten in place: a crash in between loses old and new contents",
        |run| {
            let found = lasting(run);
            found
                .filter_map(|(file, history)| fault(run, file, history))
                .collect()
        },
    ),
};

fn fault<'a>(run: &TraceResult, file: &'a FileRow, history: &FileHistory) -> Option<Fault<'a>> {
    // Its contents mattered: the program had used them before, or syncs their replacement. `cp` and
    // `>` in a shell do neither. A finished journal is truncated to 0.
    let was_used = file.size_before_bytes > 0;
    let is_cut = has(file, "ftruncate") || has(file, "truncate");
    let is_synced = history.syncs.is_any() && !is_cut;
    let is_lost = history.created || history.unlinked;
    if !history.rewritten.is_any() || is_lost || !(was_used || is_synced) {
        return None;
    }
    // A sync shortens the time in which the only contents are in memory.
    let is_derived = !was_used && run.files.iter().any(|input| outlives(input, file, history));
    let (stake, after) = if is_derived {
        (
            Stake::Little,
            "synced before what the program had read was gone",
        )
    } else if history.unsynced_bytes == 0 {
        (Stake::New, "synced in the end")
    } else {
        (Stake::Old, "never synced")
    };
    let before = if was_used {
        format!("it had {}", short(file.size_before_bytes))
    } else {
        "it existed before".to_owned()
    };
    Some(Fault {
        file,
        stake,
        is_proven: !is_cut,
        what: format!(
            "{before}, was truncated, {} were written, {after}",
            short(history.written_bytes)
        ),
        call: if is_cut { "ftruncate" } else { "open" },
        happened: history.rewritten.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{changed, file_call, happened, run, synced, the_only};
    use super::*;
    use crate::trace::{Confidence, Severity};

    fn rewritten(history: FileHistory, size_before_bytes: u64) -> FileRow {
        let history = FileHistory {
            rewritten: happened(&[7_000_000]),
            ..history
        };
        FileRow {
            size_before_bytes,
            ..changed("/data/config", history)
        }
    }

    fn unsynced() -> FileHistory {
        FileHistory {
            written_bytes: 100,
            unsynced_bytes: 100,
            ..FileHistory::default()
        }
    }

    #[test]
    fn a_file_that_was_read_before_is_at_risk() {
        let draft = the_only(RULE.look(&run(vec![rewritten(unsynced(), 90)])));
        assert_eq!(draft.finding.severity, Severity::High);
        assert_eq!(draft.finding.confidence, Confidence::Certain);
        assert_eq!(draft.finding.evidence[0].at_s, Some(0.007));
    }

    #[test]
    fn a_sync_makes_the_moment_short() {
        let file = rewritten(synced(1, 1, 0.001), 0);
        let draft = the_only(RULE.look(&run(vec![file])));
        assert_eq!(draft.finding.severity, Severity::Medium);
    }

    #[test]
    fn an_archive_that_is_synced_before_its_input_goes_is_made_again() {
        let severity = |removed_ns| {
            let archive = rewritten(synced(1, 1, 0.001), 0);
            let history = FileHistory {
                unlinked: true,
                removed: happened(&[removed_ns]),
                ..FileHistory::default()
            };
            let mut input = changed("/data/input", history);
            (input.size_before_bytes, input.reads.bytes) = (90, 90);
            let drafts = RULE.look(&run(vec![archive, input]));
            the_only(drafts).finding.severity
        };
        // The syncs of the fixture are at 1, 2 and 3 µs.
        assert_eq!(severity(9_000_000), Severity::Low);
        assert_eq!(severity(500), Severity::Medium, "the input was gone before");
    }

    #[test]
    fn a_copy_a_journal_and_an_own_file_are_none() {
        let copied = rewritten(unsynced(), 0);
        let mut journal = rewritten(synced(10, 10, 0.1), 0);
        journal.calls.push(file_call("ftruncate", 10, 0, 0.0));
        let mut own = rewritten(synced(1, 1, 0.001), 0);
        own.history.as_mut().unwrap().created = true;
        assert_eq!(RULE.look(&run(vec![copied, journal, own])), vec![]);
    }
}
