//! `many-tiny-files`: a directory filled with files of less than a page.

use std::collections::BTreeMap;

use super::calls::{PAGE_BYTES, all_time_s, is_stored};
use super::draft::{Found, said};
use super::rule::{Rule, Subject};
use crate::bytes::{grouped, short};
use crate::trace::{Cited, FileHistory, FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "many-tiny-files",
    looks_for: "many files of at most one page created in one directory",
    in_short: "store them in one file with an index",
    advice: "store them in one file with an index (SQLite, tar, zip, a log of records); every \
             small file takes its own inode, directory entry and block",
    at: Subject::Groups(look),
};

/// Directories of source trees and packages are mostly smaller; a directory with more files than
/// this is a program's own data layout.
const LEAST: usize = 1000;

fn look(run: &TraceResult) -> Vec<Found> {
    let mut directories: BTreeMap<&str, Vec<&FileRow>> = BTreeMap::new();
    for file in run.files.iter().filter(|file| is_tiny(file)) {
        let directory = file
            .path
            .rsplit_once('/')
            .map_or("", |(directory, _)| directory);
        directories.entry(directory).or_default().push(file);
    }
    let filled = directories.iter().filter(|(_, files)| files.len() >= LEAST);
    filled
        .map(|(directory, files)| found(directory, files))
        .collect()
}

/// Created by this run, and existing at its end.
fn is_tiny(file: &FileRow) -> bool {
    let made = |it: &FileHistory| it.created && !it.unlinked;
    is_stored(file)
        && (1..=PAGE_BYTES).contains(&file.writes.bytes)
        && file.history.as_deref().is_some_and(made)
}

fn found(directory: &str, files: &[&FileRow]) -> Found {
    let bytes: u64 = files.iter().map(|file| file.writes.bytes).sum();
    let all_s: f64 = files.iter().map(|file| all_time_s(file)).sum();
    let writing_s: f64 = files.iter().map(|file| file.writes.time_s).sum();
    Found {
        title: format!(
            "{} files of {} on average in one directory",
            grouped(files.len() as u64),
            short(bytes / files.len() as u64)
        ),
        evidence: vec![Cited {
            path: Some(directory.to_owned()),
            count: Some(files.len() as u64),
            ..said(format!(
                "{} files created, {} written to them, {:.3} s in their calls, {writing_s:.3} s \
                 of it in writes",
                grouped(files.len() as u64),
                short(bytes),
                all_s
            ))
        }],
        cost_s: all_s,
        // Their bytes must be written in any case; creating, opening and closing need not.
        saving_s: Some((all_s - writing_s).max(0.0)),
        // What other programs expect there is unknown.
        is_unproven: true,
        ..Found::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{file, file_call, run, the_only, with_calls};
    use super::*;

    fn spool(count: u64, bytes: u64, unlinked: bool) -> Vec<FileRow> {
        let one = |number: u64| FileRow {
            history: Some(Box::new(FileHistory {
                created: true,
                unlinked,
                ..FileHistory::default()
            })),
            ..with_calls(
                file(&format!("/data/spool/{number}")),
                vec![
                    file_call("openat", 1, 0, 20e-6),
                    file_call("write", 1, bytes, 5e-6),
                ],
            )
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn all_but_the_writing_is_saved() {
        let draft = the_only(RULE.look(&run(spool(1000, 100, false))));
        let saving_s = draft.finding.saving_s.unwrap();
        assert!((saving_s - 0.02).abs() < 1e-9, "{saving_s}");
        assert_eq!(
            draft.finding.evidence[0].path.as_deref(),
            Some("/data/spool")
        );
    }

    #[test]
    fn fewer_larger_and_removed_ones_are_none() {
        for files in [
            spool(999, 100, false),
            spool(1000, 4097, false),
            spool(1000, 100, true),
        ] {
            assert_eq!(RULE.look(&run(files)), vec![]);
        }
    }
}
