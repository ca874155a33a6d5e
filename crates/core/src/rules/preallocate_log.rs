//! `preallocate-log`: records appended and synced, so that every sync must also make a new length
//! and new blocks durable.

use super::draft::Found;
use super::rule::{Rule, Subject};
use super::synced::{LEAST_SYNCS, SyncedName};
use crate::bytes::{grouped, short};
use crate::trace::{Remedy, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "preallocate-log",
    looks_for: "a log that grows with every record and is synced after each",
    in_short: "preallocate the log and call fdatasync",
    advice: "preallocate the log in large steps (posix_fallocate, or write zeros and sync once, \
             or recycle the old log's file), write inside it and call fdatasync",
    at: Subject::SyncedNames(growing),
};

fn growing(run: &TraceResult, name: &SyncedName<'_>) -> Option<Found> {
    let syncs = name.sum.growing_syncs.count;
    if syncs < LEAST_SYNCS || name.sum.allocated || !name.is_appended() {
        return None;
    }
    let title = format!("{} syncs of a file that had grown", grouped(syncs));
    let what = format!(
        "{} of {} syncs had to write a new length, after appends of {} on average, and took {:.3} \
         s",
        grouped(syncs),
        grouped(name.sum.syncs.count),
        short(name.piece_bytes()),
        name.sum.growing_syncs.took_s()
    );
    let remedy = Remedy::FewerSyncs {
        piece_bytes: name.piece_bytes(),
        writes_per_sync: name.writes_per(name.sum.syncs.count),
        syncs,
        group: 1,
        data_only_now: name.is_data_only(),
        data_only_better: true,
        append: true,
        preallocate: true,
    };
    Some(name.found(run, (title, what), &name.sum.growing_syncs, remedy))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{changed, run, synced, the_only};
    use super::*;
    use crate::trace::{FileHistory, Happened};

    #[test]
    fn a_growing_log_is_tried_with_space_reserved() {
        let log = changed("/data/log", synced(100, 100, 0.2));
        let draft = the_only(RULE.look(&run(vec![log])));
        let remedy = Remedy::FewerSyncs {
            piece_bytes: 100,
            writes_per_sync: 1,
            syncs: 100,
            group: 1,
            data_only_now: false,
            data_only_better: true,
            append: true,
            preallocate: true,
        };
        assert_eq!(draft.remedy, Some((remedy, b"/data".to_vec())));
        assert_eq!(draft.finding.saving_s, None, "it is measured");
    }

    #[test]
    fn reserved_files_and_overwritten_ones_are_none() {
        let reserved = FileHistory {
            allocated: true,
            ..synced(100, 100, 0.2)
        };
        let overwritten = FileHistory {
            growing_syncs: Happened::default(),
            appends: 0,
            ..synced(100, 100, 0.2)
        };
        let files = vec![changed("/a", reserved), changed("/b", overwritten)];
        assert_eq!(RULE.look(&run(files)), vec![]);
    }
}
