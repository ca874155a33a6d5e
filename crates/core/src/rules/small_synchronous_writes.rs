//! `small-synchronous-writes`: small writes through a descriptor that makes each durable.

use super::calls::{Sum, WRITES};
use super::draft::{Found, cited};
use super::fault::lasting;
use super::rule::{Rule, Subject};
use super::synced::LEAST_SYNCS;
use crate::bytes::{grouped, short};
use crate::figures::duration;
use crate::trace::{FileHistory, FileRow, Remedy, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "small-synchronous-writes",
    looks_for: "small writes to a file that was opened with O_SYNC or O_DSYNC",
    in_short: "combine the writes, or call fdatasync only where it is needed",
    advice: "combine related data into one write (writev), or open without O_SYNC and O_DSYNC and \
             call fdatasync where it is needed",
    at: Subject::Groups(look),
};

/// A write of more bytes than this is already a batch.
const SMALL_BYTES: u64 = 64 * 1024;

/// Writes that are combined into one in the trial.
const GROUP: u64 = 10;

fn look(run: &TraceResult) -> Vec<Found> {
    let synchronous = lasting(run).filter(|(_, history)| history.synchronous);
    let found = synchronous.filter_map(|(file, history)| Some(small(run, file, history)?.of(file)));
    found.collect()
}

fn small(run: &TraceResult, file: &FileRow, history: &FileHistory) -> Option<Found> {
    let mean_bytes = history.written_bytes.checked_div(history.writes)?;
    if history.writes < LEAST_SYNCS || mean_bytes > SMALL_BYTES {
        return None;
    }
    let writes = Sum::of(file, WRITES);
    let what = format!(
        "{} writes of {} on average, each of which waits for the disk, took {}",
        grouped(history.writes),
        short(mean_bytes),
        duration(writes.stats.time_s)
    );
    let remedy = Remedy::FewerSyncs {
        piece_bytes: mean_bytes.max(1),
        writes_per_sync: 1,
        syncs: history.writes,
        group: GROUP,
        // O_DSYNC is a write and fdatasync in one call (open(2)).
        data_only_now: true,
        data_only_better: true,
        append: history.appends * 2 > history.writes,
        preallocate: false,
    };
    Some(Found {
        title: format!(
            "{} synchronous writes of {} on average",
            grouped(history.writes),
            short(mean_bytes)
        ),
        evidence: vec![cited(what, writes.name, file, history.writes)],
        cost_s: writes.stats.time_s.min(run.wall_s),
        remedy: Some(remedy),
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{changed, in_order, run, the_only, with_calls};
    use super::*;

    fn log(writes: u64, synchronous: bool) -> FileRow {
        let history = FileHistory {
            synchronous,
            writes,
            written_bytes: 100 * writes,
            appends: writes,
            ..FileHistory::default()
        };
        let row = changed("/data/log", history);
        with_calls(row, vec![in_order("write", writes, 100, 0.3)])
    }

    #[test]
    fn small_ones_are_to_be_gathered() {
        let draft = the_only(RULE.look(&run(vec![log(200, true)])));
        let title = "200 synchronous writes of 100 B on average";
        assert_eq!(draft.finding.title, title);
        assert_eq!(draft.finding.cost_s, Some(0.3));
        let (remedy, directory) = draft.remedy.unwrap();
        assert_eq!(directory, b"/data");
        assert!(matches!(
            remedy,
            Remedy::FewerSyncs {
                piece_bytes: 100,
                writes_per_sync: 1,
                syncs: 200,
                group: 10,
                append: true,
                ..
            }
        ));
    }

    #[test]
    fn few_large_and_ordinary_ones_are_none() {
        let mut large = log(200, true);
        large.history.as_mut().unwrap().written_bytes = 200 * (SMALL_BYTES + 1);
        let files = vec![log(9, true), large, log(200, false)];
        assert_eq!(RULE.look(&run(files)), vec![]);
    }
}
