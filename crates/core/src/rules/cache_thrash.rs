//! `cache-thrash`: pages read, evicted, and read again within one run.

use super::calls::{PAGE_BYTES, READS, Sum, filled_pages, is_on_disk, length_bytes};
use super::draft::{Found, cited};
use super::rule::{Rule, Subject};
use crate::bytes::short;
use crate::trace::{FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "cache-thrash",
    looks_for: "a file whose pages were read from the device more than once",
    in_short: "finish with one part of the file before the next",
    advice: "finish with one part of the file before the next, so that it fits in memory; do not \
             use POSIX_FADV_DONTNEED on data that is read again; raise the cgroup's memory limit",
    at: Subject::Files(lost),
};

/// Read-ahead may fetch a page that is evicted before its use; half as many again as the file has
/// cannot be that alone.
const LEAST_TIMES: f64 = 1.5;

/// A file with few pages reaches any ratio by a page or two.
const LEAST_BYTES: u64 = 1 << 20;

fn lost(_: &TraceResult, file: &FileRow) -> Option<Found> {
    let filled_bytes = filled_pages(file)? * PAGE_BYTES;
    let length = length_bytes(file);
    if !is_on_disk(file) || length < LEAST_BYTES {
        return None;
    }
    let times = filled_bytes as f64 / length as f64;
    if times < LEAST_TIMES {
        return None;
    }
    let reads = Sum::of(file, READS);
    let waited_s = reads.blocked_s?;
    let what = format!(
        "{} were read into the page cache, from a file of {}; reads waited {waited_s:.3} s",
        short(filled_bytes),
        short(length)
    );
    Some(Found {
        title: format!("read from the device {times:.1}x"),
        evidence: vec![cited(what, reads.name, file, reads.moves())],
        cost_s: waited_s,
        saving_s: Some(waited_s * (1.0 - 1.0 / times)),
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{blocked, cached, file, in_order, run, the_only, with_calls};
    use super::*;

    fn read_again(filled: u64) -> FileRow {
        let reads = blocked(in_order("read", 256, 4096, 0.4), 0.3);
        cached(with_calls(file("/data/in"), vec![reads]), 256, filled, 0)
    }

    #[test]
    fn what_came_twice_is_saved_once() {
        let draft = the_only(RULE.look(&run(vec![read_again(512)])));
        assert_eq!(draft.finding.saving_s, Some(0.15));
        assert_eq!(draft.finding.title, "read from the device 2.0x");
    }

    #[test]
    fn once_is_none_and_neither_is_a_part_of_a_long_file() {
        let mut part = read_again(512);
        part.size_before_bytes = 1 << 30;
        assert_eq!(RULE.look(&run(vec![read_again(383), part])), vec![]);
    }
}
