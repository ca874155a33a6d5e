//! Call sites: the places in the program that made the calls.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::FileRow;
use crate::op::FileId;

/// Maximum number of sites of one call on one file; the remaining share is small.
const MOST_SITES: usize = 8;

/// A call site as a back end reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteRow {
    pub call: &'static str,
    pub file: FileId,
    /// Functions, innermost first. Calls on thousands of files come from one place.
    pub stack: Arc<[String]>,
    pub samples: u64,
    /// Time in calls that they represent, nanoseconds.
    pub time_ns: u64,
    /// Which calls they were, as far as there was room: thread, and end in nanoseconds of `CLOCK_MONOTONIC`.
    pub ended: Vec<(u32, u64)>,
    /// Why the stack is incomplete; `None` when it is complete.
    pub why_not: Option<String>,
}

/// The call site of a call on a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Site {
    /// Functions, innermost first: `write (libc.so.6)`, or `program+0x1139` without a symbol.
    pub stack: Arc<[String]>,
    /// Share of the time of this call on this file, from 0 to 1, by its samples.
    pub share: f64,
    /// Number of stacks sampled there.
    pub samples: u64,
    /// Why the stack is incomplete; `null` when it is complete.
    pub why_not: Option<String>,
}

/// The call sites of a call on the files of one path.
#[derive(Debug, Clone, PartialEq)]
pub struct CallSites<'a> {
    pub path: &'a str,
    pub call: &'a str,
    /// Time of those calls whose sites were sampled, seconds.
    pub time_s: f64,
    /// Sites with their share of that time, largest first.
    pub sites: Vec<Site>,
}

/// The call sites of files, grouped by path and call, in the order of the files.
pub fn call_sites<'a>(files: impl IntoIterator<Item = &'a FileRow>) -> Vec<CallSites<'a>> {
    let mut all: Vec<CallSites<'a>> = Vec::new();
    let mut places: HashMap<(&str, &str), usize> = HashMap::new();
    for file in files {
        for call in file.calls.iter().filter(|call| !call.sites.is_empty()) {
            let (path, name) = (file.path.as_str(), call.row.name.as_str());
            let place = *places.entry((path, name)).or_insert(all.len());
            if place == all.len() {
                all.push(CallSites {
                    path,
                    call: name,
                    time_s: 0.0,
                    sites: Vec::new(),
                });
            }
            all[place].add(&call.sites, call.row.stats.time_s);
        }
    }
    for group in &mut all {
        let most = |one: &Site, other: &Site| other.share.total_cmp(&one.share);
        group.sites.sort_by(most);
    }
    all
}

impl CallSites<'_> {
    fn add(&mut self, sites: &[Site], time_s: f64) {
        let whole_s = self.time_s + time_s;
        let of_whole = |part_s: f64| if whole_s > 0.0 { part_s / whole_s } else { 0.0 };
        for known in &mut self.sites {
            known.share *= of_whole(self.time_s);
        }
        for site in sites {
            let share = site.share * of_whole(time_s);
            let same =
                |known: &&mut Site| known.stack == site.stack && known.why_not == site.why_not;
            match self.sites.iter_mut().find(same) {
                Some(known) => {
                    known.share += share;
                    known.samples = known.samples.saturating_add(site.samples);
                }
                None => self.sites.push(Site {
                    share,
                    ..site.clone()
                }),
            }
        }
        self.time_s = whole_s;
    }
}

pub(super) fn by_file(rows: &[SiteRow]) -> HashMap<FileId, Vec<&SiteRow>> {
    let mut files: HashMap<FileId, Vec<&SiteRow>> = HashMap::new();
    for row in rows {
        files.entry(row.file).or_default().push(row);
    }
    files
}

/// The sites of one call, from the rows of one file; most time first.
pub(super) fn sites(rows: &[&SiteRow], call: &str) -> Vec<Site> {
    let of_call = rows.iter().copied().filter(|row| row.call == call);
    let mut rows: Vec<&SiteRow> = of_call.collect();
    rows.sort_by(|one, other| {
        let time = other.time_ns.cmp(&one.time_ns);
        time.then_with(|| one.stack.cmp(&other.stack))
    });
    let all_ns = rows
        .iter()
        .fold(0_u64, |sum, row| sum.saturating_add(row.time_ns));
    rows.into_iter()
        .take(MOST_SITES)
        .map(|row| Site {
            stack: Arc::clone(&row.stack),
            share: row.time_ns as f64 / all_ns.max(1) as f64,
            samples: row.samples,
            why_not: row.why_not.clone(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{CallRow, FileCall, fixture};
    use super::*;
    use crate::evidence::CallStats;

    fn file(inode: u64) -> FileId {
        FileId {
            device: 1,
            inode,
            generation: 0,
        }
    }

    fn row(call: &'static str, inode: u64, function: &str, time_ns: u64) -> SiteRow {
        SiteRow {
            call,
            file: file(inode),
            stack: [function.to_owned()].into(),
            samples: 2,
            time_ns,
            ended: Vec::new(),
            why_not: None,
        }
    }

    #[test]
    fn sites_of_one_path_are_told_together() {
        let site = |function: &str, share: f64| Site {
            stack: [function.to_owned()].into(),
            share,
            samples: 10,
            why_not: None,
        };
        let file = |time_s: f64, sites: Vec<Site>| {
            let mut row = fixture::file("/srv/o.db-journal");
            row.calls = vec![FileCall {
                row: CallRow {
                    stats: CallStats {
                        time_s,
                        ..fixture::call("fdatasync", 1, None).stats
                    },
                    ..fixture::call("fdatasync", 1, None)
                },
                sites,
                ..FileCall::default()
            }];
            row
        };
        let files = [
            file(3.0, vec![site("commit", 0.75), site("checkpoint", 0.25)]),
            file(1.0, vec![site("commit", 1.0)]),
            // The sites of these were not sampled.
            file(9.0, vec![]),
        ];
        let all = call_sites(&files);
        assert_eq!(all.len(), 1);
        assert!((all[0].time_s - 4.0).abs() < 1e-9);
        let shares: Vec<(u64, f64)> = all[0]
            .sites
            .iter()
            .map(|it| (it.samples, it.share))
            .collect();
        assert_eq!(shares, [(20, 0.8125), (10, 0.1875)]);
    }

    #[test]
    fn the_sites_of_one_call_on_one_file_share_its_time() {
        let rows = [
            row("write", 1, "seldom", 100),
            row("write", 1, "often", 300),
            row("write", 2, "elsewhere", 900),
            row("fsync", 1, "commit", 900),
        ];
        let files = by_file(&rows);
        let found = sites(&files[&file(1)], "write");
        let shares: Vec<_> = found
            .iter()
            .map(|site| (site.stack[0].as_str(), site.share))
            .collect();
        assert_eq!(shares, [("often", 0.75), ("seldom", 0.25)]);
        assert_eq!(sites(&files[&file(1)], "read"), []);
        assert_eq!(sites(&files[&file(2)], "write").len(), 1);
    }

    #[test]
    fn many_sites_keep_the_largest_with_their_true_share() {
        let names: Vec<String> = (0..20).map(|number| format!("f{number:02}")).collect();
        let rows: Vec<_> = names.iter().map(|name| row("read", 1, name, 5)).collect();
        let found = sites(&by_file(&rows)[&file(1)], "read");
        assert_eq!(found.len(), MOST_SITES);
        assert!(found.iter().all(|site| (site.share - 0.05).abs() < 1e-12));
    }
}
