//! `small-reads`: many reads of less than a page, one after the other.

use super::calls::{PAGE_BYTES, READS, Sum};
use super::draft::Found;
use super::pieces::{is_gatherable, small_pieces};
use super::rule::{Rule, Subject};
use crate::trace::{FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "small-reads",
    looks_for: "many sequential reads of less than a page from one file",
    in_short: "read through a 64 KiB buffer",
    advice: "read 64 KiB at a time into a buffer and take the pieces from it: BufReader, setvbuf, \
             bufio.Reader, BufferedInputStream",
    at: Subject::Files(small),
};

/// As for writes: from this size on, the time per call is small compared with the copying.
const BETTER_BYTES: u64 = 64 * 1024;

fn small(_: &TraceResult, file: &FileRow) -> Option<Found> {
    let reads = Sum::of(file, READS);
    if !is_gatherable(&reads, PAGE_BYTES) {
        return None;
    }
    // The wait for the device is the same, however the bytes are fetched from the cache.
    Some(small_pieces(file, &reads, false, BETTER_BYTES))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{file, in_order, run, scattered, the_only, with_calls};
    use super::*;
    use crate::trace::Remedy;

    #[test]
    fn bytes_one_by_one_are_to_be_read_ahead() {
        let input = with_calls(file("/data/in"), vec![in_order("read", 50_000, 2, 0.02)]);
        let draft = the_only(RULE.look(&run(vec![input])));
        let remedy = Remedy::LargerPieces {
            write: false,
            piece_bytes: 2,
            count: 50_000,
            better_bytes: 65_536,
        };
        assert_eq!(draft.remedy, Some((remedy, b"/data".to_vec())));
        assert_eq!(draft.finding.cost_s, Some(0.02));
    }

    #[test]
    fn random_reads_and_whole_pages_are_none() {
        let index = with_calls(
            file("/data/index"),
            vec![scattered("pread64", 50_000, 16, 0.2)],
        );
        let pages = with_calls(file("/data/in"), vec![in_order("read", 50_000, 4096, 0.2)]);
        assert_eq!(RULE.look(&run(vec![index, pages])), vec![]);
    }
}
