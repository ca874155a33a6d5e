//! `rename-without-fsync`: a file takes a name before its contents are durable.

use super::fault::{Care, Fault, Told, lasting, name_of};
use crate::bytes::short;
use crate::trace::{Draft, FileHistory, FileRow, Rule, Severity, Target, TraceResult};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "rename-without-fsync",
    looks_for: "a file renamed to its final name before its contents were synced",
    look,
};

const TOLD: Told = Told {
    rule: "rename-without-fsync",
    title: "renamed before its contents were synced: a crash can leave it empty or full of zeros",
    advice: "call fsync or fdatasync on the new file before rename, and fsync on the directory \
             after it; the file system's own remedy for this (ext4: auto_da_alloc) only starts \
             to write and waits for nothing",
};

/// Python compiles what it finds damaged here anew (`get_code` in
/// `importlib/_bootstrap_external.py`).
const MADE_ANEW: &str = "/__pycache__/";

const VACANT: &str = "nothing had that name before";

fn look(run: &TraceResult) -> Vec<Draft> {
    let care = Care::of(run);
    let renamed = lasting(run).filter(|(file, history)| {
        history.renamed_unsynced.is_any() && !name_of(file).contains(MADE_ANEW)
    });
    let faults = renamed.map(|(file, history)| fault(&care, file, history));
    TOLD.about(run, faults.collect())
}

fn fault<'a>(care: &Care<'_>, file: &'a FileRow, history: &FileHistory) -> Fault<'a> {
    let (severity, is_proven, target) = match history.renamed_over {
        Some(Target::Existing) => (Severity::High, true, "replaced the file that had that name"),
        // No old contents are lost. Who syncs nothing at all does not count on the new ones.
        Some(Target::Vacant) if care.is_anywhere(history) => (Severity::Medium, true, VACANT),
        Some(Target::Vacant) => (Severity::Low, true, VACANT),
        Some(Target::Unknown) | None => (
            Severity::High,
            false,
            "replaced whatever had that name, which was not seen",
        ),
    };
    Fault {
        file,
        severity,
        is_proven,
        what: format!(
            "{} written as {}, renamed without a sync in between; {target}",
            short(history.written_bytes),
            file.path
        ),
        call: "rename",
        happened: history.renamed_unsynced.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{changed, happened, run, the_only};
    use super::*;
    use crate::trace::Confidence;

    fn renamed(target: Option<Target>) -> FileRow {
        let history = FileHistory {
            written_bytes: 9000,
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
            let finding = the_only(look(&run(vec![renamed(target)]))).finding;
            (finding.severity, finding.confidence)
        };
        let (certain, likely) = (Confidence::Certain, Confidence::Likely);
        assert_eq!(told(Some(Target::Existing)), (Severity::High, certain));
        assert_eq!(told(Some(Target::Vacant)), (Severity::Low, certain));
        assert_eq!(told(Some(Target::Unknown)), (Severity::High, likely));
    }

    #[test]
    fn a_new_name_matters_more_to_a_process_that_syncs() {
        let history = FileHistory {
            written_by: Some(7),
            ..renamed(Some(Target::Vacant)).history.unwrap()
        };
        let other = FileHistory {
            synced_by: Some(7),
            ..FileHistory::default()
        };
        let files = vec![changed("/data/a", history), changed("/log", other)];
        let draft = the_only(look(&run(files)));
        assert_eq!(draft.finding.severity, Severity::Medium);
    }

    #[test]
    fn the_final_name_and_the_moment_are_cited() {
        let renamed = renamed(Some(Target::Existing));
        let draft = the_only(look(&run(vec![renamed])));
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
        let mut compiled = renamed(Some(Target::Vacant));
        compiled.renamed_to = Some("/lib/__pycache__/a.cpython-311.pyc".to_owned());
        assert_eq!(look(&run(vec![synced, compiled])), vec![]);
    }
}
