//! The figures of a run's first sentence.

use std::collections::BTreeSet;

use crate::environment::Backend;
use crate::gap::Stratum;

use super::{Basis, Finding, Severity, TaskRow, TraceResult, is_sync, spent};

/// The share of a run above which one part is most of it.
const MOST: f64 = 0.5;

/// The share up to which a run cannot be waiting for file I/O.
const LITTLE: f64 = 0.2;

/// Two times within this relative difference are shown as one.
const SAME: f64 = 0.05;

/// Threads with less than this share of a time do not count for it.
const HARDLY: f64 = 0.05;

/// The first statement about a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Headline<'a> {
    Costs(Costs<'a>),
    /// The worst finding: a crash can lose data.
    Fault(&'a Finding),
    /// No important finding: where the time went.
    Time(Split<'a>),
    /// Calls were not observed: the result is unknown.
    Unseen,
    /// Two counts of the calls contradict each other.
    Contradicted,
}

/// A finding that costs time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs<'a> {
    pub finding: &'a Finding,
    pub cost_s: f64,
    /// Its cost as a share of the run, at most 1; `None` when it is a sum over concurrent threads.
    pub share: Option<f64>,
    pub saving: Option<Saving>,
    /// The calls that took this time, by name and number; `None` when it is not the time of one
    /// kind of calls on the finding's file.
    pub calls: Option<(&'a str, u64)>,
    /// For a finding about syncs, all syncs of the run, if they took longer.
    pub syncs: Option<AllSyncs>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AllSyncs {
    pub count: u64,
    /// Number of names that were synced.
    pub files: u64,
    /// Their time as a share of the run, at most 1.
    pub share: f64,
}

/// A possible saving; never more than the run took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Saving {
    pub time_s: f64,
    /// Whether it was measured; otherwise it is a computed upper bound.
    pub is_measured: bool,
}

/// Where the time of a run went.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split<'a> {
    /// In file I/O, on the CPU or blocked, seconds; `None` for a run without any.
    pub file_s: Option<f64>,
    /// On the CPU outside file I/O, seconds; `None` when not observed.
    pub on_cpu_s: Option<f64>,
    /// Waiting for time, locks, children, pipes, sockets and terminals, seconds.
    pub waiting_s: f64,
    /// The part that was most of the run, with its share; `None` without one, or when the threads
    /// of the sum ran concurrently.
    pub most: Option<(Part, f64)>,
    /// Whether file I/O took so little that a run without it would take as long.
    pub is_little_io: bool,
    /// The best of the findings with a small saving.
    pub best: Option<&'a Finding>,
}

/// A part of a run's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// On the CPU outside file I/O.
    Cpu,
    Files,
    Waits,
}

/// The first statement about a run: its worst finding if that is at least of medium severity,
/// otherwise where the time went.
pub fn headline(run: &TraceResult) -> Headline<'_> {
    if run.broken_law(Stratum::Syscalls).is_some() {
        return Headline::Contradicted;
    }
    // Findings are ordered by severity.
    let worst = run.findings.first();
    match worst.filter(|finding| finding.severity >= Severity::Medium) {
        Some(finding) => match finding.cost_s {
            Some(cost_s) => Headline::Costs(costs(run, finding, cost_s)),
            None => Headline::Fault(finding),
        },
        None => split(run).map_or(Headline::Unseen, Headline::Time),
    }
}

fn costs<'a>(run: &TraceResult, finding: &'a Finding, cost_s: f64) -> Costs<'a> {
    let is_of_one = finding.cost_threads.is_none() && cost_s <= run.wall_s;
    let is_of_run = finding.alone_s.map_or_else(
        || in_series(run, cost_s, |task| task.time_s),
        |alone| alone >= (1.0 - SAME) * cost_s,
    );
    let share = (is_of_one && is_of_run).then(|| cost_s / run.wall_s.max(f64::MIN_POSITIVE));
    Costs {
        finding,
        cost_s,
        share,
        saving: finding.saving_s.map(|time_s| Saving {
            time_s,
            is_measured: finding.saving_basis == Some(Basis::Measured),
        }),
        calls: calls(run, finding, cost_s),
        syncs: share.and_then(|share| syncs(run, finding, share)),
    }
}

/// All syncs, when the finding concerns some of them and their time is part of the run's.
fn syncs(run: &TraceResult, finding: &Finding, share: f64) -> Option<AllSyncs> {
    let call = finding.evidence.first()?.call.as_ref()?;
    if !is_sync(call) {
        return None;
    }
    let synced = || run.files.iter().filter(|file| file.syncs.count > 0);
    let time_s: f64 = synced().map(|file| file.syncs.time_s).sum();
    let names: BTreeSet<&str> = synced().map(|file| file.path.as_str()).collect();
    let all = AllSyncs {
        count: synced().map(|file| file.syncs.count).sum(),
        files: names.len() as u64,
        share: time_s / run.wall_s.max(f64::MIN_POSITIVE),
    };
    let is_more = all.share > share * (1.0 + SAME) && all.share <= 1.0;
    (is_more && in_series(run, time_s, |task| task.time_s)).then_some(all)
}

/// The first cited call of the finding, when its time on the finding's file is the cost.
fn calls<'a>(run: &TraceResult, finding: &'a Finding, cost_s: f64) -> Option<(&'a str, u64)> {
    let path = finding.file.as_ref()?;
    let name = finding.evidence.first()?.call.as_ref()?;
    let files = run.files.iter().filter(|file| file.path == *path);
    let calls = files
        .flat_map(|file| &file.calls)
        .filter(|call| call.row.name == *name);
    let (count, time_s) = calls.fold((0_u64, 0.0), |(count, time_s), call| {
        (
            count.saturating_add(call.row.stats.count),
            time_s + call.row.stats.time_s,
        )
    });
    ((time_s - cost_s).abs() <= SAME * cost_s).then_some((name, count))
}

fn split(run: &TraceResult) -> Option<Split<'_>> {
    let spent = spent(run);
    let in_calls = spent.in_calls?;
    let file_s = in_calls.file_s();
    // File I/O that was not waiting was on the CPU, and counts as file I/O.
    let blocked_s = spent.blocked.map(|blocked| blocked.file_s());
    let on_cpu_s = spent
        .on_cpu_s
        .zip(blocked_s)
        .map(|(cpu, blocked)| (cpu - (file_s - blocked).max(0.0)).max(0.0));
    // Behind a filter, most calls that wait make no stop.
    let waiting_s = match spent.blocked {
        Some(blocked) => blocked.waiting_s,
        None if run.backend == Backend::Ptrace => 0.0,
        None => in_calls.waiting_s,
    };
    let is_some = run.files.iter().any(|file| file.kind.is_stored()) || run.other_calls > 0;
    let parts = [
        (Part::Cpu, on_cpu_s.unwrap_or(0.0)),
        (Part::Files, file_s),
        (Part::Waits, waiting_s),
    ];
    let most = parts
        .into_iter()
        .find(|(_, time_s)| *time_s >= MOST * run.wall_s && *time_s > 0.0);
    let most =
        most.filter(|(part, time_s)| *time_s <= run.wall_s && is_in_series(run, *part, *time_s));
    Some(Split {
        file_s: is_some.then_some(file_s),
        on_cpu_s,
        waiting_s,
        most: most.map(|(part, time_s)| (part, time_s / run.wall_s)),
        is_little_io: file_s <= LITTLE * run.wall_s
            && on_cpu_s.is_some_and(|cpu| cpu + waiting_s >= (1.0 - LITTLE) * run.wall_s),
        best: run.findings.iter().find(|finding| {
            finding
                .saving_s
                .is_some_and(|saving| saving > 0.0 && saving <= run.least_s())
        }),
    })
}

fn is_in_series(run: &TraceResult, part: Part, time_s: f64) -> bool {
    match part {
        Part::Cpu => in_series(run, time_s, |task| task.on_cpu_s.unwrap_or(0.0)),
        Part::Files => in_series(run, time_s, |task| task.time_s),
        // A thread waiting for a child or a pipe runs concurrently with the one it waits for.
        Part::Waits => run.threads <= 1,
    }
}

/// Whether a time summed over threads is time of the run: the threads with much of it lived one
/// after the other.
fn in_series(run: &TraceResult, sum_s: f64, of: impl Fn(&TaskRow) -> f64) -> bool {
    if run.threads <= 1 {
        return true;
    }
    if run.threads > run.tasks.len() as u64 {
        return false;
    }
    let busy = run.tasks.iter().filter(|task| of(task) > HARDLY * sum_s);
    let mut lives: Vec<(f64, f64)> = busy
        .map(|task| (task.started_s, task.ended_s.unwrap_or(f64::INFINITY)))
        .collect();
    lives.sort_by(|one, other| one.0.total_cmp(&other.0));
    lives.windows(2).all(|pair| pair[0].1 <= pair[1].0)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{call, file, result};
    use super::*;
    use crate::evidence::CallStats;
    use crate::trace::{CallRow, Cited, Confidence, FileCall};

    fn finding(severity: Severity, cost_s: Option<f64>, saving_s: Option<f64>) -> Finding {
        Finding {
            rule: "fsync-per-record".to_owned(),
            severity,
            confidence: Confidence::Certain,
            title: "1,200 syncs".to_owned(),
            file: Some("/srv/orders.db".to_owned()),
            evidence: Vec::new(),
            cost_s,
            cost_threads: None,
            alone_s: None,
            saving_s,
            saving_basis: saving_s.map(|_| Basis::Measured),
            advice: "sync less".to_owned(),
            crash_command: None,
            no_crash_command_because: None,
        }
    }

    fn timed(name: &str, time_s: f64, blocked_s: f64) -> CallRow {
        CallRow {
            stats: CallStats {
                time_s,
                ..call(name, 10, Some(blocked_s)).stats
            },
            ..call(name, 10, Some(blocked_s))
        }
    }

    fn task(thread: u32, lived: (f64, f64), time_s: f64) -> TaskRow {
        TaskRow {
            thread,
            process: thread,
            started_s: lived.0,
            ended_s: Some(lived.1),
            time_s,
            on_cpu_s: Some(time_s),
            ..TaskRow::default()
        }
    }

    fn costs_of(run: &TraceResult) -> Costs<'_> {
        match headline(run) {
            Headline::Costs(costs) => costs,
            other => panic!("{other:?}"),
        }
    }

    fn split_of(run: &TraceResult) -> Split<'_> {
        match headline(run) {
            Headline::Time(split) => split,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_worst_finding_is_told_with_its_share_of_the_run() {
        let mut run = result();
        run.wall_s = 2.0;
        run.findings = vec![
            finding(Severity::High, Some(1.5), Some(1.25)),
            finding(Severity::High, Some(0.5), Some(0.25)),
        ];
        let costs = costs_of(&run);
        assert_eq!((costs.cost_s, costs.share), (1.5, Some(0.75)));
        let saving = Saving {
            time_s: 1.25,
            is_measured: true,
        };
        assert_eq!(costs.saving, Some(saving));
    }

    #[test]
    fn sums_over_threads_are_no_share_of_the_run() {
        let mut run = result();
        run.wall_s = 2.0;
        run.threads = 2;
        run.findings = vec![finding(Severity::High, Some(1.5), Some(0.75))];
        // The lifetimes of some threads are unknown.
        run.tasks = vec![task(7, (0.0, 2.0), 1.5)];
        assert_eq!(costs_of(&run).share, None);
        run.tasks = vec![task(7, (0.0, 2.0), 0.75), task(8, (0.5, 1.5), 0.75)];
        assert_eq!(costs_of(&run).share, None);
        // One after the other, next to a parent that did almost nothing.
        run.threads = 3;
        run.tasks = vec![
            task(6, (0.0, 2.0), 0.01),
            task(7, (0.0, 1.0), 0.75),
            task(8, (1.0, 2.0), 0.75),
        ];
        assert_eq!(costs_of(&run).share, Some(0.75));
        run.findings[0].cost_threads = Some(2);
        assert_eq!(costs_of(&run).share, None);
    }

    #[test]
    fn calls_are_named_when_the_cost_is_their_time() {
        let mut run = result();
        run.wall_s = 2.0;
        let mut costly = finding(Severity::High, Some(1.5), None);
        costly.evidence = vec![Cited {
            what: "seen".to_owned(),
            call: Some("fsync".to_owned()),
            path: costly.file.clone(),
            count: Some(1198),
            at_s: None,
        }];
        run.findings = vec![costly];
        // The same name twice: a file that was recreated.
        let synced = |time_s: f64| {
            let mut file = file("/srv/orders.db");
            file.calls = vec![FileCall {
                row: CallRow {
                    stats: CallStats {
                        count: 600,
                        ..timed("fsync", time_s, time_s).stats
                    },
                    ..timed("fsync", time_s, time_s)
                },
                ..FileCall::default()
            }];
            file
        };
        run.files = vec![synced(0.75), synced(0.74)];
        assert_eq!(costs_of(&run).calls, Some(("fsync", 1200)));
        run.files = vec![synced(0.75)];
        assert_eq!(costs_of(&run).calls, None);
    }

    #[test]
    fn all_syncs_are_told_when_the_finding_is_about_some() {
        let mut run = result();
        run.wall_s = 4.0;
        let mut some = finding(Severity::Medium, Some(1.0), Some(0.9));
        some.evidence = vec![Cited {
            what: "seen".to_owned(),
            call: Some("fdatasync".to_owned()),
            path: None,
            count: None,
            at_s: None,
        }];
        run.findings = vec![some];
        let synced = |path: &str, time_s: f64| {
            let mut file = file(path);
            file.syncs = CallStats {
                count: 300,
                time_s,
                ..CallStats::default()
            };
            file
        };
        run.files = vec![synced("/srv/orders.db", 1.0)];
        assert_eq!(costs_of(&run).syncs, None);
        run.files.push(synced("/srv/orders.db-journal", 1.0));
        run.files.push(synced("/srv/orders.db-journal", 1.0));
        let all = AllSyncs {
            count: 900,
            files: 2,
            share: 0.75,
        };
        assert_eq!(costs_of(&run).syncs, Some(all));
        run.findings[0].evidence[0].call = Some("write".to_owned());
        assert_eq!(costs_of(&run).syncs, None);
    }

    #[test]
    fn a_fault_has_no_cost_and_little_ones_leave_the_time() {
        let mut run = result();
        run.findings = vec![finding(Severity::High, None, None)];
        assert_eq!(headline(&run), Headline::Fault(&run.findings[0]));
        run.findings = vec![finding(Severity::Low, Some(0.02), Some(0.01))];
        assert_eq!(split_of(&run).best, Some(&run.findings[0]));
    }

    #[test]
    fn the_cpu_outside_file_io_is_told_apart() {
        let mut run = result();
        run.wall_s = 2.0;
        run.files = vec![file("/srv/in")];
        run.evidence.on_cpu_s = Some(1.9);
        // 0.25 s of the CPU time was spent copying from the page cache.
        run.syscalls = vec![timed("read", 0.25, 0.0)];
        let split = split_of(&run);
        assert_eq!(split.file_s, Some(0.25));
        assert!((split.on_cpu_s.unwrap() - 1.65).abs() < 1e-9);
        assert_eq!(split.most.map(|(part, _)| part), Some(Part::Cpu));
        assert!(split.is_little_io);
        // A program that does only file I/O still has a bottleneck.
        run.syscalls = vec![timed("read", 1.9, 0.0)];
        let split = split_of(&run);
        assert_eq!(split.most.map(|(part, _)| part), Some(Part::Files));
        assert!(!split.is_little_io);
    }

    #[test]
    fn a_program_without_files_has_no_file_io() {
        let mut run = result();
        run.wall_s = 2.0;
        run.evidence.on_cpu_s = Some(0.01);
        run.syscalls = vec![timed("clock_nanosleep", 1.98, 1.98)];
        let split = split_of(&run);
        assert_eq!(split.file_s, None);
        assert_eq!(split.most, Some((Part::Waits, 0.99)));
        // With a concurrent child the sum is not a share of the run.
        run.threads = 2;
        assert_eq!(split_of(&run).most, None);
    }

    #[test]
    fn what_was_not_seen_is_not_said() {
        let mut run = result();
        run.evidence.syscalls = None;
        assert_eq!(headline(&run), Headline::Unseen);
        // Under ptrace CPU time and waiting are unknown.
        run.syscalls = vec![call("read", 1, None)];
        run.evidence.on_cpu_s = None;
        let split = split_of(&run);
        assert_eq!((split.on_cpu_s, split.is_little_io), (None, false));
    }
}
