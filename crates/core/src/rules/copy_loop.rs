//! `copy-loop`: a file copied through the program's memory.

use std::collections::HashMap;

use super::calls::{READS, Sum, WRITES, is_stored};
use super::draft::{Found, cited};
use super::rule::{Rule, Subject};
use crate::bytes::short;
use crate::trace::{FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "copy-loop",
    looks_for: "a whole file read and as many bytes written to another file in equal pieces",
    in_short: "copy with copy_file_range or sendfile",
    advice: "let the kernel copy: copy_file_range, which shares blocks on btrfs and xfs instead \
             of copying them; sendfile where copy_file_range fails",
    at: Subject::Run(look),
};

/// Below this size equal lengths may be chance, and copying takes less than a millisecond.
const LEAST_BYTES: u64 = 1 << 20;

/// From the first byte to the last.
const NEIGHBOURS: f64 = 0.95;

/// A copy inside the kernel avoids the copy to the program's memory, which is the main cost of
/// cached reads; half of their time is for finding the pages, which remains.
const SAVED: f64 = 0.5;

/// A file and the calls that copied it.
type Passed<'a> = (&'a FileRow, Sum);

fn look(run: &TraceResult) -> Option<Found> {
    // By bytes and calls: compressed or encrypted output has another length.
    let mut copies: HashMap<(u64, u64), Vec<Passed<'_>>> = HashMap::new();
    for copy in whole(run, WRITES) {
        copies.entry(extent(&copy.1)).or_default().push(copy);
    }
    let mut pairs = Vec::new();
    for source in whole(run, READS) {
        let Some(alike) = copies.get_mut(&extent(&source.1)) else {
            continue;
        };
        // Each copy has one source, and no file is its own source.
        let other = alike.iter().position(|it| !std::ptr::eq(it.0, source.0));
        if let Some(place) = other {
            pairs.push((source, alike.swap_remove(place)));
        }
    }
    let found = (!pairs.is_empty()).then(|| copied(&pairs))?;
    Some(match pairs.as_slice() {
        [(_, copy)] => found.of(copy.0),
        _ => found,
    })
}

fn extent(sum: &Sum) -> (u64, u64) {
    (sum.stats.bytes, sum.moves())
}

/// Files that were read, or written, once from the first byte to the last.
fn whole<'a>(run: &'a TraceResult, names: &[&'static str]) -> Vec<Passed<'a>> {
    let stored = run.files.iter().filter(|file| is_stored(file));
    stored
        .map(|file| (file, Sum::of(file, names)))
        .filter(|(_, sum)| {
            sum.stats.bytes >= LEAST_BYTES
                && sum.stats.bytes == sum.shape.furthest_bytes
                && (sum.moves() == 1 || sum.is_sequential(NEIGHBOURS))
        })
        .collect()
}

/// All copies together: one loop made them.
fn copied(pairs: &[(Passed<'_>, Passed<'_>)]) -> Found {
    let reading_s: f64 = pairs.iter().map(|(source, _)| source.1.on_cpu_s()).sum();
    let writing_s: f64 = pairs.iter().map(|(_, copy)| copy.1.on_cpu_s()).sum();
    let bytes: u64 = pairs.iter().map(|(source, _)| source.1.stats.bytes).sum();
    let passed = |(file, sum): &Passed<'_>, verb: &str| {
        let what = format!("{} {verb}, once and in order", short(sum.stats.bytes));
        cited(what, sum.name, file, sum.moves())
    };
    // Three examples show where it is done.
    let cited = pairs.iter().take(3);
    let evidence =
        cited.flat_map(|(source, copy)| [passed(source, "read"), passed(copy, "written")]);
    Found {
        title: format!("{} copied through the program's memory", short(bytes)),
        evidence: evidence.collect(),
        cost_s: reading_s + writing_s,
        saving_s: Some(reading_s * SAVED),
        // The bytes were not compared.
        is_unproven: true,
        ..Found::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{file, in_order, run, the_only, with_calls};
    use super::*;
    use crate::trace::Confidence;

    fn pair(read_pieces: u64, written_pieces: u64) -> Vec<FileRow> {
        vec![
            with_calls(
                file("/data/from"),
                vec![in_order("read", read_pieces, 65_536, 0.04)],
            ),
            with_calls(
                file("/data/to"),
                vec![in_order("write", written_pieces, 65_536, 0.06)],
            ),
        ]
    }

    #[test]
    fn half_of_the_reading_is_saved() {
        let draft = the_only(RULE.look(&run(pair(100, 100))));
        assert_eq!(draft.finding.saving_s, Some(0.02));
        assert_eq!(draft.finding.file.as_deref(), Some("/data/to"));
        assert_eq!(draft.finding.confidence, Confidence::Likely);
    }

    #[test]
    fn other_lengths_and_small_files_are_none() {
        assert_eq!(RULE.look(&run(pair(100, 99))), vec![]);
        assert_eq!(RULE.look(&run(pair(15, 15))), vec![]);
    }

    #[test]
    fn a_file_is_no_copy_of_itself() {
        let [mut both, to] = <[FileRow; 2]>::try_from(pair(100, 100)).unwrap();
        both.calls.extend(to.calls);
        assert_eq!(RULE.look(&run(vec![both])), vec![]);
    }

    #[test]
    fn many_copies_are_one_finding_and_each_has_a_source_of_its_own() {
        let mut files = pair(100, 100);
        files.extend(pair(100, 100));
        files.extend(pair(50, 50));
        files.pop();
        let draft = the_only(RULE.look(&run(files)));
        assert_eq!(draft.finding.saving_s, Some(0.04));
        assert!(draft.finding.title.starts_with("12.5 MiB copied"));
        assert_eq!(draft.finding.evidence.len(), 4);
    }
}
