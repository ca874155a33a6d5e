//! `unlink-before-durable`: the old file is removed before the new one can be relied on.

use super::fault::{Fault, Told, lasting};
use crate::trace::{Draft, FileHistory, FileRow, Rule, Severity, TraceResult};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "unlink-before-durable",
    looks_for: "a file removed before the one that takes its name was synced",
    look,
};

const TOLD: Told = Told {
    rule: "unlink-before-durable",
    title: "the file that had this name was removed before the new one was durable: a crash can \
            leave neither",
    advice: "do not remove the old file: fsync the new one and rename it over the old one, \
             which takes its place in one step; then fsync the directory",
};

fn look(run: &TraceResult) -> Vec<Draft> {
    let faults = lasting(run).filter_map(|(file, history)| fault(file, history));
    TOLD.about(run, faults.collect())
}

fn fault<'a>(file: &'a FileRow, history: &FileHistory) -> Option<Fault<'a>> {
    let (severity, happened, what) = if history.took_removed_name.is_any() {
        let what = format!(
            "the old file was removed, and {} was renamed to its name; it had not been synced \
             when the old one was removed",
            file.path
        );
        (Severity::High, &history.took_removed_name, what)
    // Compilers and archivers remove what they write anew. Who syncs the new file means it.
    } else if history.recreated.is_any() && history.syncs.is_any() && !history.unlinked {
        let what = "the old file was removed, and a new one of its name was made, written, \
                    and synced only then";
        (Severity::Medium, &history.recreated, what.to_owned())
    } else {
        return None;
    };
    Some(Fault {
        file,
        severity,
        is_proven: true,
        what,
        call: "unlink",
        happened: happened.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{changed, happened, run, synced, the_only};
    use super::*;

    fn severity(history: FileHistory) -> Severity {
        let draft = the_only(look(&run(vec![changed("/data/x", history)])));
        assert_eq!(draft.finding.evidence[0].at_s, Some(0.001));
        draft.finding.severity
    }

    #[test]
    fn removed_too_early() {
        let renamed = FileHistory {
            took_removed_name: happened(&[1_000_000]),
            ..FileHistory::default()
        };
        assert_eq!(severity(renamed), Severity::High);
        let recreated = FileHistory {
            recreated: happened(&[1_000_000]),
            ..synced(1, 1, 0.001)
        };
        assert_eq!(severity(recreated), Severity::Medium);
    }

    #[test]
    fn a_file_made_anew_and_never_synced_is_a_product() {
        let product = FileHistory {
            recreated: happened(&[1_000_000]),
            ..FileHistory::default()
        };
        assert_eq!(look(&run(vec![changed("/data/a.out", product)])), vec![]);
    }
}
