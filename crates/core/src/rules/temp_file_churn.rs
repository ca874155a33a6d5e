//! `temp-file-churn`: files written and removed without ever being read.

use super::calls::{all_time_s, has, is_stored};
use super::draft::{Found, said};
use super::rule::{Rule, Subject};
use crate::bytes::short;
use crate::noun::counted;
use crate::trace::{Cited, FileHistory, FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "temp-file-churn",
    looks_for: "files created, written and removed without being read",
    in_short: "keep short-lived data in memory",
    advice: "do not write unneeded data, or keep it in memory (a buffer, memfd_create, a pipe); \
             SQLite: journal_mode=TRUNCATE, PERSIST or WAL",
    at: Subject::Run(look),
};

const CITED: usize = 3;

/// Calls that pass the contents on in other ways.
const OTHER_READERS: &[&str] = &["mmap", "sendfile", "splice", "copy_file_range", "flock"];

fn look(run: &TraceResult) -> Option<Found> {
    let files: Vec<&FileRow> = run.files.iter().filter(|file| is_unread(file)).collect();
    if files.is_empty() {
        return None;
    }
    let bytes: u64 = files.iter().map(|file| file.writes.bytes).sum();
    let cost_s: f64 = files.iter().map(|file| all_time_s(file)).sum();
    Some(Found {
        title: format!(
            "{} with {} written and removed unread",
            counted(files.len() as u64, "file"),
            short(bytes)
        ),
        evidence: files.iter().take(CITED).map(|file| removed(file)).collect(),
        cost_s,
        saving_s: Some(cost_s),
        // A process outside the tree may have read it.
        is_unproven: true,
        ..Found::default()
    })
}

fn is_unread(file: &FileRow) -> bool {
    let removed = |it: &FileHistory| it.created && it.unlinked;
    is_stored(file)
        && file.history.as_deref().is_some_and(removed)
        && file.writes.bytes > 0
        && file.reads.count == 0
        // A newer version that replaces an older one is not a temporary file.
        && file.renamed_to.is_none()
        // A synced file is meant for the case of a crash, such as a journal.
        && file.syncs.count == 0
        && !OTHER_READERS.iter().any(|name| has(file, name))
}

fn removed(file: &FileRow) -> Cited {
    Cited {
        path: Some(file.path.clone()),
        count: Some(file.writes.count),
        ..said(format!(
            "created, {} written in {}, removed",
            short(file.writes.bytes),
            counted(file.writes.count, "call")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{changed, file_call, run, the_only, with_calls};
    use super::*;
    use crate::trace::Confidence;

    fn removed(name: &str) -> FileRow {
        let history = FileHistory {
            created: true,
            unlinked: true,
            ..FileHistory::default()
        };
        with_calls(
            changed(name, history),
            vec![file_call("write", 10, 1000, 0.01)],
        )
    }

    #[test]
    fn unread_files_are_saved_whole() {
        let draft = the_only(RULE.look(&run(vec![removed("/a"), removed("/b")])));
        assert_eq!(draft.finding.saving_s, Some(0.02));
        assert_eq!(draft.finding.confidence, Confidence::Likely);
        assert_eq!(
            draft.finding.title,
            "2 files with 2.0 KiB written and removed unread"
        );
    }

    #[test]
    fn what_was_read_mapped_synced_or_kept_is_none() {
        let mut read = removed("/a");
        read.reads.count = 1;
        let mut mapped = removed("/b");
        mapped.calls.push(file_call("mmap", 1, 0, 0.0));
        let mut journal = removed("/c");
        journal.syncs.count = 1;
        let mut kept = removed("/d");
        kept.history.as_mut().unwrap().unlinked = false;
        let mut replaced = removed("/e");
        replaced.renamed_to = Some("/settings".to_owned());
        assert_eq!(
            RULE.look(&run(vec![read, mapped, journal, kept, replaced])),
            vec![]
        );
    }
}
