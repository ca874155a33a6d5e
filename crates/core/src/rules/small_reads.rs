//! `small-reads`: many reads of less than a page, one after the other.

use super::calls::{PAGE_BYTES, READS, Sum};
use super::draft::{Found, cited, each_file};
use super::pieces::is_gatherable;
use crate::bytes::{grouped, short};
use crate::trace::{Draft, FileRow, Remedy, Rule, TraceResult};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "small-reads",
    looks_for: "many reads of less than a page that follow each other in one file",
    look,
};

/// As for writes: from here on the time per call is small against the copying.
const BETTER_BYTES: u64 = 64 * 1024;

fn look(run: &TraceResult) -> Vec<Draft> {
    each_file(run, |file| small(run, file))
}

fn small(run: &TraceResult, file: &FileRow) -> Option<Draft> {
    let reads = Sum::of(file, READS);
    if !is_gatherable(&reads, PAGE_BYTES) {
        return None;
    }
    let piece_bytes = reads.piece_bytes();
    let what = format!(
        "{} reads of {} on average, {} in all; {} of them began where the one before had ended",
        grouped(reads.moves()),
        short(piece_bytes),
        short(reads.bytes),
        grouped(reads.shape.sequential)
    );
    let found = Found {
        rule: RULE.id,
        file: Some(file),
        title: format!(
            "{} reads of {} on average",
            grouped(reads.moves()),
            short(piece_bytes)
        ),
        evidence: vec![cited(what, &reads.name, file, reads.moves())],
        // The device is waited for as long, however the bytes are fetched from the cache.
        cost_s: reads.on_cpu_s(),
        saving_s: None,
        advice: "read 64 KiB at a time into a buffer and take the pieces from there: BufReader, \
                 setvbuf, bufio.Reader, BufferedInputStream",
        is_proven: true,
    };
    let remedy = Remedy::LargerPieces {
        write: false,
        piece_bytes,
        count: reads.moves(),
        better_bytes: BETTER_BYTES,
    };
    Some(found.tried(run, remedy))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{file, in_order, run, scattered, the_only, with_calls};
    use super::*;

    #[test]
    fn bytes_one_by_one_are_to_be_read_ahead() {
        let input = with_calls(file("/data/in"), vec![in_order("read", 50_000, 2, 0.02)]);
        let draft = the_only(look(&run(vec![input])));
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
        assert_eq!(look(&run(vec![index, pages])), vec![]);
    }
}
