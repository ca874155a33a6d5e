//! `end-of-file-polling`: reads that repeatedly check whether a file has grown.

use super::calls::{READS, Sum};
use super::draft::{Found, cited};
use super::rule::{Rule, Subject};
use crate::bytes::grouped;
use crate::noun::counted;
use crate::trace::{FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "end-of-file-polling",
    looks_for: "repeated reads at the end of a file that return nothing",
    in_short: "wait with inotify instead of polling",
    advice: "wait for a change with inotify, or sleep between reads; a reader that knows the \
             length needs no read to detect the end",
    at: Subject::Files(polling),
};

/// Reading to the end takes one empty read, with some libraries two; more per open is polling.
const USUAL_PER_OPEN: u64 = 2;

fn polling(run: &TraceResult, file: &FileRow) -> Option<Found> {
    let reads = Sum::of(file, READS);
    let usual = file.opens.max(run.processes).saturating_mul(USUAL_PER_OPEN);
    let extra = reads.shape.empty.saturating_sub(usual);
    // If most reads returned data, the empty ones are not the cost.
    if extra.saturating_mul(2) < reads.stats.count {
        return None;
    }
    // An empty read is the fastest, so the median is an upper bound of its time only when most
    // reads are empty, as here.
    let each_s = quickest_s(file).min(reads.stats.time_s / reads.stats.count.max(1) as f64);
    let cost_s = each_s * extra as f64;
    let what = format!(
        "{} of {} reads were at the end of the file and returned 0 bytes; it was opened {}",
        grouped(reads.shape.empty),
        grouped(reads.stats.count),
        counted(file.opens, "time")
    );
    Some(Found {
        title: format!("{} that returned nothing", counted(extra, "read")),
        evidence: vec![cited(what, reads.name, file, reads.shape.empty)],
        cost_s,
        saving_s: Some(cost_s),
        ..Found::default()
    })
}

/// The smallest median of the reading calls.
fn quickest_s(file: &FileRow) -> f64 {
    let reading = file
        .calls
        .iter()
        .filter(|call| READS.contains(&call.row.name.as_str()));
    reading
        .filter_map(|call| call.row.p50_s)
        .fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{file, in_order, run, the_only, with_calls};
    use super::*;

    fn followed(reads: u64, empty: u64) -> FileRow {
        let mut calls = in_order("read", reads - empty, 80, 0.0);
        calls.row.stats.count = reads;
        calls.row.stats.time_s = reads as f64 * 2e-6;
        calls.row.p50_s = Some(1e-6);
        calls.shape.as_mut().unwrap().empty = empty;
        with_calls(file("/data/log"), vec![calls])
    }

    #[test]
    fn asking_for_more_again_and_again_costs_the_empty_reads() {
        let draft = the_only(RULE.look(&run(vec![followed(20_100, 20_002)])));
        // Two of them are usual, the median is below the mean.
        let saving_s = draft.finding.saving_s.unwrap();
        assert!((saving_s - 0.02).abs() < 1e-9, "{saving_s}");
    }

    #[test]
    fn reading_to_the_end_takes_an_empty_read() {
        let mut config = followed(40_000, 20_000);
        config.opens = 20_000;
        assert_eq!(RULE.look(&run(vec![config])), vec![]);
    }

    #[test]
    fn where_most_reads_find_something_it_is_no_polling() {
        assert_eq!(RULE.look(&run(vec![followed(50_000, 20_000)])), vec![]);
    }
}
