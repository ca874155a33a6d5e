//! The rules: each in a file of its own, with a page `docs/rules/<id>.md` and two programs
//! in `workloads/rules`, one that it speaks of and one that it only nearly does.

mod acknowledged_not_synced;
#[cfg(test)]
mod any;
mod cache_thrash;
mod calls;
mod close_without_sync;
mod cold_start;
mod copied;
mod copy_loop;
mod direct_io_small;
mod directory_not_synced;
mod directory_reread;
mod draft;
mod end_of_file_polling;
mod failed_lookups;
mod fault;
mod fdatasync_suffices;
#[cfg(test)]
mod fixture;
mod fsync_of_nothing;
mod fsync_per_record;
mod ignored_fsync_error;
mod journal_amplification;
mod lost_events;
mod many_tiny_files;
mod mapped_file_faults;
mod mapped_not_synced;
mod medium_transfers;
mod open_close_churn;
mod overwritten_in_place;
mod pieces;
mod preallocate_log;
mod prefetch_wasted;
mod queue_depth_one;
mod re_read;
mod read_before_write;
mod rebuilt;
mod rename_without_fsync;
mod rewritten_range;
mod seek_per_transfer;
mod small_pipe_transfers;
mod small_reads;
mod small_synchronous_writes;
mod small_writes;
mod sync_everything;
mod sync_range_is_not_durable;
mod synced;
mod temp_file_churn;
mod truncate_then_write;
mod unlink_before_durable;
mod unpaid_at_exit;
mod uring_single_operations;
mod waits_for_lock;
mod write_amplification;

use crate::trace::{Basis, Draft, Finding, Replayed, Rule, TraceResult, worth_s};

/// All rules, by name.
pub static ALL: &[&Rule] = &[
    &acknowledged_not_synced::RULE,
    &cache_thrash::RULE,
    &close_without_sync::RULE,
    &cold_start::RULE,
    &copy_loop::RULE,
    &direct_io_small::RULE,
    &directory_not_synced::RULE,
    &directory_reread::RULE,
    &end_of_file_polling::RULE,
    &failed_lookups::RULE,
    &fdatasync_suffices::RULE,
    &fsync_of_nothing::RULE,
    &fsync_per_record::RULE,
    &ignored_fsync_error::RULE,
    &journal_amplification::RULE,
    &lost_events::RULE,
    &many_tiny_files::RULE,
    &mapped_file_faults::RULE,
    &mapped_not_synced::RULE,
    &medium_transfers::RULE,
    &open_close_churn::RULE,
    &overwritten_in_place::RULE,
    &preallocate_log::RULE,
    &prefetch_wasted::RULE,
    &queue_depth_one::RULE,
    &re_read::RULE,
    &read_before_write::RULE,
    &rename_without_fsync::RULE,
    &rewritten_range::RULE,
    &seek_per_transfer::RULE,
    &small_pipe_transfers::RULE,
    &small_reads::RULE,
    &small_synchronous_writes::RULE,
    &small_writes::RULE,
    &sync_everything::RULE,
    &sync_range_is_not_durable::RULE,
    &temp_file_churn::RULE,
    &truncate_then_write::RULE,
    &unlink_before_durable::RULE,
    &unpaid_at_exit::RULE,
    &uring_single_operations::RULE,
    &waits_for_lock::RULE,
    &write_amplification::RULE,
];

/// What all rules say about a run, but those that are ignored.
pub fn look(result: &TraceResult, ignored: &[String]) -> Vec<Draft> {
    ALL.iter()
        .filter(|rule| !ignored.iter().any(|name| name == rule.id))
        .flat_map(|rule| (rule.look)(result))
        .collect()
}

/// The finding with its measured saving; `None` when it is not worth the reader's time.
///
/// `replayed` has both ways as they were measured; the share that the better way saved
/// is taken off the cost, and says how bad it is.
pub fn settle(mut draft: Draft, replayed: Option<Replayed>, wall_s: f64) -> Option<Finding> {
    if let Some(measured) = replayed.filter(|measured| measured.now_s > 0.0) {
        let share = (1.0 - measured.better_s / measured.now_s).max(0.0);
        draft.finding.saving_s = draft.finding.cost_s.map(|cost| cost * share);
        draft.finding.saving_basis = Some(Basis::Measured);
        if let Some(saving_s) = draft.finding.saving_s.filter(|_| !draft.is_fault) {
            draft.finding.severity = draft::severity(saving_s, wall_s);
        }
    }
    let worthy = draft
        .finding
        .saving_s
        .is_some_and(|saving| saving >= worth_s(wall_s));
    (worthy || draft.is_fault).then_some(draft.finding)
}

/// Worst first: by severity, then by what it saves.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_by(|one, other| {
        let saving = |finding: &Finding| finding.saving_s.unwrap_or(0.0);
        other
            .severity
            .cmp(&one.severity)
            .then(saving(other).total_cmp(&saving(one)))
            .then_with(|| one.rule.cmp(&other.rule))
    });
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::trace::Severity;

    #[test]
    fn every_rule_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = ALL.iter().map(|rule| rule.id).collect();
        assert_eq!(names.len(), ALL.len());
    }

    #[test]
    fn an_idle_run_gives_no_finding() {
        let idle = fixture::run(vec![fixture::file("/a"), fixture::file("/b")]);
        assert_eq!(look(&idle, &[]), vec![]);
    }

    #[test]
    fn ignored_rules_are_silent() {
        let mut lossy = fixture::run(vec![]);
        lossy.lost_events = 1;
        assert_eq!(look(&lossy, &[]).len(), 1);
        assert_eq!(look(&lossy, &["lost-events".to_owned()]), vec![]);
    }

    fn measured(now_s: f64, better_s: f64) -> Option<Finding> {
        let calls = vec![fixture::in_order("write", 100_000, 1, 0.8)];
        let log = fixture::with_calls(fixture::file("/data/log"), calls);
        let draft = fixture::the_only(look(&fixture::run(vec![log]), &[]));
        assert_eq!(draft.finding.severity, Severity::High);
        settle(draft, Some(Replayed { now_s, better_s }), 1.0)
    }

    #[test]
    fn what_was_measured_is_the_saving_and_says_how_bad_it_is() {
        let finding = measured(2.0, 1.5).unwrap();
        assert_eq!(finding.saving_s, Some(0.2));
        assert_eq!(finding.saving_basis, Some(Basis::Measured));
        assert_eq!(finding.severity, Severity::Medium);
    }

    #[test]
    fn what_saves_nothing_is_not_told() {
        assert_eq!(measured(1.0, 1.0), None);
        assert_eq!(measured(1.0, 2.0), None);
    }
}
