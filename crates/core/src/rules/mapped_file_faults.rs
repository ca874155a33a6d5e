//! `mapped-file-faults`: a mapped file read in by page faults, each waiting for the device.

use super::calls::{filled_pages, has, is_on_disk};
use super::draft::{Found, cited};
use super::rule::{Rule, Subject};
use crate::bytes::grouped;
use crate::trace::{FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "mapped-file-faults",
    looks_for: "a mapped file read in by page faults, one at a time",
    in_short: "prefetch with madvise or MAP_POPULATE",
    advice: "prefetch the range before touching it: madvise(MADV_WILLNEED or MADV_POPULATE_READ), \
             MAP_POPULATE, or read it with several requests in flight",
    at: Subject::Files(faulted),
};

/// A device answers in 0.05 to 10 ms: with fewer faults the order is not noticeable.
const LEAST_PAGES: u64 = 256;

/// Requesting the pages in advance allows at least two concurrent requests.
const SAVED: f64 = 0.5;

/// Pages that faults waited for, if the file was only mapped. Libraries are excluded: their loader
/// reads the header before it maps them.
pub(super) fn faulted_pages(file: &FileRow) -> Option<u64> {
    let only_mapped = has(file, "mmap") && file.reads.count == 0;
    let missed = file.evidence.cache.missed_pages?;
    (is_on_disk(file) && only_mapped).then_some(missed)
}

fn faulted(_: &TraceResult, file: &FileRow) -> Option<Found> {
    let missed = faulted_pages(file).filter(|&pages| pages >= LEAST_PAGES)?;
    if super::prefetch_wasted::wasted_pages(file).is_some() {
        return None;
    }
    // Each fault waits for its own request, not for read-ahead.
    let reads = file.evidence.exact_device()?.reads;
    let share = (missed as f64 / reads.count.max(1) as f64).min(1.0);
    let cost_s = reads.time_s * share;
    let what = format!(
        "faults waited for {} pages; {} were read in {} requests",
        grouped(missed),
        grouped(filled_pages(file)?),
        grouped(reads.count)
    );
    Some(Found {
        title: format!("{} faults that waited for the device", grouped(missed)),
        evidence: vec![cited(what, "mmap", file, missed)],
        cost_s,
        saving_s: Some(cost_s * SAVED),
        // Waiting in faults is visible only through the device's times.
        is_unproven: true,
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{
        cached, file, file_call, read_by_device, run, the_only, with_calls,
    };
    use super::super::prefetch_wasted;
    use super::*;

    fn mapped(missed: u64, requests: u64) -> FileRow {
        let file = with_calls(file("/data/index"), vec![file_call("mmap", 1, 0, 1e-5)]);
        let file = cached(file, missed, missed, 2 * missed);
        read_by_device(file, requests, requests * 12_288, 0.2)
    }

    #[test]
    fn half_of_what_faults_waited_for_is_saved() {
        let draft = the_only(RULE.look(&run(vec![mapped(1000, 2000)])));
        assert_eq!(
            draft.finding.cost_s,
            Some(0.1),
            "half of the requests were waited for"
        );
        assert_eq!(draft.finding.saving_s, Some(0.05));
    }

    #[test]
    fn libraries_and_few_faults_are_none() {
        let mut library = mapped(1000, 1000);
        library.reads.count = 1;
        assert_eq!(RULE.look(&run(vec![library, mapped(255, 255)])), vec![]);
    }

    #[test]
    fn wasted_read_ahead_has_its_own_rule() {
        let wasteful = cached(mapped(1000, 1000), 1000, 1000, 31_000);
        assert_eq!(RULE.look(&run(vec![wasteful.clone()])), vec![]);
        assert_eq!(prefetch_wasted::RULE.look(&run(vec![wasteful])).len(), 1);
    }
}
