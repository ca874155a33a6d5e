//! Durability faults: turns the files that a rule names into one draft.

use std::collections::{BTreeMap, BTreeSet};

use super::calls::is_stored;
use super::draft::{LISTED, more_files};
use super::rebuilt::{is_rebuilt, is_temporary};
use super::rule::Rule;
use crate::bytes::grouped;
use crate::gap::Missing;
use crate::timing::seconds;
use crate::trace::{
    Cited, Confidence, Draft, FileHistory, FileRow, Finding, Happened, Severity, TraceResult,
};

/// File systems whose contents do not survive a crash, whatever was synced.
const IN_MEMORY: &[&str] = &["tmpfs", "ramfs", "hugetlbfs"];

/// The possible loss in a crash, on ext4, xfs or btrfs with default options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stake {
    /// Next to nothing: these file systems keep it although no standard requires it, or nothing
    /// depends on it.
    Little,
    /// New data that the program cares about and has reported to nobody; or old data that may not
    /// have existed.
    New,
    /// Data that existed before the run, or that was durable in it.
    Old,
    /// Data that the program has reported as saved.
    Acknowledged,
}

impl Stake {
    /// The severity of its loss, for all durability rules.
    pub(super) fn severity(self) -> Severity {
        match self {
            Self::Little => Severity::Low,
            Self::New => Severity::Medium,
            Self::Old | Self::Acknowledged => Severity::High,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Fault<'a> {
    pub(super) file: &'a FileRow,
    /// The possible loss in a crash.
    pub(super) stake: Stake,
    /// Whether all evidence was observed.
    pub(super) is_proven: bool,
    /// The observation, as text.
    pub(super) what: String,
    /// The faulty call, or the call before which another is missing.
    pub(super) call: &'static str,
    pub(super) happened: Happened,
}

/// One draft for all files: one fix in the program fixes them all. Files that had the same name one
/// after the other are reported together.
pub(super) fn together(
    rule: &Rule,
    title: impl FnOnce(&[Fault<'_>]) -> &'static str,
    run: &TraceResult,
    faults: Vec<Fault<'_>>,
) -> Vec<Draft> {
    let mut by_name: BTreeMap<&str, Fault<'_>> = BTreeMap::new();
    let lasting = faults.into_iter().filter(|fault| !is_rebuilt(fault.file));
    for mut fault in lasting {
        if is_temporary(run, fault.file) {
            fault.stake = Stake::Little;
        }
        let name = name_of(fault.file);
        if let Some(known) = by_name.get_mut(name) {
            known.happened.merge(&fault.happened);
            known.stake = known.stake.max(fault.stake);
            known.is_proven &= fault.is_proven;
        } else {
            by_name.insert(name, fault);
        }
    }
    let mut faults: Vec<Fault<'_>> = by_name.into_values().collect();
    faults.sort_by_key(|fault| std::cmp::Reverse((fault.stake.severity(), fault.is_proven)));
    let Some(worst) = faults.first() else {
        return Vec::new();
    };
    let title = title(&faults);
    let title = match faults.len() {
        1 => title.to_owned(),
        files => format!("{title} ({} files)", grouped(files as u64)),
    };
    vec![Draft {
        finding: Finding {
            severity: worst.stake.severity(),
            confidence: sureness(worst.is_proven, run),
            title,
            file: (faults.len() == 1).then(|| name_of(worst.file).to_owned()),
            evidence: evidence(run, &faults),
            ..rule.finding()
        },
        remedy: None,
        is_fault: true,
    }]
}

fn evidence(run: &TraceResult, faults: &[Fault<'_>]) -> Vec<Cited> {
    let mut evidence: Vec<Cited> = faults
        .iter()
        .take(LISTED)
        .map(|fault| Cited {
            what: fault.what.clone(),
            call: Some(fault.call.to_owned()),
            path: Some(name_of(fault.file).to_owned()),
            count: Some(fault.happened.count),
            at_s: first_s(run, &fault.happened),
        })
        .collect();
    evidence.extend(more_files(faults.len().saturating_sub(LISTED)));
    evidence
}

/// Its first occurrence, seconds after the start of the run.
pub(super) fn first_s(run: &TraceResult, happened: &Happened) -> Option<f64> {
    let first_ns = happened.first_ns.first()?;
    Some(seconds(first_ns.saturating_sub(run.started_ns)))
}

/// The final name of a file.
pub(super) fn name_of(file: &FileRow) -> &str {
    file.renamed_to.as_ref().unwrap_or(&file.path)
}

/// The final directory of a file.
pub(super) fn directory_of(file: &FileRow) -> &str {
    name_of(file)
        .rsplit_once('/')
        .map_or("", |(directory, _)| directory)
}

/// Losses may hide the missing sync; for an attached process, its earlier work on the files was not
/// observed.
pub(super) fn sureness(is_proven: bool, run: &TraceResult) -> Confidence {
    let is_whole = run.lost_events == 0
        && !run.is_attached()
        && run.missing.iter().all(|gap| gap.what != Missing::History);
    if is_proven && is_whole {
        Confidence::Certain
    } else {
        Confidence::Likely
    }
}

/// Files that a crash can affect, with their fate.
pub(super) fn lasting(run: &TraceResult) -> impl Iterator<Item = (&FileRow, &FileHistory)> {
    run.files
        .iter()
        .filter(|file| is_stored(file) && !IN_MEMORY.contains(&file.filesystem.as_str()))
        .filter_map(|file| Some((file, file.history.as_deref()?)))
}

/// Which processes sync files, and where: the process, the directory, the name.
pub(super) struct Habits<'a>(BTreeSet<(u32, &'a str, &'a str)>);

impl<'a> Habits<'a> {
    pub(super) fn of(run: &'a TraceResult) -> Self {
        let synced = lasting(run).filter_map(|(file, history)| {
            Some((history.synced_by?, directory_of(file), name_of(file)))
        });
        Self(synced.collect())
    }

    /// Whether the process that changed a file last synced any file.
    pub(super) fn is_anywhere(&self, history: &FileHistory) -> bool {
        history.written_by.is_some_and(|process| {
            let mut own = self.0.range((process, "", "")..);
            own.next().is_some_and(|(other, ..)| *other == process)
        })
    }

    /// Whether it synced another file in the same directory: then this one is an exception.
    pub(super) fn is_beside(&self, file: &'a FileRow, history: &FileHistory) -> bool {
        self.beside(file, history).next().is_some()
    }

    /// The same, for a file that was itself synced.
    pub(super) fn is_beside_another(&self, file: &'a FileRow, history: &FileHistory) -> bool {
        let mut names = self.beside(file, history);
        names.any(|name| name != name_of(file))
    }

    /// Names in the directory of a file that were synced by the process that changed it last.
    fn beside(&self, file: &'a FileRow, history: &FileHistory) -> impl Iterator<Item = &'a str> {
        let directory = directory_of(file);
        let process = history.written_by.into_iter();
        process.flat_map(move |process| {
            let from_there = self.0.range((process, directory, "")..);
            let there = from_there
                .take_while(move |(other, place, _)| (*other, *place) == (process, directory));
            there.map(|(.., name)| *name)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{self, changed, file, happened, run, the_only};
    use super::*;
    use crate::gap::{Gap, Reason};

    fn together(run: &TraceResult, faults: Vec<Fault<'_>>) -> Vec<Draft> {
        let rule = fixture::rule();
        super::together(&rule, |_| "wrong", run, faults)
    }

    fn fault(file: &FileRow, stake: Stake, at_ns: u64) -> Fault<'_> {
        Fault {
            file,
            stake,
            is_proven: true,
            what: "seen".to_owned(),
            call: "rename",
            happened: happened(&[at_ns]),
        }
    }

    #[test]
    fn one_file_is_named_and_many_are_counted() {
        let files: Vec<FileRow> = (0..7).map(|n| file(&format!("/d/{n}"))).collect();
        let mut run = run(vec![]);
        run.started_ns = 1_000_000_000;
        let one = vec![fault(&files[0], Stake::Little, 3_500_000_000)];
        let draft = the_only(together(&run, one));
        assert_eq!(draft.finding.file.as_deref(), Some("/d/0"));
        assert_eq!(draft.finding.evidence[0].at_s, Some(2.5));
        assert!(draft.is_fault);

        let all = files.iter().map(|file| fault(file, Stake::Little, 0));
        let draft = the_only(together(&run, all.collect()));
        assert_eq!(draft.finding.file, None);
        assert_eq!(draft.finding.title, "wrong (7 files)");
        assert_eq!(draft.finding.evidence.len(), 6);
        assert_eq!(draft.finding.evidence[5].count, Some(2));
    }

    #[test]
    fn files_of_one_name_are_told_together_by_the_worst() {
        let (first, mut second) = (file("/d/a"), file("/d/b"));
        second.renamed_to = Some("/d/a".to_owned());
        let faults = vec![
            fault(&first, Stake::Little, 7),
            fault(&second, Stake::Old, 5),
        ];
        let draft = the_only(together(&run(vec![]), faults));
        assert_eq!(draft.finding.severity, Severity::High);
        assert_eq!(draft.finding.evidence[0].count, Some(2));
        assert_eq!(draft.finding.evidence[0].at_s, Some(5e-9));
    }

    #[test]
    fn what_was_not_seen_makes_it_likely() {
        let file = file("/d/a");
        let sure = |run: &TraceResult| {
            let faults = vec![fault(&file, Stake::Little, 0)];
            the_only(together(run, faults)).finding.confidence
        };
        let whole = run(vec![]);
        assert_eq!(sure(&whole), Confidence::Certain);
        let mut lossy = whole.clone();
        lossy.lost_events = 1;
        assert_eq!(sure(&lossy), Confidence::Likely);
        let mut adopted = whole.clone();
        adopted.adopted = Some(7);
        assert_eq!(sure(&adopted), Confidence::Likely);
        let mut full = whole;
        full.missing
            .push(Gap::new(Missing::History, Reason::NoNameKept));
        assert_eq!(sure(&full), Confidence::Likely);
    }

    #[test]
    fn an_exception_is_in_the_directory_of_what_the_same_process_synced() {
        let by = |written_by, synced_by| FileHistory {
            written_by,
            synced_by,
            ..FileHistory::default()
        };
        let (file, history) = (file("/d/a"), by(Some(1), None));
        let syncs = |path: &str, process| {
            let run = run(vec![changed(path, by(Some(process), Some(process)))]);
            let habits = Habits::of(&run);
            (
                habits.is_anywhere(&history),
                habits.is_beside(&file, &history),
            )
        };
        assert_eq!(syncs("/d/b", 1), (true, true));
        assert_eq!(syncs("/d/b", 2), (false, false));
        assert_eq!(syncs("/e/b", 1), (true, false));
    }

    #[test]
    fn files_in_memory_do_not_last() {
        let mut volatile = changed("/run/x", FileHistory::default());
        volatile.filesystem = "tmpfs".to_owned();
        let stored = changed("/d/x", FileHistory::default());
        let run = run(vec![volatile, file("/d/read"), stored]);
        let names: Vec<&str> = lasting(&run).map(|(file, _)| name_of(file)).collect();
        assert_eq!(names, ["/d/x"]);
    }

    #[test]
    fn high_is_for_what_was_there_or_was_said_to_be() {
        let severities =
            [Stake::Little, Stake::New, Stake::Old, Stake::Acknowledged].map(Stake::severity);
        let expected = [
            Severity::Low,
            Severity::Medium,
            Severity::High,
            Severity::High,
        ];
        assert_eq!(severities, expected);
    }

    #[test]
    fn what_is_made_anew_is_not_told_and_temporary_files_are_little() {
        let (lock, temporary) = (file("/d/lock.mdb"), file("/tmp/x"));
        let faults = vec![
            fault(&lock, Stake::Old, 1),
            fault(&temporary, Stake::Old, 1),
        ];
        let finding = the_only(together(&run(vec![]), faults)).finding;
        assert_eq!(finding.file.as_deref(), Some("/tmp/x"));
        assert_eq!(finding.severity, Severity::Low);
    }
}
