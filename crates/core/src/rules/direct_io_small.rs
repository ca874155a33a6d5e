//! `direct-io-small`: small transfers that bypass the page cache.

use super::calls::{READS, Sum, WRITES, has, is_on_disk};
use super::draft::{Found, cited};
use super::rule::{Rule, Subject};
use crate::bytes::{grouped, short};
use crate::trace::{FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "direct-io-small",
    looks_for: "sequential direct I/O in small pieces, each waiting for the device",
    in_short: "transfer 1 MiB at a time",
    advice: "use pieces of 1 MiB, or keep several in flight with io_uring; without O_DIRECT the \
             kernel merges adjacent I/O",
    at: Subject::Files(look),
};

/// From this size on, the transfer itself takes as long as the request's overhead.
const BELOW_BYTES: u64 = 64 * 1024;

/// A device answers in 0.05 to 10 ms: a smaller number is not noticeable.
const LEAST: u64 = 100;

/// Databases do random direct I/O on purpose, with their own cache.
const NEIGHBOURS: f64 = 0.8;

/// A call whose time is mostly the device's waits for the device each time.
const WAITING: f64 = 0.5;

/// Pieces twice as large halve the requests; how much of a request's time grows with its length is
/// unknown here, so only half is promised.
const SAVED: f64 = 0.5;

fn look(_: &TraceResult, file: &FileRow) -> Option<Found> {
    let reads = Sum::of(file, READS);
    let writes = Sum::of(file, WRITES);
    let cache = &file.evidence.cache;
    let mapped = has(file, "mmap");
    let direct_reads = cache.lookups_pages == Some(0) && !mapped;
    let direct_writes = cache.dirtied_bytes == Some(0) && !mapped;
    let reading = direct_reads.then(|| small(file, &reads, "read"));
    let writing = direct_writes.then(|| small(file, &writes, "written"));
    writing.flatten().or(reading.flatten())
}

fn small(file: &FileRow, sum: &Sum, verb: &str) -> Option<Found> {
    let waited_s = waited_s(file, sum, verb)?;
    if !is_on_disk(file)
        || sum.moves() < LEAST
        || sum.piece_bytes() >= BELOW_BYTES
        || !sum.is_sequential(NEIGHBOURS)
        || waited_s < sum.stats.time_s * WAITING
    {
        return None;
    }
    let what = format!(
        "{} calls of {} on average, none through the page cache; {:.0} % of their time was spent \
         waiting for the device",
        grouped(sum.moves()),
        short(sum.piece_bytes()),
        100.0 * waited_s / sum.stats.time_s
    );
    Some(Found {
        title: format!(
            "{} {verb} directly in pieces of {}",
            short(sum.stats.bytes),
            short(sum.piece_bytes())
        ),
        evidence: vec![cited(what, sum.name, file, sum.moves())],
        cost_s: waited_s,
        saving_s: Some(waited_s * SAVED),
        ..Found::default()
    })
}

/// How long the calls waited for the device. A thread may stay on its CPU meanwhile: that of a
/// virtual machine may answer before the submitting call returns.
fn waited_s(file: &FileRow, sum: &Sum, verb: &str) -> Option<f64> {
    let requests = file
        .evidence
        .exact_device()
        .map_or(0.0, |device| match verb {
            "read" => device.reads.time_s,
            _ => device.data.time_s,
        });
    Some(sum.blocked_s?.max(requests.min(sum.stats.time_s)))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{
        blocked, cached, file, in_order, read_by_device, run, the_only, with_calls,
    };
    use super::*;

    fn direct(piece_bytes: u64, dirtied_bytes: u64) -> FileRow {
        let writes = blocked(in_order("pwrite64", 1000, piece_bytes, 0.5), 0.4);
        let mut file = with_calls(file("/data/image"), vec![writes]);
        file.evidence.cache.dirtied_bytes = Some(dirtied_bytes);
        file
    }

    #[test]
    fn half_of_the_waiting_is_saved() {
        let draft = the_only(RULE.look(&run(vec![direct(4096, 0)])));
        assert_eq!(draft.finding.saving_s, Some(0.2));
        assert_eq!(
            draft.finding.title,
            "3.9 MiB written directly in pieces of 4.0 KiB"
        );
    }

    #[test]
    fn a_device_that_answers_while_the_call_runs_is_waited_for_too() {
        let reads = |blocked_s| blocked(in_order("pread64", 1000, 4096, 0.5), blocked_s);
        let file = |blocked_s| with_calls(file("/data/image"), vec![reads(blocked_s)]);
        let direct = |blocked_s| cached(file(blocked_s), 0, 0, 0);
        assert_eq!(RULE.look(&run(vec![direct(0.1)])), vec![]);
        let busy = |device_s| read_by_device(direct(0.1), 1000, 4_096_000, device_s);
        assert_eq!(RULE.look(&run(vec![busy(0.2)])), vec![]);
        let saving_s = |device_s| {
            the_only(RULE.look(&run(vec![busy(device_s)])))
                .finding
                .saving_s
        };
        assert_eq!(saving_s(0.4), Some(0.2));
        assert_eq!(saving_s(3.0), Some(0.25), "no more than the calls took");
    }

    #[test]
    fn reads_that_touch_no_page_are_direct() {
        let reads = blocked(in_order("pread64", 1000, 4096, 0.5), 0.4);
        let file = with_calls(file("/data/image"), vec![reads]);
        assert_eq!(
            RULE.look(&run(vec![cached(file.clone(), 0, 0, 0)])).len(),
            1
        );
        assert_eq!(RULE.look(&run(vec![cached(file, 1000, 0, 0)])), vec![]);
    }

    #[test]
    fn large_pieces_the_cache_and_other_file_systems_are_none() {
        let mut far = direct(4096, 0);
        far.filesystem = "nfs4".to_owned();
        let mut unseen = direct(4096, 0);
        unseen.evidence.cache.dirtied_bytes = None;
        let files = vec![direct(65_536, 0), direct(4096, 4096), far, unseen];
        assert_eq!(RULE.look(&run(files)), vec![]);
    }
}
