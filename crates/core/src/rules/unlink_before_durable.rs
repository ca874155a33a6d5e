//! `unlink-before-durable`: the old file is removed before the new one is durable.

use super::copied::was_read;
use super::fault::{Fault, Stake, lasting, name_of};
use super::rebuilt::is_rebuilt;
use super::rule::{Rule, Subject};
use crate::trace::{FileHistory, FileRow, Happened, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "unlink-before-durable",
    looks_for: "a file removed before its replacement, or the file made from it, was synced",
    in_short: "call fsync on the new file before unlink",
    advice: "remove the original last: fsync the new file and its directory before unlink (gzip \
             --synchronous; sync FILE in a script). To replace a file of the same name, do not \
             remove it: rename the new one over it, which is atomic",
    at: Subject::Crash(
        "the original was removed before its replacement was durable: a crash can lose both",
        faults,
    ),
};

/// Number of originals examined: the first ones show the fault.
const ORIGINALS: usize = 64;

fn faults(run: &TraceResult) -> Vec<Fault<'_>> {
    let originals: Vec<Original<'_>> = lasting(run)
        .filter_map(|(file, history)| Original::of(file, history))
        .take(ORIGINALS)
        .collect();
    lasting(run)
        .filter_map(|(file, history)| {
            fault(file, history).or_else(|| made_from(file, history, &originals))
        })
        .collect()
}

/// A file older than the run that the run read to its end, and then removed or truncated
/// permanently.
struct Original<'a> {
    file: &'a FileRow,
    gone: &'a Happened,
    removed_by: Option<u32>,
    at_ns: u64,
}

impl<'a> Original<'a> {
    fn of(file: &'a FileRow, history: &'a FileHistory) -> Option<Self> {
        if history.created || !was_read(file) || is_rebuilt(file) {
            return None;
        }
        let gone = if history.removed.is_any() && history.unlinked {
            &history.removed
        } else if history.emptied.is_any() && !history.rewritten.is_any() {
            &history.emptied
        } else {
            return None;
        };
        Some(Self {
            file,
            gone,
            removed_by: history.removed_by,
            at_ns: *gone.first_ns.first()?,
        })
    }

    /// Whether the file has the original's contents, as far as known: the process that removed the
    /// original wrote it, and it has the same length, or its path contains the original's name.
    fn is_source_of(&self, file: &FileRow, history: &FileHistory) -> bool {
        let is_by_the_same = self.removed_by.is_some() && self.removed_by == history.written_by;
        let is_as_long = history.written_bytes == self.file.size_before_bytes;
        is_by_the_same || is_as_long || has_name_of(name_of(file), &self.file.path)
    }
}

/// Whether a component of the path is the original's name, without one of the endings: `data.gz`
/// and `data`, `tool-1.0.tar` and `tool-1.0/Makefile`.
fn has_name_of(path: &str, original: &str) -> bool {
    let (directory, name) = original.rsplit_once('/').unwrap_or(("", original));
    let beside = path.strip_prefix(directory).unwrap_or(path);
    let is_part_of = |longer: &str, shorter: &str| {
        let rest = longer.strip_prefix(shorter);
        !shorter.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    beside
        .split('/')
        .any(|part| is_part_of(part, name) || is_part_of(name, part))
}

/// Files that the run created, wrote before the original was gone, and never synced.
fn made_from<'a>(
    file: &'a FileRow,
    history: &FileHistory,
    originals: &[Original<'_>],
) -> Option<Fault<'a>> {
    if !history.created || history.unlinked || history.unsynced_bytes == 0 {
        return None;
    }
    let written_ns = history.first_written_ns?;
    let original = originals
        .iter()
        .find(|original| written_ns < original.at_ns && original.is_source_of(file, history))?;
    Some(Fault {
        file,
        stake: Stake::Old,
        is_proven: original.removed_by.is_some() && original.removed_by == history.written_by,
        what: format!(
            "{} was read, {} was written and not synced, and the first was removed",
            original.file.path,
            name_of(file)
        ),
        call: "unlink",
        happened: original.gone.clone(),
    })
}

fn fault<'a>(file: &'a FileRow, history: &FileHistory) -> Option<Fault<'a>> {
    let (stake, happened, what) = if history.took_removed_name.is_any() {
        let what = format!(
            "the old file was removed, and {} was renamed to its name; the new file had not been \
             synced when the old one was removed",
            file.path
        );
        (Stake::Old, &history.took_removed_name, what)
    // Compilers and archivers remove files that they rewrite. A sync of the new file shows intent.
    } else if history.recreated.is_any() && history.syncs.is_any() && !history.unlinked {
        let what = "the old file was removed, and only then was a new one created under its name, \
                    written and synced";
        (Stake::New, &history.recreated, what.to_owned())
    } else {
        return None;
    };
    Some(Fault {
        file,
        stake,
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
    use crate::trace::{Confidence, Severity};

    fn severity(history: FileHistory) -> Severity {
        let draft = the_only(RULE.look(&run(vec![changed("/data/x", history)])));
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
        assert_eq!(
            RULE.look(&run(vec![changed("/data/a.out", product)])),
            vec![]
        );
    }

    fn original(removed_by: u32) -> FileRow {
        let history = FileHistory {
            unlinked: true,
            removed: happened(&[9_000_000]),
            removed_by: Some(removed_by),
            ..FileHistory::default()
        };
        let mut file = changed("/data/a.txt", history);
        file.size_before_bytes = 1000;
        file.reads.bytes = 1000;
        file
    }

    fn packed(path: &str) -> FileRow {
        let history = FileHistory {
            created: true,
            written_by: Some(7),
            written_bytes: 300,
            unsynced_bytes: 300,
            first_written_ns: Some(5_000_000),
            ..FileHistory::default()
        };
        changed(path, history)
    }

    #[test]
    fn an_original_is_gone_before_what_was_made_of_it_is_durable() {
        let told = |removed_by, path| {
            let drafts = RULE.look(&run(vec![original(removed_by), packed(path)]));
            drafts.into_iter().next().map(|draft| {
                assert_eq!(draft.finding.file.as_deref(), Some(path));
                (draft.finding.severity, draft.finding.confidence)
            })
        };
        let (certain, likely) = (Confidence::Certain, Confidence::Likely);
        assert_eq!(told(7, "/data/x"), Some((Severity::High, certain)));
        assert_eq!(told(8, "/data/a.txt.gz"), Some((Severity::High, likely)));
        assert_eq!(told(8, "/data/a/part"), Some((Severity::High, likely)));
        assert_eq!(
            told(8, "/data/x"),
            None,
            "nothing says that they belong together"
        );
    }

    #[test]
    fn a_durable_copy_an_unread_and_an_own_file_are_no_loss() {
        let mut durable = packed("/data/a.txt.gz");
        durable.history.as_mut().unwrap().unsynced_bytes = 0;
        assert_eq!(RULE.look(&run(vec![original(7), durable])), vec![]);
        let mut unread = original(7);
        unread.reads.bytes = 10;
        assert_eq!(RULE.look(&run(vec![unread, packed("/data/x")])), vec![]);
        let mut own = original(7);
        own.history.as_mut().unwrap().created = true;
        assert_eq!(RULE.look(&run(vec![own, packed("/data/x")])), vec![]);
    }
}
