//! `failed-lookups`: the same missing paths looked up repeatedly.

use super::draft::{Found, said};
use super::rule::{Rule, Subject};
use crate::bytes::grouped;
use crate::is_one_of;
use crate::trace::{CallRow, Cited, NotFound, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "failed-lookups",
    looks_for: "paths that do not exist, looked up many times by the same processes",
    in_short: "shorten the search path, or cache failed lookups",
    advice: "cache the failed lookup, or search the directory that usually has the file first; \
             shorten search paths (PATH, PYTHONPATH, include and library paths)",
    at: Subject::Run(look),
};

/// Calls that take a path and may report that it does not exist.
const LOOKUPS: &str = "access faccessat faccessat2 lstat newfstatat open openat openat2 readlink \
                       readlinkat stat statx";

const CITED: usize = 5;

fn look(run: &TraceResult) -> Option<Found> {
    // Every process may look once: it does not know the results of others.
    let again = |path: &NotFound| path.count.saturating_sub(run.processes.max(1));
    let mut paths: Vec<&NotFound> = run
        .not_found
        .iter()
        .filter(|path| again(path) > 0)
        .collect();
    paths.sort_by_key(|path| std::cmp::Reverse(again(path)));
    let extra: u64 = paths.iter().map(|path| again(path)).sum();
    let each_s = failing_s(run).filter(|_| extra > 0)?;
    let all: u64 = run.not_found.iter().map(|path| path.count).sum();
    let evidence = paths
        .iter()
        .take(CITED)
        .map(|path| asked_for(path))
        .collect();
    Some(Found {
        title: format!(
            "{} lookups of paths already known to be missing",
            grouped(extra)
        ),
        evidence,
        cost_s: each_s * all as f64,
        saving_s: Some(each_s * extra as f64),
        ..Found::default()
    })
}

/// Time of one failed lookup, seconds: the smaller of the median and the mean of a call's times,
/// because failing is faster than finding.
fn failing_s(run: &TraceResult) -> Option<f64> {
    let failing = |row: &&CallRow| row.stats.errors > 0 && is_one_of(LOOKUPS, &row.name);
    let times = run.syscalls.iter().filter(failing).map(|row| {
        let mean_s = row.stats.time_s / row.stats.count.max(1) as f64;
        row.p50_s.map_or(mean_s, |median_s| median_s.min(mean_s))
    });
    times.min_by(f64::total_cmp)
}

fn asked_for(path: &NotFound) -> Cited {
    Cited {
        path: Some(path.path.clone()),
        count: Some(path.count),
        ..said(format!(
            "looked up {} times, never found",
            grouped(path.count)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{call, run, the_only};
    use super::*;
    use crate::evidence::CallStats;

    fn searching(paths: &[(&str, u64)]) -> TraceResult {
        let not_found = paths.iter().map(|&(path, count)| NotFound {
            path: path.to_owned(),
            count,
        });
        TraceResult {
            not_found: not_found.collect(),
            syscalls: vec![
                CallRow {
                    stats: CallStats {
                        errors: 30_000,
                        ..call("openat", 60_000, 0, 0.12).stats
                    },
                    p50_s: Some(1e-6),
                    ..call("openat", 60_000, 0, 0.12)
                },
                CallRow {
                    stats: CallStats {
                        errors: 1,
                        ..call("read", 10, 0, 1e-9).stats
                    },
                    ..call("read", 10, 0, 1e-9)
                },
            ],
            ..run(vec![])
        }
    }

    #[test]
    fn only_searching_again_is_saved() {
        let draft = the_only(RULE.look(&searching(&[("/a", 10_001), ("/b", 20_001), ("/c", 1)])));
        let saving_s = draft.finding.saving_s.unwrap();
        assert!((saving_s - 0.03).abs() < 1e-9, "{saving_s}");
        let cited: Vec<_> = draft
            .finding
            .evidence
            .iter()
            .map(|it| it.path.clone())
            .collect();
        assert_eq!(cited, [Some("/b".to_owned()), Some("/a".to_owned())]);
    }

    #[test]
    fn every_process_may_ask_once() {
        let mut build = searching(&[("/etc/ld.so.preload", 30_000)]);
        build.processes = 30_000;
        assert_eq!(RULE.look(&build), vec![]);
    }

    #[test]
    fn many_paths_each_once_are_none() {
        let paths: Vec<String> = (0..30_000).map(|n| format!("/{n}")).collect();
        let counts: Vec<(&str, u64)> = paths.iter().map(|path| (path.as_str(), 1)).collect();
        assert_eq!(RULE.look(&searching(&counts)), vec![]);
    }
}
