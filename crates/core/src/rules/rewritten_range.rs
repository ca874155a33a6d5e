//! `rewritten-range`: the same bytes of a file written repeatedly.

use super::calls::{Sum, WRITES, is_stored};
use super::draft::{Found, cited};
use super::rule::{Rule, Subject};
use crate::bytes::short;
use crate::noun::counted;
use crate::trace::{FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "rewritten-range",
    looks_for: "a file rewritten many times over, with no sync or open in between",
    in_short: "write only the final contents",
    advice: "change it in memory and write the final contents, or write at most a few times a \
             second; if others read it continuously, map it",
    at: Subject::Files(rewritten),
};

/// Headers corrected at the end, and growing tables, are written a few times.
const LEAST_TIMES: f64 = 8.0;

fn rewritten(_: &TraceResult, file: &FileRow) -> Option<Found> {
    let writes = Sum::of(file, WRITES);
    let furthest = writes.shape.furthest_bytes;
    if !is_stored(file) || furthest == 0 {
        return None;
    }
    let times = writes.stats.bytes as f64 / furthest as f64;
    if times < LEAST_TIMES
        // Each sync needs the bytes of that moment, and so does each reader.
        || file.syncs.count as f64 * 2.0 > times
        || file.reads.bytes as f64 * 2.0 > writes.stats.bytes as f64
        || file.history.as_deref().is_some_and(|it| it.synchronous)
    {
        return None;
    }
    let what = format!(
        "{} written in {} to a file of {}, {} and {} in between",
        short(writes.stats.bytes),
        counted(writes.moves(), "call"),
        short(furthest),
        counted(file.syncs.count, "sync"),
        counted(file.opens, "open")
    );
    Some(Found {
        title: format!("the same {} written {times:.0} times", short(furthest)),
        evidence: vec![cited(what, writes.name, file, writes.moves())],
        cost_s: writes.stats.time_s,
        saving_s: Some(writes.stats.time_s * (1.0 - 1.0 / times)),
        // A process outside the tree may have read it in between.
        is_unproven: true,
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{file, over, run, the_only, with_calls};
    use super::*;

    fn status(times: u64) -> FileRow {
        with_calls(
            file("/data/status"),
            vec![over("pwrite64", times, 100, 0.1)],
        )
    }

    #[test]
    fn all_but_the_last_time_is_saved() {
        let draft = the_only(RULE.look(&run(vec![status(10)])));
        let saving_s = draft.finding.saving_s.unwrap();
        assert!((saving_s - 0.09).abs() < 1e-9, "{saving_s}");
    }

    #[test]
    fn what_is_synced_or_read_in_between_is_needed() {
        let mut synced = status(10);
        synced.syncs.count = 6;
        let mut read = status(10);
        read.reads.bytes = 501;
        assert_eq!(RULE.look(&run(vec![synced, read, status(7)])), vec![]);
    }
}
