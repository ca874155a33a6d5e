//! `read-before-write`: the device is read because partial pages are written.

use super::calls::{PAGE_BYTES, Sum, WRITES, filled_pages, is_on_disk};
use super::draft::{Found, cited};
use super::rule::{Rule, Subject};
use crate::bytes::{grouped, short};
use crate::trace::{FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "read-before-write",
    looks_for: "writes of partial pages, which the kernel first reads from the device",
    in_short: "write whole pages of 4 KiB",
    advice: "write whole 4 KiB pages at offsets that are multiples of 4096; if records are \
             smaller, batch those of a page, or prefetch the region in one read",
    at: Subject::Files(parts),
};

/// Fewer pages are the ends of a few ranges.
const LEAST_REQUESTS: u64 = 100;

fn parts(_: &TraceResult, file: &FileRow) -> Option<Found> {
    let device = file.evidence.exact_device()?;
    let writes = Sum::of(file, WRITES);
    if !is_on_disk(file)
        // Any read brings pages in, including read-ahead and faults; pages that a write brings in
        // are not counted as such.
        || filled_pages(file) != Some(0)
        || device.reads.count < LEAST_REQUESTS
        // Whole pages are replaced without a read.
        || writes.shape.smaller_than(PAGE_BYTES) < LEAST_REQUESTS
    {
        return None;
    }
    // Small buffered writes wait for nothing else while memory is free.
    let cost_s = writes.blocked_s?.min(device.reads.time_s);
    let what = format!(
        "{} writes of {} on average; no read call brought in a page, and the device read {} in {} \
         requests",
        grouped(writes.moves()),
        short(writes.piece_bytes()),
        short(device.reads.bytes),
        grouped(device.reads.count)
    );
    Some(Found {
        title: format!(
            "{} reads caused by partial-page writes",
            grouped(device.reads.count)
        ),
        evidence: vec![cited(what, writes.name, file, writes.moves())],
        cost_s,
        saving_s: Some(cost_s),
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{
        blocked, cached, file, read_by_device, run, scattered, the_only, with_calls,
    };
    use super::*;

    fn patched(piece_bytes: u64) -> FileRow {
        let writes = blocked(scattered("pwrite64", 1000, piece_bytes, 0.4), 0.3);
        let file = with_calls(file("/data/table"), vec![writes]);
        read_by_device(cached(file, 0, 0, 0), 1000, 4_096_000, 0.25)
    }

    #[test]
    fn waiting_for_the_rest_of_the_page_is_saved() {
        let draft = the_only(RULE.look(&run(vec![patched(100)])));
        assert_eq!(
            draft.finding.saving_s,
            Some(0.25),
            "no more than the device took"
        );
    }

    #[test]
    fn whole_pages_and_files_that_are_read_as_well_are_none() {
        let read = cached(patched(100), 1, 1, 0);
        let warm = read_by_device(patched(100), 99, 405_504, 0.02);
        assert_eq!(RULE.look(&run(vec![patched(4096), read, warm])), vec![]);
    }
}
