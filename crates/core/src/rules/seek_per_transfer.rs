//! `seek-per-transfer`: a seek before each read or write.

use super::calls::Sum;
use super::draft::{Found, cited};
use super::rule::{Rule, Subject};
use crate::bytes::grouped;
use crate::trace::{FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "seek-per-transfer",
    looks_for: "lseek before every read or write of a file, unnecessary with pread and pwrite",
    in_short: "use pread and pwrite",
    advice: "pass the offset in the call: pread, pwrite, read_at, FileChannel.read(buffer, \
             position); threads can then share the descriptor",
    at: Subject::Files(seeks),
};

/// The calls that start at the position set by `lseek`.
const AT_POSITION: &[&str] = &["read", "write", "readv", "writev"];

fn seeks(_: &TraceResult, file: &FileRow) -> Option<Found> {
    let seeks = Sum::of(file, &["lseek"]);
    let transfers = Sum::of(file, AT_POSITION);
    // Fewer than one per two transfers is how files are opened and measured, not a pattern.
    if seeks.stats.count.saturating_mul(2) < transfers.stats.count || transfers.stats.count == 0 {
        return None;
    }
    // A seek without a following transfer queries a length or a hole; pread does not save it.
    let saved = seeks.stats.count.min(transfers.stats.count);
    let saving_s = seeks.stats.time_s * saved as f64 / seeks.stats.count as f64;
    let what = format!(
        "{} lseek for {} reads and writes at the position",
        grouped(seeks.stats.count),
        grouped(transfers.stats.count)
    );
    Some(Found {
        title: format!("{} seeks unnecessary with pread or pwrite", grouped(saved)),
        evidence: vec![cited(what, "lseek", file, seeks.stats.count)],
        cost_s: seeks.stats.time_s,
        saving_s: Some(saving_s),
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{file, file_call, in_order, run, scattered, the_only, with_calls};
    use super::*;

    #[test]
    fn a_seek_for_each_read_is_saved() {
        let table = with_calls(
            file("/data/table"),
            vec![
                file_call("lseek", 40_000, 0, 0.04),
                scattered("read", 40_000, 512, 0.2),
            ],
        );
        let draft = the_only(RULE.look(&run(vec![table])));
        assert_eq!(draft.finding.saving_s, Some(0.04));
    }

    #[test]
    fn seeks_that_ask_for_holes_are_not_saved() {
        let sparse = with_calls(
            file("/data/sparse"),
            vec![
                file_call("lseek", 40_000, 0, 0.04),
                scattered("read", 10_000, 512, 0.2),
            ],
        );
        assert_eq!(
            the_only(RULE.look(&run(vec![sparse]))).finding.saving_s,
            Some(0.01)
        );
    }

    #[test]
    fn pread_needs_none_and_a_seek_now_and_then_is_no_habit() {
        let files = vec![
            with_calls(
                file("/a"),
                vec![
                    file_call("lseek", 40_000, 0, 0.04),
                    scattered("pread64", 40_000, 512, 0.2),
                ],
            ),
            with_calls(
                file("/b"),
                vec![
                    file_call("lseek", 40_000, 0, 0.04),
                    in_order("read", 80_001, 512, 0.2),
                ],
            ),
        ];
        assert_eq!(RULE.look(&run(files)), vec![]);
    }
}
