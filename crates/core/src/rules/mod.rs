//! The rules: each in its own file, with a page `docs/rules/<id>.md` and two programs in
//! `workloads/rules`, one that triggers it and one that only just does not.

mod acknowledged_not_synced;
#[cfg(test)]
mod any;
mod bound;
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
mod proof;
mod queue_depth_one;
mod re_read;
mod read_before_write;
mod rebuilt;
mod rename_without_fsync;
mod rewritten_range;
mod rule;
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

use crate::halves;
use crate::trace::{Basis, Draft, Finding, Replayed, Severity, TraceResult, worth_s};
pub use bound::Bound;
pub use proof::prove;
pub use rule::Rule;

macro_rules! all {
    ($($rule:ident)+) => { &[$(&$rule::RULE),+] };
}

pub static ALL: &[&Rule] = all! {
    acknowledged_not_synced cache_thrash close_without_sync cold_start copy_loop direct_io_small
    directory_not_synced directory_reread end_of_file_polling failed_lookups fdatasync_suffices
    fsync_of_nothing fsync_per_record ignored_fsync_error journal_amplification lost_events
    many_tiny_files mapped_file_faults mapped_not_synced medium_transfers open_close_churn
    overwritten_in_place preallocate_log prefetch_wasted queue_depth_one re_read read_before_write
    rename_without_fsync rewritten_range seek_per_transfer small_pipe_transfers small_reads
    small_synchronous_writes small_writes sync_everything sync_range_is_not_durable temp_file_churn
    truncate_then_write unlink_before_durable unpaid_at_exit uring_single_operations waits_for_lock
    write_amplification
};

/// The advice of a rule in a few words; `None` for an unknown rule.
pub fn in_short(id: &str) -> Option<&'static str> {
    let rule = ALL.iter().find(|rule| rule.id == id)?;
    Some(rule.in_short)
}

/// The findings of all rules about a run, except the ignored ones.
pub fn look(result: &TraceResult, ignored: &[String]) -> Vec<Draft> {
    let wanted: Vec<&Rule> = ALL
        .iter()
        .copied()
        .filter(|rule| !ignored.iter().any(|name| name == rule.id))
        .collect();
    let asked = rule::Asked::of(result);
    let looks = |rule: &&Rule| rule.look_among(result, &asked);
    // With few files, starting a thread takes longer.
    if result.files.len() < MANY_FILES {
        return wanted.iter().flat_map(looks).collect();
    }
    let drafts = halves::both(&wanted, |rules| -> Vec<Draft> {
        rules.iter().flat_map(looks).collect()
    });
    drafts.into_iter().flatten().collect()
}

/// From this number of files on, two threads evaluate the rules.
const MANY_FILES: usize = 1000;

/// The finding with its measured saving; `None` when it is not worth the reader's time.
///
/// `replayed` has the measured times of both variants; the share that the improved one saved is
/// applied to the cost, and determines the severity. If neither was measured the saving is
/// computed, and if that is impossible the finding has only its cost. No saving exceeds its bound; what
/// nobody is known to have waited for is worth knowing, and no more.
pub fn settle(mut draft: Draft, replayed: Option<Replayed>, bound: &Bound<'_>) -> Option<Finding> {
    let wall_s = bound.wall_s();
    let replayed = replayed.filter(|measured| measured.now_s > 0.0);
    let is_open = draft.finding.saving_s.is_none() && !draft.is_fault;
    let remedy = draft.remedy.as_ref().filter(|_| is_open);
    let (basis, share) = match (replayed, remedy) {
        (Some(measured), _) => {
            let share = (1.0 - measured.better_s / measured.now_s).max(0.0);
            (Basis::Measured, Some(share))
        }
        (None, Some((remedy, _))) => (Basis::Computed, remedy.share_of_calls()),
        (None, None) => (Basis::Computed, None),
    };
    let unmeasured = replayed.is_none() && remedy.is_some();
    let finding = &mut draft.finding;
    if let Some(share) = share {
        finding.saving_s = finding.cost_s.map(|cost| cost * share);
        finding.saving_basis = Some(basis);
    }
    let weigh = |finding: &Finding| finding.saving_s.or(finding.cost_s.filter(|_| unmeasured));
    let is_worth = |weight_s: f64| weight_s >= worth_s(wall_s);
    let seemed_s = weigh(finding);
    bound.apply(finding);
    let is_hidden = bound.is_hidden(finding) && seemed_s.is_some_and(is_worth);
    if !draft.is_fault {
        finding.severity = match finding
            .saving_s
            .or(finding.worth_s().filter(|_| unmeasured))
        {
            _ if is_hidden => Severity::Info,
            Some(weight_s) => draft::severity(weight_s, wall_s),
            None => finding.severity,
        };
    }
    if unmeasured && !is_hidden {
        let text = match share {
            Some(_) => "the saving is an upper bound, computed as if all calls cost the same",
            None => "the saving is an upper bound: how much of this time it saves was not measured",
        };
        finding.evidence.push(draft::said(text.to_owned()));
    }
    let is_worthy = is_hidden || weigh(finding).is_some_and(is_worth);
    (is_worthy || draft.is_fault).then_some(draft.finding)
}

/// Ordered by severity, then by saving.
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
    use crate::trace::Remedy;

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
        let run = fixture::run(vec![]);
        let bound = Bound::of(&run);
        settle(draft, Some(Replayed { now_s, better_s }), &bound)
    }

    #[test]
    fn what_was_measured_is_the_saving_and_says_how_bad_it_is() {
        let finding = measured(2.0, 1.5).unwrap();
        assert_eq!(finding.saving_s, Some(0.2));
        assert_eq!(finding.saving_basis, Some(Basis::Measured));
        assert_eq!(finding.severity, Severity::Medium);
    }

    #[test]
    fn what_was_not_measured_is_computed_or_said_to_be_open() {
        let settled = |remedy: Option<Remedy>| {
            let calls = vec![fixture::in_order("write", 100_000, 1, 0.8)];
            let log = fixture::with_calls(fixture::file("/data/log"), calls);
            let mut draft = fixture::the_only(look(&fixture::run(vec![log]), &[]));
            let (is_now, directory) = draft.remedy.take().unwrap();
            draft.remedy = Some((remedy.unwrap_or(is_now), directory));
            settle(draft, None, &Bound::of(&fixture::run(vec![]))).unwrap()
        };
        // 0.8 s for writes of 1 byte: one of 65,536 remains.
        let computed = settled(None);
        assert_eq!(computed.saving_basis, Some(Basis::Computed));
        assert!((computed.saving_s.unwrap() - 0.8).abs() < 0.001);
        let told = &computed.evidence.last().unwrap().what;
        assert!(told.contains("upper bound"), "{told}");
        let open = settled(Some(Remedy::FewerSyncs {
            piece_bytes: 1,
            writes_per_sync: 1,
            syncs: 100,
            group: 1,
            data_only_now: false,
            data_only_better: true,
            append: true,
            preallocate: false,
        }));
        assert_eq!((open.saving_s, open.saving_basis), (None, None));
        assert_eq!(open.cost_s, Some(0.8));
        let told = &open.evidence.last().unwrap().what;
        assert!(told.contains("was not measured"), "{told}");
    }

    #[test]
    fn what_saves_nothing_is_not_told() {
        assert_eq!(measured(1.0, 1.0), None);
        assert_eq!(measured(1.0, 2.0), None);
    }
}
