//! `re-read`: the same bytes of a file read more than once.

use super::calls::{PAGE_BYTES, READS, Sum, filled_pages, length_bytes};
use super::draft::{Found, cited, said};
use super::rule::{Rule, Subject};
use crate::bytes::short;
use crate::noun::counted;
use crate::trace::{Cited, FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "re-read",
    looks_for: "a file read several times over",
    in_short: "keep the data in memory",
    advice: "keep the data in memory, or map the file; if several processes read it, have one of \
             them share the result",
    at: Subject::Files(again),
};

/// Twice can be a check after a copy, or a header that is read first.
const LEAST_TIMES: f64 = 2.0;

fn again(run: &TraceResult, file: &FileRow) -> Option<Found> {
    let reads = Sum::of(file, READS);
    let furthest = reads.shape.furthest_bytes;
    // A file that grew during the reads, such as a followed log, or was written in between, does
    // not have the same bytes.
    if furthest == 0 || is_rewritten(file) {
        return None;
    }
    let times = reads.stats.bytes as f64 / furthest as f64;
    if times < LEAST_TIMES {
        return None;
    }
    let what = format!(
        "{} read, of at most {} distinct bytes: {times:.1}x, with {}",
        short(reads.stats.bytes),
        short(furthest),
        counted(file.opens, "open")
    );
    let mut evidence = vec![cited(what, reads.name, file, reads.moves())];
    evidence.extend(from_device(file, &reads));
    Some(Found {
        title: format!("read {times:.1}x its size"),
        evidence,
        cost_s: reads.stats.time_s,
        // The first read is necessary, even if it was the most expensive: waiting for the device
        // happened then, unless the cache lost the pages.
        saving_s: Some(reads.on_cpu_s() * (1.0 - 1.0 / times)),
        // Each process of a tree has its own memory; none can keep the bytes for the others.
        is_unproven: run.processes > 1,
        ..Found::default()
    })
}

/// Whether as many bytes were written as the file has: then the bytes differed each time.
fn is_rewritten(file: &FileRow) -> bool {
    file.writes.bytes > length_bytes(file)
}

fn from_device(file: &FileRow, reads: &Sum) -> Option<Cited> {
    let filled_bytes = filled_pages(file)? * PAGE_BYTES;
    let what = format!(
        "{} of it came from the device, the rest from the page cache",
        short(filled_bytes.min(reads.stats.bytes))
    );
    Some(said(what))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{cached, file, over, run, the_only, with_calls};
    use super::*;
    use crate::trace::Confidence;

    fn read_over(times: u64) -> FileRow {
        with_calls(file("/data/in"), vec![over("read", times, 4096, 0.1)])
    }

    #[test]
    fn all_but_the_first_time_is_saved() {
        let mut input = cached(read_over(4), 4, 1, 0);
        input.opens = 4;
        let draft = the_only(RULE.look(&run(vec![input])));
        let saving_s = draft.finding.saving_s.unwrap();
        assert!((saving_s - 0.075).abs() < 1e-9, "{saving_s}");
        assert_eq!(draft.finding.title, "read 4.0x its size");
        assert_eq!(
            draft.finding.evidence[1].what,
            "4.0 KiB of it came from the device, the rest from the page cache"
        );
    }

    #[test]
    fn once_and_what_was_written_in_between_are_none() {
        let mut changing = read_over(4);
        changing.writes.bytes = 4097;
        assert_eq!(RULE.look(&run(vec![read_over(1), changing])), vec![]);
    }

    #[test]
    fn processes_cannot_remember_for_each_other() {
        let mut several = run(vec![read_over(4)]);
        several.processes = 2;
        assert_eq!(
            the_only(RULE.look(&several)).finding.confidence,
            Confidence::Likely
        );
    }
}
