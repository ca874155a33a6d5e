//! `directory-not-synced`: a file was synced, and the name that leads to it was not.

use super::draft::said;
use super::fault::{Fault, Habits, Stake, directory_of, lasting, name_of, sureness, together};
use super::rule::{Rule, Subject};
use crate::trace::{Cited, Draft, FileHistory, FileRow, Finding, Happened, Naming, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "directory-not-synced",
    looks_for: "a file or directory created, renamed or removed in a directory that was not synced",
    in_short: "also call fsync on the directory",
    advice: "after creating or renaming a file that must survive a crash, open its directory and \
             call fsync on it (fsync(2)); after a rename into another directory, on both; after \
             removing a journal to commit, on the journal's directory",
    at: Subject::Drafts(look),
};

const CREATED: &str = "synced, but its directory was not: a crash can lose the file";
const RENAMED: &str = "synced, but its directory was not: a crash can undo the rename";
const REMOVED: &str = "removed, but its directory was not synced: it can reappear after a crash";
const CREATED_DIRECTORY: &str =
    "created, but the directory above was not synced: a crash can lose it";
const SEVERAL: &str = "directory not synced: a crash can undo what was created, renamed or removed";

/// File systems on which a sync that writes the journal also writes all earlier name changes.
const ONE_JOURNAL: &[&str] = &["ext4", "xfs"];

/// A log that is replayed forwards: its return does no harm (sqlite.org/wal.html).
const REDONE: &str = "-wal";

fn look(run: &TraceResult) -> Vec<Draft> {
    let habits = Habits::of(run);
    let faults = lasting(run).filter_map(|(file, history)| {
        fault(file, history).or_else(|| removed(&habits, file, history))
    });
    let mut drafts = together(&RULE, title, run, faults.collect());
    let marks = marks(run);
    match drafts.first_mut() {
        Some(draft) => draft.finding.evidence.extend(marks),
        None if !marks.is_empty() => drafts.push(about_marks(run, marks)),
        None => {}
    }
    drafts
}

/// What a crash can do to these files.
fn title(faults: &[Fault<'_>]) -> &'static str {
    let title = |fault: &Fault<'_>| match fault.call {
        "unlink" => REMOVED,
        "rename" => RENAMED,
        _ => CREATED,
    };
    let mut titles = faults.iter().map(title);
    let first = titles.next().unwrap_or(SEVERAL);
    if titles.all(|title| title == first) {
        first
    } else {
        SEVERAL
    }
}

/// A journal: a removed file that the same process had synced, as it did others in its directory.
fn removed<'a>(habits: &Habits<'_>, file: &'a FileRow, history: &FileHistory) -> Option<Fault<'a>> {
    let is_journal = history.removal_unsynced
        && history.syncs.is_any()
        && history.written_bytes > 0
        && !name_of(file).ends_with(REDONE)
        && habits.is_beside_another(file, history);
    is_journal.then(|| Fault {
        file,
        // It can return after a crash and undo newer changes: nothing is damaged.
        stake: Stake::Little,
        is_proven: false,
        what: format!(
            "it was written, synced and removed, and {} was not synced afterwards: it can \
             reappear after a crash and roll back committed changes",
            directory_of(file)
        ),
        call: "unlink",
        happened: Happened {
            count: 1,
            ..Happened::default()
        },
    })
}

/// Empty directories are markers: they carry only their name.
fn marks(run: &TraceResult) -> Vec<Cited> {
    run.directories
        .iter()
        .filter_map(|row| {
            let path = row.unsynced_directory.clone()?;
            Some(Cited {
                call: Some("mkdir".to_owned()),
                path: Some(path),
                count: Some(1),
                ..said(format!(
                    "an empty directory was created, its process then reported something, and {} \
                     was not synced",
                    row.path
                ))
            })
        })
        .collect()
}

fn about_marks(run: &TraceResult, marks: Vec<Cited>) -> Draft {
    Draft {
        finding: Finding {
            // Only the author knows the importance of the name.
            severity: Stake::Little.severity(),
            confidence: sureness(false, run),
            title: CREATED_DIRECTORY.to_owned(),
            file: marks.first().and_then(|mark| mark.path.clone()),
            evidence: marks,
            ..RULE.finding()
        },
        remedy: None,
        is_fault: true,
    }
}

fn fault<'a>(file: &'a FileRow, history: &FileHistory) -> Option<Fault<'a>> {
    let naming = history.name_unsynced?;
    let is_cared_for = history.syncs.is_any() || history.synchronous || history.mapping_synced;
    // A rename before the sync of the contents is the more serious fault, and reported as such.
    if !is_cared_for || history.renamed_unsynced.is_any() {
        return None;
    }
    let (stake, how, call) = match naming {
        // ext4, xfs and btrfs write the names of a file with it; no standard requires it.
        _ if history.synced_since_named => (Stake::Little, "was linked there", "fsync"),
        Naming::Created => (Stake::New, "was created", "open"),
        Naming::Renamed => (Stake::New, "was renamed", "rename"),
        Naming::Linked => (Stake::New, "was linked", "link"),
    };
    // One journal for all names, written in order; btrfs has a log for each file.
    let is_in_journal = history.name_journalled && ONE_JOURNAL.contains(&file.filesystem.as_str());
    let stake = match stake {
        Stake::New if is_in_journal => Stake::Little,
        Stake::New if history.name_acknowledged => Stake::Acknowledged,
        stake => stake,
    };
    let since = if history.synced_since_named {
        "; the file itself was synced after that, which also saves the name on most file systems"
    } else if is_in_journal {
        "; a later sync of another file committed the journal, which saves the name on ext4 and \
         xfs, but not on btrfs"
    } else {
        ""
    };
    Some(Fault {
        file,
        stake,
        is_proven: true,
        what: format!(
            "it {how}, and {} was not synced afterwards{since}",
            directory_of(file)
        ),
        call,
        happened: Happened {
            count: 1,
            ..Happened::default()
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{changed, happened, run, synced, the_only};
    use super::*;
    use crate::trace::{DirectoryRow, Severity};

    fn named(naming: Option<Naming>, synced_since_named: bool) -> FileHistory {
        FileHistory {
            name_unsynced: naming,
            synced_since_named,
            ..synced(1, 1, 0.001)
        }
    }

    fn severity(history: FileHistory) -> Severity {
        let draft = the_only(RULE.look(&run(vec![changed("/data/x", history)])));
        assert!(draft.is_fault);
        let what = &draft.finding.evidence[0].what;
        assert!(what.contains("/data was not synced"), "{what}");
        draft.finding.severity
    }

    #[test]
    fn a_rename_can_be_undone_and_a_synced_file_is_mostly_there() {
        let renamed = named(Some(Naming::Renamed), false);
        assert_eq!(severity(renamed), Severity::Medium);
        let created = named(Some(Naming::Created), true);
        assert_eq!(severity(created), Severity::Low);
    }

    #[test]
    fn files_nobody_cares_for_and_synced_names_are_none() {
        let uncared = FileHistory {
            syncs: Happened::default(),
            ..named(Some(Naming::Created), false)
        };
        let durable = named(None, false);
        let worse = FileHistory {
            renamed_unsynced: happened(&[1]),
            ..named(Some(Naming::Renamed), false)
        };
        let files = [uncared, durable, worse].map(|history| changed("/data/x", history));
        assert_eq!(RULE.look(&run(files.to_vec())), vec![]);
    }

    #[test]
    fn what_was_reported_is_worse() {
        let reported = FileHistory {
            name_acknowledged: true,
            ..named(Some(Naming::Linked), false)
        };
        assert_eq!(severity(reported), Severity::High);
        assert_eq!(
            severity(named(Some(Naming::Linked), false)),
            Severity::Medium
        );
    }

    #[test]
    fn a_journal_that_is_removed_beside_what_it_protects_can_come_back() {
        let journal = FileHistory {
            unlinked: true,
            removal_unsynced: true,
            written_by: Some(7),
            synced_by: Some(7),
            ..synced(1, 1, 0.001)
        };
        let base = FileHistory {
            synced_by: Some(7),
            ..synced(1, 1, 0.001)
        };
        let alone = run(vec![changed("/data/journal", journal.clone())]);
        assert_eq!(RULE.look(&alone), vec![]);
        let both = run(vec![
            changed("/data/journal", journal),
            changed("/data/base", base),
        ]);
        let finding = the_only(RULE.look(&both)).finding;
        assert_eq!(finding.file.as_deref(), Some("/data/journal"));
        assert_eq!(finding.severity, Severity::Low);
    }

    #[test]
    fn a_mark_is_named() {
        let mut marked = run(vec![]);
        marked.directories.push(DirectoryRow {
            path: "/jobs".to_owned(),
            made: 1,
            unsynced_names: 1,
            unsynced_directory: Some("/jobs/1.done".to_owned()),
            ..DirectoryRow::default()
        });
        let finding = the_only(RULE.look(&marked)).finding;
        assert_eq!(finding.file.as_deref(), Some("/jobs/1.done"));
        assert_eq!(finding.severity, Severity::Low);
    }
}
