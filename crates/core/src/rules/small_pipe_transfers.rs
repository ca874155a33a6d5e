//! `small-pipe-transfers`: a pipe written or read a few bytes at a time.

use super::calls::{READS, Sum, WRITES};
use super::draft::{Found, cited};
use super::rule::{Rule, Subject};
use crate::bytes::{grouped, short};
use crate::trace::{FileKind, FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "small-pipe-transfers",
    looks_for: "many small writes to a pipe, or reads from one",
    in_short: "buffer the pipe",
    advice: "let the library buffer output to the pipe (python without -u, stdbuf -o64K, \
             setvbuf), and read it in blocks; shells read one byte at a time: use awk or mapfile",
    at: Subject::AllFiles(small),
};

/// A line is shorter than this; a library's buffer is at least twice as long.
const BELOW_BYTES: u64 = 512;

/// A call takes at least some hundred nanoseconds: fewer calls are some milliseconds.
const LEAST: u64 = 10_000;

/// Bytes that a write to a pipe moves atomically (`PIPE_BUF`, limits.h).
const BETTER_BYTES: u64 = 4096;

fn is_busy(file: &FileRow) -> bool {
    let can_talk = matches!(file.kind, FileKind::Pipe | FileKind::Socket);
    can_talk && file.reads.count.max(file.writes.count) >= LEAST
}

fn small(run: &TraceResult, file: &FileRow) -> Option<Found> {
    // Between two active sides, requests and answers alternate, and no buffer may delay them.
    let is_alone = || {
        run.files
            .iter()
            .filter(|file| is_busy(file))
            .nth(1)
            .is_none()
    };
    if file.kind != FileKind::Pipe || !is_busy(file) || !is_alone() {
        return None;
    }
    let writes = (Sum::of(file, WRITES), "writes to");
    let reads = (Sum::of(file, READS), "reads from");
    let is_small = |sum: &Sum| sum.moves() >= LEAST && sum.piece_bytes() < BELOW_BYTES;
    // A writer of small pieces causes small reads; a reader of small pieces does not cause small
    // writes.
    let (sum, verb) = [writes, reads].into_iter().find(|(sum, _)| is_small(sum))?;
    let piece_bytes = sum.piece_bytes();
    let cost_s = sum.on_cpu_s();
    let title = format!(
        "{} {verb} a pipe of {} on average",
        grouped(sum.moves()),
        short(piece_bytes)
    );
    Some(Found {
        evidence: vec![cited(title.clone(), sum.name, file, sum.moves())],
        title,
        cost_s,
        saving_s: Some(cost_s * (1.0 - piece_bytes as f64 / BETTER_BYTES as f64)),
        // The other side may be waiting for each of them.
        is_unproven: true,
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{file, file_call, run, the_only, with_calls};
    use super::*;

    fn pipe(name: &str, count: u64, bytes: u64) -> FileRow {
        FileRow {
            kind: FileKind::Pipe,
            ..with_calls(file("pipe:[7]"), vec![file_call(name, count, bytes, 0.1)])
        }
    }

    #[test]
    fn a_buffer_of_a_page_is_what_is_saved() {
        let draft = the_only(RULE.look(&run(vec![pipe("write", 10_000, 250_000)])));
        assert_eq!(
            draft.finding.title,
            "10,000 writes to a pipe of 25 B on average"
        );
        let saving_s = draft.finding.saving_s.unwrap();
        assert!(
            (saving_s - 0.1 * (1.0 - 25.0 / 4096.0)).abs() < 1e-9,
            "{saving_s}"
        );
    }

    #[test]
    fn reading_byte_by_byte_is_told_where_writes_are_large() {
        let mut both = pipe("read", 20_000, 20_000);
        both.calls.push(file_call("write", 5, 20_000, 0.1));
        let draft = the_only(RULE.look(&run(vec![both])));
        assert_eq!(draft.finding.evidence[0].call.as_deref(), Some("read"));
    }

    #[test]
    fn conversations_large_pieces_and_few_calls_are_none() {
        let talk = vec![pipe("write", 20_000, 20_000), pipe("write", 20_000, 20_000)];
        assert_eq!(RULE.look(&run(talk)), vec![]);
        assert_eq!(
            RULE.look(&run(vec![pipe("write", 10_000, 5_120_000)])),
            vec![]
        );
        assert_eq!(RULE.look(&run(vec![pipe("write", 9_999, 9_999)])), vec![]);
    }
}
