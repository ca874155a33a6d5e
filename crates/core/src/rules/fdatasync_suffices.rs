//! `fdatasync-suffices`: `fsync` of a file whose length did not change.

use super::draft::Found;
use super::rule::{Rule, Subject};
use super::synced::{LEAST_SYNCS, SyncedName};
use crate::bytes::grouped;
use crate::figures::duration;
use crate::trace::{Remedy, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "fdatasync-suffices",
    looks_for: "fsync where only the contents had changed, for which fdatasync is enough",
    in_short: "call fdatasync instead of fsync",
    advice: "call fdatasync instead: it makes the contents and the length durable, and defers the \
             timestamps",
    at: Subject::SyncedNames(steady),
};

fn steady(run: &TraceResult, name: &SyncedName<'_>) -> Option<Found> {
    let syncs = name.sum.steady_syncs.count;
    if syncs < LEAST_SYNCS || name.has_metadata {
        return None;
    }
    let title = format!(
        "{} fsync calls although the file's length had not changed",
        grouped(syncs)
    );
    let what = format!(
        "{} of {} syncs followed writes inside the file, and took {}",
        grouped(syncs),
        grouped(name.sum.syncs.count),
        duration(name.sum.steady_syncs.took_s())
    );
    let remedy = Remedy::FewerSyncs {
        piece_bytes: name.piece_bytes(),
        writes_per_sync: name.writes_per(name.sum.syncs.count),
        syncs,
        group: 1,
        data_only_now: false,
        data_only_better: true,
        append: false,
        preallocate: false,
    };
    Some(name.found(run, (title, what), &name.sum.steady_syncs, remedy))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{changed, file_call, run, synced, the_only};
    use super::*;
    use crate::trace::{FileHistory, FileRow};

    fn table(syncs: u64) -> FileRow {
        let history = synced(syncs, syncs, 0.2);
        changed(
            "/data/table",
            FileHistory {
                appends: 0,
                growing_syncs: crate::trace::Happened::default(),
                steady_syncs: history.syncs.clone(),
                ..history
            },
        )
    }

    #[test]
    fn overwriting_needs_fdatasync_only() {
        let draft = the_only(RULE.look(&run(vec![table(100)])));
        let remedy = Remedy::FewerSyncs {
            piece_bytes: 100,
            writes_per_sync: 1,
            syncs: 100,
            group: 1,
            data_only_now: false,
            data_only_better: true,
            append: false,
            preallocate: false,
        };
        assert_eq!(draft.remedy, Some((remedy, b"/data".to_vec())));
        assert_eq!(draft.finding.cost_s, Some(0.2));
    }

    #[test]
    fn growing_files_and_changed_modes_need_fsync() {
        let growing = changed("/data/log", synced(100, 100, 0.2));
        let mut with_mode = table(100);
        with_mode.calls.push(file_call("fchmod", 1, 0, 0.0));
        assert_eq!(RULE.look(&run(vec![growing, with_mode, table(9)])), vec![]);
    }
}
