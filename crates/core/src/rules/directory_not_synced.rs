//! `directory-not-synced`: a file was synced, and the name that leads to it was not.

use super::fault::{Fault, Told, directory_of, lasting};
use crate::trace::{Draft, FileHistory, FileRow, Happened, Naming, Rule, Severity, TraceResult};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "directory-not-synced",
    looks_for: "a new or renamed file that was synced, in a directory that was not",
    look,
};

const TOLD: Told = Told {
    rule: "directory-not-synced",
    title: "synced, but not the directory with its name: a crash can undo the rename or lose \
            the file",
    advice: "after making or renaming a file that has to be there after a crash, open its \
             directory and call fsync on it (fsync(2)); after a rename into another directory, \
             on both",
};

fn look(run: &TraceResult) -> Vec<Draft> {
    let faults = lasting(run).filter_map(|(file, history)| fault(file, history));
    TOLD.about(run, faults.collect())
}

fn fault<'a>(file: &'a FileRow, history: &FileHistory) -> Option<Fault<'a>> {
    let naming = history.name_unsynced?;
    let is_cared_for = history.syncs.is_any() || history.synchronous || history.mapping_synced;
    // A rename before the sync of the contents is the greater fault, and told as such.
    if !is_cared_for || history.renamed_unsynced.is_any() {
        return None;
    }
    let (severity, how, call) = match naming {
        // ext4, xfs and btrfs write the names of a file with it; no standard says so.
        _ if history.synced_since_named => (Severity::Low, "got its name", "fsync"),
        Naming::Created => (Severity::Medium, "was created", "open"),
        Naming::Renamed => (Severity::Medium, "was renamed", "rename"),
    };
    let since = if history.synced_since_named {
        "; the file itself was synced after that, which on most file systems saves the name, too"
    } else {
        ""
    };
    Some(Fault {
        file,
        severity,
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

    fn named(naming: Option<Naming>, synced_since_named: bool) -> FileHistory {
        FileHistory {
            name_unsynced: naming,
            synced_since_named,
            ..synced(1, 1, 0.001)
        }
    }

    fn severity(history: FileHistory) -> Severity {
        let draft = the_only(look(&run(vec![changed("/data/x", history)])));
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
        assert_eq!(look(&run(files.to_vec())), vec![]);
    }
}
