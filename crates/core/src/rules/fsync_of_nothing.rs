//! `fsync-of-nothing`: syncs of a file that had not changed since the last one.

use super::draft::Found;
use super::rule::{Rule, Subject};
use super::synced::{LEAST_SYNCS, SyncedName};
use crate::bytes::grouped;
use crate::figures::duration;
use crate::trace::TraceResult;

pub(super) static RULE: Rule = Rule {
    id: "fsync-of-nothing",
    looks_for: "syncs of a file that was unchanged since its last sync",
    in_short: "skip the sync when nothing was written",
    advice: "track whether anything was written since the last sync, and skip the sync if not; \
             even an empty sync flushes the disk's cache",
    at: Subject::SyncedNames(idle),
};

fn idle(run: &TraceResult, name: &SyncedName<'_>) -> Option<Found> {
    let nothing = &name.sum.syncs_of_nothing;
    if nothing.count < LEAST_SYNCS || name.has_metadata {
        return None;
    }
    let all = name.sum.syncs.count + nothing.count;
    let cost_s = nothing.took_s().min(run.wall_s);
    let what = format!(
        "{} of {} syncs followed another one without a change in between, and took {}",
        grouped(nothing.count),
        grouped(all),
        duration(nothing.took_s())
    );
    Some(Found {
        title: format!(
            "{} of {} syncs had nothing to write",
            grouped(nothing.count),
            grouped(all)
        ),
        evidence: vec![name.cited(run, what, nothing)],
        cost_s,
        saving_s: Some(cost_s),
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{changed, file_call, run, synced, the_only};
    use super::*;
    use crate::trace::{Basis, FileHistory, FileRow, Happened};

    fn idle(count: u64) -> FileRow {
        let nothing = Happened {
            count,
            took_ns: 60_000_000,
            first_ns: vec![2_000_000],
        };
        let history = FileHistory {
            syncs_of_nothing: nothing,
            ..synced(100, 1, 0.1)
        };
        changed("/data/log", history)
    }

    #[test]
    fn their_time_is_saved_whole() {
        let draft = the_only(RULE.look(&run(vec![idle(90)])));
        assert_eq!(draft.finding.saving_s, Some(0.06));
        assert_eq!(draft.finding.saving_basis, Some(Basis::Computed));
        let title = "90 of 100 syncs had nothing to write";
        assert_eq!(draft.finding.title, title);
        assert_eq!(draft.finding.evidence[0].at_s, Some(0.002));
    }

    #[test]
    fn few_are_none_and_a_new_mode_is_something() {
        let mut with_mode = idle(90);
        with_mode.calls.push(file_call("fchmod", 90, 0, 0.0));
        assert_eq!(RULE.look(&run(vec![idle(9), with_mode])), vec![]);
    }
}
