//! `queue-depth-one`: one thread waits for the device at each random read.

use super::bound::has_all_tasks;
use super::calls::{READS, Sum, is_on_disk};
use super::draft::{Found, cited, said};
use super::rule::{Rule, Subject};
use crate::bytes::grouped;
use crate::trace::{FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "queue-depth-one",
    looks_for: "random reads that wait for the device one at a time",
    in_short: "keep several reads in flight",
    advice: "issue several reads at once: io_uring, several threads with pread, or \
             posix_fadvise(POSIX_FADV_WILLNEED) for the next offsets; otherwise sort the offsets",
    at: Subject::Files(alone),
};

/// A device answers in 0.05 to 10 ms; with fewer requests the order is not noticeable.
const LEAST_PAGES: u64 = 256;

/// Above this share of adjacent reads, read-ahead keeps the device busy by itself.
const NEIGHBOURS: f64 = 0.2;

/// Two concurrent requests halve the waiting on devices without moving parts, which accept at least
/// 32 (SATA) at once; deeper queues save more, how much is unknown here.
const SAVED: f64 = 0.5;

/// With moving parts only the order of the requests improves.
const SAVED_ROTATING: f64 = 0.25;

fn alone(run: &TraceResult, file: &FileRow) -> Option<Found> {
    let reads = Sum::of(file, READS);
    let cache = &file.evidence.cache;
    let (missed, asked) = (cache.missed_pages?, cache.lookups_pages?);
    if !is_on_disk(file)
        || missed < LEAST_PAGES
        || missed.saturating_mul(2) < asked
        || reads.is_sequential(NEIGHBOURS)
        || reads.shape.pairs == 0
        || !is_read_by_one_thread(run)
    {
        return None;
    }
    let cost_s = reads.blocked_s?;
    let what = format!(
        "reads waited for {} of {} pages; {} of {} reads were sequential",
        grouped(missed),
        grouped(asked),
        grouped(reads.shape.sequential),
        grouped(reads.shape.pairs)
    );
    Some(Found {
        title: format!("{} pages waited for one by one", grouped(missed)),
        evidence: vec![
            cited(what, reads.name, file, reads.moves()),
            said("one thread did at least 90 % of all reading".to_owned()),
        ],
        cost_s,
        saving_s: Some(cost_s * saved(run)),
        ..Found::default()
    })
}

/// Otherwise the requests may have been concurrent.
fn is_read_by_one_thread(run: &TraceResult) -> bool {
    let most = run.tasks.iter().map(|task| task.read_bytes).max();
    let all: u64 = run.tasks.iter().map(|task| task.read_bytes).sum();
    has_all_tasks(run) && most.is_some_and(|most| most.saturating_mul(10) >= all.saturating_mul(9))
}

fn saved(run: &TraceResult) -> f64 {
    let devices = &run.environment.target.devices;
    if devices.iter().any(|device| device.rotational == Some(true)) {
        SAVED_ROTATING
    } else {
        SAVED
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{
        blocked, cached, file, in_order, run, scattered, the_only, with_calls,
    };
    use super::*;
    use crate::environment::Device;
    use crate::trace::TaskRow;

    fn missing(asked: u64, missed: u64) -> FileRow {
        let reads = blocked(scattered("pread64", asked, 4096, 0.3), 0.2);
        cached(
            with_calls(file("/data/table"), vec![reads]),
            asked,
            missed,
            0,
        )
    }

    fn by(threads: &[u64], file: FileRow) -> TraceResult {
        let tasks = threads.iter().map(|&read_bytes| TaskRow {
            read_bytes,
            ..TaskRow::default()
        });
        TraceResult {
            tasks: tasks.collect(),
            ..run(vec![file])
        }
    }

    #[test]
    fn half_of_the_waiting_is_saved() {
        let draft = the_only(RULE.look(&by(&[4_096_000, 100], missing(1000, 970))));
        assert_eq!(draft.finding.cost_s, Some(0.2));
        assert_eq!(draft.finding.saving_s, Some(0.1));
    }

    #[test]
    fn less_on_a_disk_that_turns() {
        let mut turning = by(&[4_096_000], missing(1000, 970));
        turning.environment.target.devices = vec![Device {
            name: "sda".to_owned(),
            model: None,
            rotational: Some(true),
            write_cache: None,
            fua: None,
            scheduler: None,
        }];
        assert_eq!(the_only(RULE.look(&turning)).finding.saving_s, Some(0.05));
    }

    #[test]
    fn threads_warm_files_and_reading_in_order_are_none() {
        assert_eq!(RULE.look(&by(&[2_048_000; 2], missing(1000, 970))), vec![]);
        assert_eq!(RULE.look(&by(&[4_096_000], missing(1000, 499))), vec![]);
        assert_eq!(RULE.look(&by(&[4_096_000], missing(255, 255))), vec![]);
        let mut in_order_now = missing(1000, 970);
        in_order_now.calls = vec![blocked(in_order("read", 1000, 4096, 0.3), 0.2)];
        assert_eq!(RULE.look(&by(&[4_096_000], in_order_now)), vec![]);
    }
}
