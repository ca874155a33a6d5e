//! `directory-reread`: one directory listed repeatedly.

use super::calls::{OPENS, Sum};
use super::draft::{Found, cited};
use super::rule::{Rule, Subject};

use crate::noun::counted;
use crate::trace::{FileKind, FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "directory-reread",
    looks_for: "one directory listed many times by the same processes",
    in_short: "keep the listing and watch it with inotify",
    advice: "keep the listing and use inotify to detect changes; to check for one name, use stat \
             or access",
    at: Subject::AllFiles(relisted),
};

/// As with files: each process lists for itself, sometimes because its libraries do.
const PER_PROCESS: u64 = 10;

/// A listing takes one call that returns entries and one that returns the end.
const CALLS_PER_LISTING: u64 = 2;

const LISTS: &[&str] = &["getdents", "getdents64"];

fn relisted(run: &TraceResult, file: &FileRow) -> Option<Found> {
    if file.kind != FileKind::Directory {
        return None;
    }
    let lists = Sum::of(file, LISTS);
    let opens = Sum::of(file, OPENS);
    let closes = Sum::of(file, &["close"]);
    // A large directory takes many calls, but only one open.
    let listings = opens.stats.count.min(lists.stats.count / CALLS_PER_LISTING);
    let usual = run.processes.max(1).saturating_mul(PER_PROCESS);
    let extra = listings.checked_sub(usual).filter(|&extra| extra > 0)?;
    let cost_s = lists.stats.time_s + opens.stats.time_s + closes.stats.time_s;
    let what = format!(
        "listed about {} by {}: {}, {}",
        counted(listings, "time"),
        counted(run.processes, "process"),
        counted(opens.stats.count, "open"),
        counted(lists.stats.count, "getdents call")
    );
    Some(Found {
        title: format!("directory listed {}", counted(listings, "time")),
        evidence: vec![cited(what, lists.name, file, lists.stats.count)],
        cost_s,
        saving_s: Some(cost_s * extra as f64 / listings as f64),
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{file, file_call, run, the_only, with_calls};
    use super::*;

    fn listed(opens: u64, lists: u64) -> FileRow {
        FileRow {
            kind: FileKind::Directory,
            ..with_calls(
                file("/data/spool"),
                vec![
                    file_call("openat", opens, 0, 0.01),
                    file_call("getdents64", lists, 0, 0.08),
                    file_call("close", opens, 0, 0.01),
                ],
            )
        }
    }

    #[test]
    fn all_listings_but_the_usual_ones_are_saved() {
        let draft = the_only(RULE.look(&run(vec![listed(1000, 2000)])));
        let saving_s = draft.finding.saving_s.unwrap();
        assert!((saving_s - 0.1 * 0.99).abs() < 1e-9, "{saving_s}");
    }

    #[test]
    fn one_large_directory_and_opens_for_its_files_are_none() {
        assert_eq!(
            RULE.look(&run(vec![listed(1, 2000), listed(2000, 2)])),
            vec![]
        );
    }
}
