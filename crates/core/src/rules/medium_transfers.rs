//! `medium-transfers`: a large file in pieces of a library's usual buffer.

use super::calls::{PAGE_BYTES, READS, Sum, WRITES};
use super::draft::Found;
use super::pieces::in_larger_pieces;
use super::rule::{Rule, Subject};
use crate::bytes::{grouped, short};
use crate::trace::{FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "medium-transfers",
    looks_for: "a large file read or written in pieces of 4 to 32 KiB, the default of many \
                libraries",
    in_short: "use a buffer of 256 KiB",
    advice: "give the stream a buffer of 256 KiB before its first use: setvbuf, \
             open(..., buffering=262144), with_capacity, tar -b 512",
    at: Subject::Files(look),
};

/// The buffers of C (4 KiB), Python and Java (8 KiB) and tar (10 KiB) are below this.
const BELOW_BYTES: u64 = 32 * 1024;

/// A smaller file is transferred in less than 5 ms with any buffer.
const LEAST_BYTES: u64 = 16 * 1024 * 1024;

/// The buffer size of `cp` and `cat` in GNU coreutils (`IO_BUFSIZE`, src/ioblksize.h).
const BETTER_BYTES: u64 = 256 * 1024;

/// Random accesses cannot be joined, and those of databases have their page's size.
const NEIGHBOURS: f64 = 0.9;

fn look(_: &TraceResult, file: &FileRow) -> Option<Found> {
    let reads = medium(file, &Sum::of(file, READS), false);
    let writes = medium(file, &Sum::of(file, WRITES), true);
    // The more expensive of both: usually one buffer size is chosen for both.
    let both = reads.into_iter().chain(writes);
    both.max_by(|one, other| one.cost_s.total_cmp(&other.cost_s))
}

fn medium(file: &FileRow, sum: &Sum, write: bool) -> Option<Found> {
    let piece_bytes = sum.piece_bytes();
    let syncs = if write { file.syncs.count } else { 0 };
    if !(PAGE_BYTES..BELOW_BYTES).contains(&piece_bytes)
        || sum.stats.bytes < LEAST_BYTES
        || !sum.is_sequential(NEIGHBOURS)
        || file.history.as_deref().is_some_and(|it| write && it.synchronous)
        // A sync for every few pieces shows that the pieces are records.
        || syncs.saturating_mul(BETTER_BYTES / PAGE_BYTES) > sum.stats.count
    {
        return None;
    }
    let verb = if write { "written" } else { "read" };
    let title = format!(
        "{} {verb} in pieces of {}",
        short(sum.stats.bytes),
        short(piece_bytes)
    );
    let what = format!(
        "{} calls, {} of them sequential",
        grouped(sum.moves()),
        grouped(sum.shape.sequential)
    );
    Some(in_larger_pieces(
        file,
        sum,
        (title, what),
        write,
        BETTER_BYTES,
    ))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{file, in_order, run, scattered, the_only, with_calls};
    use super::*;
    use crate::trace::Remedy;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_buffer_of_a_library_is_named() {
        let output = with_calls(
            file("/data/out"),
            vec![in_order("write", 16 * MIB / 4096, 4096, 0.05)],
        );
        let draft = the_only(RULE.look(&run(vec![output])));
        let remedy = Remedy::LargerPieces {
            write: true,
            piece_bytes: 4096,
            count: 4096,
            better_bytes: 262_144,
        };
        assert_eq!(draft.remedy, Some((remedy, b"/data".to_vec())));
        assert_eq!(draft.finding.title, "16.0 MiB written in pieces of 4.0 KiB");
    }

    #[test]
    fn small_files_large_pieces_and_pages_of_a_database_are_none() {
        let files = vec![
            with_calls(file("/a"), vec![in_order("write", 4095, 4096, 0.05)]),
            with_calls(file("/b"), vec![in_order("write", 4096, 32_768, 0.05)]),
            with_calls(file("/c"), vec![scattered("pwrite64", 8192, 4096, 0.05)]),
        ];
        assert_eq!(RULE.look(&run(files)), vec![]);
    }

    #[test]
    fn a_file_that_is_read_and_written_is_told_once() {
        let both = with_calls(
            file("/data/both"),
            vec![
                in_order("read", 4096, 8192, 0.02),
                in_order("write", 4096, 8192, 0.04),
            ],
        );
        assert_eq!(
            the_only(RULE.look(&run(vec![both]))).finding.cost_s,
            Some(0.04)
        );
    }
}
