//! `fsync-per-record`: a sync after each record or few, many times.

use super::draft::Found;
use super::rule::{Rule, Subject};
use super::synced::{LEAST_SYNCS, SyncedName};
use crate::bytes::{grouped, short};
use crate::figures::duration;
use crate::trace::{Remedy, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "fsync-per-record",
    looks_for: "a sync after each small record",
    in_short: "batch several records per sync (SQLite: many statements in one transaction)",
    advice: "batch several records per sync: collect what arrives while a sync is in progress and \
             sync it together (group commit); SQLite: many statements in one transaction, or \
             journal_mode=WAL with synchronous=NORMAL if a crash may undo the last transactions",
    at: Subject::SyncedNames(per_record),
};

/// More bytes than this between two syncs are already a batch, not a record.
const RECORD_BYTES: u64 = 64 * 1024;

/// Records that share one sync in the trial: about as many as ten concurrent writers provide.
const GROUP: u64 = 10;

fn per_record(run: &TraceResult, name: &SyncedName<'_>) -> Option<Found> {
    let syncs = name.sum.syncs.count;
    let is_mapped = name.sum.writes == 0;
    let bytes = if is_mapped {
        name.stored_bytes
    } else {
        name.sum.written_bytes
    };
    let per_sync_bytes = bytes.checked_div(syncs)?;
    if syncs < LEAST_SYNCS || bytes == 0 || per_sync_bytes > RECORD_BYTES {
        return None;
    }
    let title = format!(
        "{} syncs, each of {} on average",
        grouped(syncs),
        short(per_sync_bytes)
    );
    let (changes, changed) = if is_mapped {
        ("stores".to_owned(), short(bytes) + " in all")
    } else {
        let piece_bytes = short(name.piece_bytes());
        (
            grouped(name.sum.writes) + " writes",
            piece_bytes + " on average",
        )
    };
    let what = format!(
        "{} syncs after {changes} of {changed} took {}",
        grouped(syncs),
        duration(name.sum.syncs.took_s())
    );
    let remedy = Remedy::FewerSyncs {
        piece_bytes: if is_mapped {
            per_sync_bytes
        } else {
            name.piece_bytes()
        },
        writes_per_sync: name.writes_per(syncs),
        syncs,
        group: GROUP,
        data_only_now: name.is_data_only(),
        data_only_better: name.is_data_only(),
        append: name.is_appended(),
        preallocate: false,
    };
    Some(name.found(run, (title, what), &name.sum.syncs, remedy))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{changed, run, synced, the_only};
    use super::*;
    use crate::trace::FileHistory;

    #[test]
    fn syncs_of_single_records_are_to_be_grouped() {
        let log = changed("/data/log", synced(500, 1_000, 0.4));
        let draft = the_only(RULE.look(&run(vec![log])));
        let remedy = Remedy::FewerSyncs {
            piece_bytes: 100,
            writes_per_sync: 2,
            syncs: 500,
            group: 10,
            data_only_now: false,
            data_only_better: false,
            append: true,
            preallocate: false,
        };
        assert_eq!(draft.remedy, Some((remedy, b"/data".to_vec())));
        assert_eq!(draft.finding.cost_s, Some(0.4));
        assert_eq!(draft.finding.title, "500 syncs, each of 200 B on average");
        assert_eq!(draft.finding.evidence[0].count, Some(500));
        assert_eq!(draft.finding.evidence[0].at_s, Some(1e-6));
    }

    #[test]
    fn syncs_of_single_stores_are_to_be_grouped() {
        let history = FileHistory {
            msyncs: 500,
            ..synced(500, 0, 0.4)
        };
        let mut file = changed("/data/map", history);
        file.evidence.cache.dirtied_bytes = Some(500 * 4096);
        let draft = the_only(RULE.look(&run(vec![file])));
        assert_eq!(draft.finding.title, "500 syncs, each of 4.0 KiB on average");
        let cited = &draft.finding.evidence[0];
        assert_eq!(cited.call.as_deref(), Some("msync"));
        assert_eq!(
            cited.what,
            "500 syncs after stores of 2.0 MiB in all took 400 ms"
        );
    }

    #[test]
    fn few_syncs_large_ones_and_cheap_ones_are_none() {
        let few = changed("/data/few", synced(9, 9, 0.4));
        let large = FileHistory {
            written_bytes: 500 * (RECORD_BYTES + 1),
            ..synced(500, 500, 0.4)
        };
        let cheap = changed("/data/cheap", synced(500, 500, 0.009));
        let files = vec![few, changed("/data/large", large), cheap];
        assert_eq!(RULE.look(&run(files)), vec![]);
    }
}
