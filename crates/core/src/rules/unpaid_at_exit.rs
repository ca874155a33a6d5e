//! `unpaid-at-exit`: written data not yet on the device.

use super::draft::{Found, said};
use super::rule::{Rule, Subject};
use crate::bytes::short;
use crate::trace::{Cited, FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "unpaid-at-exit",
    looks_for: "much of the written data is still dirty when the program ends",
    in_short: "end with fsync to measure the disk",
    advice: "the next user of the disk waits for it, and a crash loses it; to measure the disk, \
             end with fsync (dd conv=fsync); otherwise this may be intended",
    at: Subject::Meaning(look),
};

/// Any device writes less than this back in a moment.
const LEAST_BYTES: u64 = 64 << 20;

const CITED: usize = 3;

fn look(run: &TraceResult) -> Option<Found> {
    let written = run.bytes.written_bytes;
    let dirty = run.bytes.dirty_at_exit()?.at_least;
    // Below half, the times of the run include the device's.
    if dirty < LEAST_BYTES || dirty.saturating_mul(2) < written {
        return None;
    }
    let mut evidence = vec![said(format!(
        "{} of {} written were still dirty or in write-back when the program ended",
        short(dirty),
        short(written)
    ))];
    let of = |file: &FileRow| file.dirty_at_exit().map_or(0, |left| left.at_least);
    let mut files: Vec<_> = run.files.iter().filter(|file| of(file) > 0).collect();
    files.sort_by_key(|file| std::cmp::Reverse(of(file)));
    evidence.extend(files.iter().take(CITED).map(|file| Cited {
        path: Some(file.path.clone()),
        ..said(format!("{} of it", short(of(file))))
    }));
    Some(Found {
        title: format!("{} left to write-back", short(dirty)),
        evidence,
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{file, run, the_only};
    use super::*;
    use crate::trace::Severity;

    fn left(dirty: Option<u64>) -> TraceResult {
        let mut run = run(vec![FileRow {
            dirty_at_exit_bytes: dirty,
            ..file("/data/out")
        }]);
        run.bytes.written_bytes = 128 << 20;
        run.bytes.dirty_at_exit_bytes = dirty;
        run
    }

    #[test]
    fn half_of_it_is_said_without_a_saving() {
        let draft = the_only(RULE.look(&left(Some(64 << 20))));
        assert!(draft.is_fault);
        assert_eq!(draft.finding.severity, Severity::Info);
        assert_eq!((draft.finding.cost_s, draft.finding.saving_s), (None, None));
        assert_eq!(draft.finding.evidence[1].path.as_deref(), Some("/data/out"));
    }

    #[test]
    fn less_and_unknown_are_not_said() {
        assert_eq!(RULE.look(&left(Some((64 << 20) - 1))), vec![]);
        assert_eq!(RULE.look(&left(None)), vec![]);
        let mut long = left(Some(64 << 20));
        long.bytes.written_bytes += 1;
        assert_eq!(RULE.look(&long), vec![]);
    }
}
