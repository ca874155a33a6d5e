//! `prefetch-wasted`: read-ahead read much more than was requested.

use super::calls::{PAGE_BYTES, filled_pages, is_on_disk};
use super::draft::{Found, said};
use super::rule::{Rule, Subject};
use crate::bytes::{grouped, short};
use crate::trace::{Cited, FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "prefetch-wasted",
    looks_for: "a file of which read-ahead read many times what the program asked for",
    in_short: "tell the kernel that access is random",
    advice: "tell the kernel that access is random: madvise(MADV_RANDOM) for a mapping, \
             posix_fadvise(POSIX_FADV_RANDOM) for a descriptor",
    at: Subject::Files(wasted),
};

/// Up to this ratio read-ahead is a fair guess: the next run or process may request the rest.
const LEAST_TIMES: u64 = 4;

/// 4 MiB, which most devices read in less than 5 ms.
const LEAST_PAGES: u64 = 1024;

/// The overhead of a request remains when it gets smaller.
const SAVED: f64 = 0.5;

/// Pages that were brought in and never requested, if they are many times the requested ones. A
/// page requested twice counts twice, so this is an upper bound.
pub(super) fn wasted_pages(file: &FileRow) -> Option<u64> {
    let filled = filled_pages(file)?;
    let asked = file.evidence.cache.lookups_pages?;
    let wasted = filled.saturating_sub(asked);
    let is_many = filled >= asked.saturating_mul(LEAST_TIMES) && wasted >= LEAST_PAGES;
    (is_on_disk(file) && is_many).then_some(wasted)
}

fn wasted(_: &TraceResult, file: &FileRow) -> Option<Found> {
    let wasted = wasted_pages(file)?;
    let filled = filled_pages(file)?;
    let reads = file.evidence.exact_device()?.reads;
    let cost_s = reads.time_s * wasted as f64 / filled as f64;
    Some(Found {
        title: format!("{} read ahead and never used", short(wasted * PAGE_BYTES)),
        evidence: vec![Cited {
            path: Some(file.path.clone()),
            count: Some(reads.count),
            ..said(format!(
                "{} pages read in {} requests, {} asked for",
                grouped(filled),
                grouped(reads.count),
                grouped(filled - wasted)
            ))
        }],
        cost_s,
        saving_s: Some(cost_s * SAVED),
        // Whether any call waited for these requests is not observed.
        is_unproven: true,
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{cached, file, read_by_device, run, the_only};
    use super::*;

    fn read_ahead(asked: u64, missed: u64, ahead: u64) -> FileRow {
        let file = cached(file("/data/index"), asked, missed, ahead);
        read_by_device(file, missed, (missed + ahead) * 4096, 0.4)
    }

    #[test]
    fn half_of_the_time_for_what_nobody_wanted_is_saved() {
        let draft = the_only(RULE.look(&run(vec![read_ahead(2000, 2000, 6000)])));
        let saving_s = draft.finding.saving_s.unwrap();
        assert!((saving_s - 0.4 * 0.75 * 0.5).abs() < 1e-9, "{saving_s}");
        assert_eq!(draft.finding.title, "23.4 MiB read ahead and never used");
    }

    #[test]
    fn a_fair_bet_and_a_small_one_are_none() {
        let files = vec![read_ahead(2001, 2000, 6000), read_ahead(100, 100, 1023)];
        assert_eq!(RULE.look(&run(files)), vec![]);
    }
}
