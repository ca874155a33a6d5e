//! `acknowledged-not-synced`: a process reports data that is only in memory.

use crate::noun::counted;
use std::collections::HashMap;

use super::copied::Originals;
use super::fault::{Fault, Stake, lasting};
use super::rule::{Rule, Subject};
use crate::bytes::short;
use crate::figures::duration;
use crate::timing::seconds;
use crate::trace::{FileHistory, FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "acknowledged-not-synced",
    looks_for: "a file not synced when the process that wrote it reported something",
    in_short: "call fdatasync before the reply that promises it",
    advice: "call fdatasync on the file before each reply that promises something, or once before \
             the replies for several records (group commit); a new file also needs an fsync of \
             its directory. If the report was about something else, ignore this rule",
    at: Subject::Crash(
        "written and not synced before its writer reported on standard output or answered on a \
            socket: a crash loses data that was reported as saved",
        faults,
    ),
};

/// From this many reports on, each after further writes to the file, they concern the records.
const EACH: u64 = 2;

/// A process that leaves more new files than this unpacks, builds or installs them.
const FEW: usize = 8;

fn faults(run: &TraceResult) -> Vec<Fault<'_>> {
    let originals = Originals::of(run);
    let told: Vec<(&FileRow, &FileHistory)> = lasting(run)
        .filter(|(file, history)| is_promised(file, history))
        .filter(|(file, _)| !originals.has_one_of(file))
        .collect();
    let mut created: HashMap<Option<u32>, usize> = HashMap::new();
    for (_, history) in told.iter().filter(|(_, history)| history.created) {
        *created.entry(history.written_by).or_default() += 1;
    }
    told.iter()
        .map(|&(file, history)| {
            let beside = created.get(&history.written_by).copied().unwrap_or(0);
            fault(file, history, beside > FEW || originals.has_data_for(file))
        })
        .collect()
}

fn is_promised(file: &FileRow, history: &FileHistory) -> bool {
    let dirtied = file.evidence.cache.dirtied_bytes;
    // Without evidence of stores, a mapping may have been used for reading only.
    let has_stores = history.mapped_to_write.is_any()
        && !history.mapping_synced
        && dirtied > Some(history.written_bytes);
    let is_late = history.answered.is_any() && !history.uncertain;
    history.acknowledged.is_any()
        && (history.unsynced_bytes > 0 || has_stores || is_late)
        && !history.unlinked
        // The other fault is more serious.
        && !history.renamed_unsynced.is_any()
        && (history.created || !history.rewritten.is_any())
}

fn fault<'a>(file: &'a FileRow, history: &FileHistory, is_made_again: bool) -> Fault<'a> {
    let is_durable = history.unsynced_bytes == 0 && history.answered.is_any();
    let happened = if is_durable {
        &history.answered
    } else {
        &history.acknowledged
    };
    let times = happened.count;
    let stake = if times >= EACH || !history.created {
        Stake::Acknowledged
    } else if is_made_again {
        Stake::Little
    } else {
        Stake::New
    };
    let existed = if history.created {
        ""
    } else {
        "it existed before; "
    };
    let answered = answer_of(history).unwrap_or_default();
    let what = if is_durable {
        format!("{existed}{answered}")
    } else {
        format!(
            "{existed}the writing process reported something {} while its last writes were \
             not durable; {} were not durable at the end{}",
            counted(times, "time"),
            short(history.unsynced_bytes),
            if answered.is_empty() { "" } else { "; " },
        ) + &answered
    };
    Fault {
        file,
        stake,
        // Only the author knows the meaning of the report.
        is_proven: false,
        what,
        call: "write",
        happened: happened.clone(),
    }
}

/// What was seen of the first answer: whether its peer was told of the write can only be guessed.
fn answer_of(history: &FileHistory) -> Option<String> {
    let after = duration(seconds(history.answered_after_ns?));
    let synced = match history.answer_synced_after_ns {
        Some(after_ns) => format!("was synced {} later", duration(seconds(after_ns))),
        None => "was never synced".to_owned(),
    };
    Some(format!(
        "it answered on a socket {after} after a write, when {} were not durable; what was written {synced}",
        short(history.answered_bytes),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{changed, happened, run, the_only};
    use super::*;
    use crate::trace::Severity;

    fn promised(at_ns: &[u64]) -> FileHistory {
        FileHistory {
            created: true,
            writes: 3,
            written_bytes: 300,
            unsynced_bytes: 100,
            written_by: Some(7),
            acknowledged: happened(at_ns),
            ..FileHistory::default()
        }
    }

    fn severity(history: FileHistory) -> Severity {
        let finding = the_only(RULE.look(&run(vec![changed("/data/log", history)]))).finding;
        assert_eq!(finding.evidence[0].at_s, Some(0.003));
        finding.severity
    }

    #[test]
    fn records_and_old_files_are_worse_than_one_new_file() {
        assert_eq!(severity(promised(&[3_000_000, 4_000_000])), Severity::High);
        assert_eq!(severity(promised(&[3_000_000])), Severity::Medium);
        let old = FileHistory {
            created: false,
            ..promised(&[3_000_000])
        };
        assert_eq!(severity(old), Severity::High);
    }

    #[test]
    fn a_tree_that_is_unpacked_is_little() {
        let files = (0..9).map(|n| changed(&format!("/data/{n}"), promised(&[1])));
        let finding = the_only(RULE.look(&run(files.collect()))).finding;
        assert_eq!(finding.severity, Severity::Low);
    }

    #[test]
    fn an_answer_before_the_sync_is_told_with_both_times() {
        let answered = |at_ns: &[u64], uncertain| FileHistory {
            unsynced_bytes: 0,
            answered: happened(at_ns),
            answered_bytes: 34,
            answered_after_ns: Some(200_000),
            answer_synced_after_ns: Some(5_000_000),
            uncertain,
            ..promised(at_ns)
        };
        let each = run(vec![changed(
            "/data/log",
            answered(&[3_000_000, 4_000_000], false),
        )]);
        let finding = the_only(RULE.look(&each)).finding;
        assert_eq!(finding.severity, Severity::High);
        let what = &finding.evidence[0].what;
        for part in ["200 µs after a write", "34 B", "synced 5.00 ms later"] {
            assert!(what.contains(part), "{what}");
        }
        assert_eq!(severity(answered(&[3_000_000], false)), Severity::Medium);
        let unclear = run(vec![changed("/data/log", answered(&[1], true))]);
        assert_eq!(RULE.look(&unclear), vec![], "a sync overlapped");
    }

    #[test]
    fn durable_removed_and_unread_mapped_files_are_none() {
        let durable = FileHistory {
            unsynced_bytes: 0,
            ..promised(&[1])
        };
        let removed = FileHistory {
            unlinked: true,
            ..promised(&[1])
        };
        let mut read = changed("/data/map", durable.clone());
        read.history.as_mut().unwrap().mapped_to_write = happened(&[1]);
        read.evidence.cache.dirtied_bytes = Some(300);
        let run = run(vec![
            changed("/data/a", durable),
            changed("/data/b", removed),
            read,
        ]);
        assert_eq!(RULE.look(&run), vec![]);
    }
}
