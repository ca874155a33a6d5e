//! The most that a saving can be: times are summed over threads, and threads run concurrently.

use std::collections::{BTreeMap, BTreeSet};

use super::draft::said;
use crate::figures::duration;
use crate::trace::{Basis, CallGroup, CallRow, Finding, TaskRow, TraceResult, worth_s};

/// Rules whose time is not, or not only, spent in calls on files: it is spent in faults, in the
/// device, or in calls without a file. Threads have no figures for these.
const OUTSIDE: [&str; 4] = [
    "failed-lookups",
    "journal-amplification",
    "mapped-file-faults",
    "sync-everything",
];

/// How much of the threads' time can have lengthened the run.
#[derive(Debug, Clone, Copy)]
pub struct Bound<'a> {
    run: &'a TraceResult,
    wall_s: f64,
    /// The run, or the duration of the program without an observer.
    least_s: f64,
    /// Time in calls on files, along threads that can have followed one another.
    path_s: f64,
    /// Threads that spent time in calls on files.
    threads: u64,
}

impl<'a> Bound<'a> {
    pub fn of(run: &'a TraceResult) -> Self {
        let busy = run.tasks.iter().filter(|task| task.time_s > 0.0);
        let wall_s = run.wall_s.max(0.0);
        Self {
            run,
            wall_s,
            least_s: run.least_s().clamp(0.0, wall_s),
            // Without figures of all threads only the run itself is known.
            path_s: if run.tasks.is_empty() || !has_all_tasks(run) {
                wall_s
            } else {
                path_s(&run.tasks, wall_s).min(wall_s)
            },
            threads: busy.count() as u64,
        }
    }

    pub(super) fn wall_s(&self) -> f64 {
        self.wall_s
    }

    fn most_s(&self, rule: &str) -> f64 {
        if OUTSIDE.contains(&rule) {
            self.wall_s
        } else {
            self.path_s
        }
    }

    /// Whether the run would hardly get shorter without the finding's calls, since other threads went
    /// on meanwhile.
    pub fn is_hidden(&self, finding: &Finding) -> bool {
        let alone_s = alone_s(self.run, finding);
        let least_s = worth_s(self.wall_s);
        finding.cost_s.is_some_and(|cost| cost >= least_s)
            && alone_s.is_some_and(|alone| alone < least_s)
    }

    /// Limits a saving to what can have lengthened the run, and reports over how many threads a
    /// cost is summed if one alone cannot have spent it.
    pub(super) fn apply(&self, finding: &mut Finding) {
        let most_s = self.most_s(&finding.rule);
        if let Some(cost_s) = finding.cost_s.filter(|cost| *cost > most_s) {
            if self.threads > 1 {
                finding.cost_threads = Some(self.threads);
            } else {
                // Operations of one thread that were under way concurrently.
                finding.cost_s = Some(cost_s.min(self.wall_s));
            }
        }
        // Operations of io_uring overlap.
        let alone_s = alone_s(self.run, finding).map(|alone| alone.min(self.wall_s));
        finding.alone_s = alone_s.filter(|_| finding.cost_s.is_some());
        if let Some((cost_s, worth_s)) = finding.cost_s.zip(finding.worth_s())
            && worth_s < finding.saving_s.unwrap_or(cost_s)
        {
            finding.saving_s = Some(worth_s);
            finding.saving_basis = Some(Basis::Computed);
            finding.evidence.push(said(format!(
                "during {} of it another thread of the run was running, waiting for a CPU, or \
                 sleeping for a time that it had set: without these calls the run is at most {} \
                 shorter",
                duration(cost_s - worth_s),
                duration(worth_s)
            )));
        }
        if let Some(saving_s) = finding.saving_s.filter(|saving| *saving > most_s) {
            finding.saving_s = Some(most_s);
            finding.evidence.push(said(format!(
                "summed over threads the saving is {}, but threads that ran one after another \
                 spent at most {} in such calls: the run cannot get shorter by more",
                duration(saving_s),
                duration(most_s)
            )));
        }
        if let Some(saving_s) = finding.saving_s.filter(|saving| *saving > self.least_s) {
            finding.saving_s = Some(self.least_s);
            finding.evidence.push(said(format!(
                "of the traced run the saving is {}; without tracing the program takes {}, and no \
                 more can be saved",
                duration(saving_s),
                duration(self.least_s)
            )));
        }
    }
}

/// Time of the finding's calls in which no other thread of the run moved, seconds. `None` when that
/// was not observed, and for a finding whose cost is not time in calls.
fn alone_s(run: &TraceResult, finding: &Finding) -> Option<f64> {
    let cited = finding.evidence.iter().find_map(|it| it.call.as_deref())?;
    let group = CallGroup::of(cited).filter(|_| !OUTSIDE.contains(&finding.rule.as_str()));
    let of_file = run
        .files
        .iter()
        .filter(|file| Some(&file.path) == finding.file.as_ref());
    let rows: Vec<&CallRow> = match finding.file {
        Some(_) => of_file
            .flat_map(|file| &file.calls)
            .map(|call| &call.row)
            .collect(),
        None => run.syscalls.iter().collect(),
    };
    let alike = rows
        .iter()
        .copied()
        .filter(|row| CallGroup::of(&row.name) == group);
    let alike: Vec<&CallRow> = alike.collect();
    // The cost may be that of several kinds of calls.
    [alike, rows].into_iter().find_map(|rows| {
        let time_s: f64 = rows.iter().map(|row| row.stats.time_s).sum();
        let alone: Option<f64> = rows.iter().map(|row| row.alone_s).sum();
        alone.filter(|_| Some(time_s) >= finding.cost_s)
    })
}

/// With very many threads, not all have a row.
pub(super) fn has_all_tasks(run: &TraceResult) -> bool {
    run.threads <= run.tasks.len() as u64
}

/// The most time in calls on files along a chain of threads that can each have waited for the
/// previous one: threads of one process, or children of one, that did not live at the same time. A
/// process is assumed to wait for its children.
fn path_s(tasks: &[TaskRow], wall_s: f64) -> f64 {
    let mut processes: BTreeMap<u32, Vec<Stretch>> = BTreeMap::new();
    let mut children: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for task in tasks {
        let stretch = Stretch::of(task, wall_s);
        processes.entry(task.process).or_default().push(stretch);
        children
            .entry(task.parent)
            .or_default()
            .insert(task.process);
    }
    let is_root = |task: &&TaskRow| !processes.contains_key(&task.parent);
    let roots: BTreeSet<u32> = tasks.iter().filter(is_root).map(|it| it.process).collect();
    let mut open: Vec<u32> = roots.iter().copied().collect();
    let mut order = Vec::new();
    let mut reached = BTreeSet::new();
    while let Some(process) = open.pop() {
        if reached.insert(process) {
            order.push(process);
            open.extend(children.get(&process).into_iter().flatten());
        }
    }
    // Children before their creators. Ids are reused, so that a process can seem to be its own
    // ancestor: it is counted once.
    let mut whole: BTreeMap<u32, Stretch> = BTreeMap::new();
    for process in order.iter().rev() {
        let own = processes.get(process).map_or(&[][..], Vec::as_slice);
        let made = children.get(process).into_iter().flatten();
        let made: Vec<Stretch> = made.filter_map(|child| whole.get(child).copied()).collect();
        let time_s = longest_s(own) + longest_s(&made);
        let all = || own.iter().chain(&made);
        whole.insert(
            *process,
            Stretch {
                from_s: all().map(|it| it.from_s).fold(f64::INFINITY, f64::min),
                to_s: all().map(|it| it.to_s).fold(0.0, f64::max),
                time_s,
            },
        );
    }
    let roots: Vec<Stretch> = roots
        .iter()
        .filter_map(|it| whole.get(it).copied())
        .collect();
    longest_s(&roots)
}

/// A thread's lifetime, and its time in calls on files.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "a unit, not a postfix")]
struct Stretch {
    from_s: f64,
    to_s: f64,
    time_s: f64,
}

impl Stretch {
    fn of(task: &TaskRow, wall_s: f64) -> Self {
        Self {
            from_s: task.started_s,
            to_s: task.ended_s.unwrap_or(wall_s).max(task.started_s),
            time_s: task.time_s.max(0.0),
        }
    }
}

/// The maximum total time of intervals that do not overlap (weighted interval scheduling: Kleinberg
/// and Tardos, Algorithm Design, section 6.1).
fn longest_s(stretches: &[Stretch]) -> f64 {
    let mut by_end = stretches.to_vec();
    by_end.sort_by(|one, other| one.to_s.total_cmp(&other.to_s));
    let mut best = vec![0.0_f64];
    for (at, stretch) in by_end.iter().enumerate() {
        let before = by_end[..at].partition_point(|other| other.to_s <= stretch.from_s);
        let with = best[before] + stretch.time_s;
        best.push(with.max(best[at]));
    }
    best.last().copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{file, in_order, run, the_only, with_calls};
    use super::super::{look, settle};
    use super::*;
    use crate::trace::{Replayed, Severity, TimedRun, TimedRuns};

    fn task(process: u32, thread: u32, parent: u32, lived: (f64, f64), time_s: f64) -> TaskRow {
        TaskRow {
            thread,
            process,
            parent,
            started_s: lived.0,
            ended_s: Some(lived.1),
            time_s,
            ..TaskRow::default()
        }
    }

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn threads_side_by_side_save_no_more_than_the_longest() {
        let tasks = [
            task(7, 7, 1, (0.0, 1.0), 0.1),
            task(7, 8, 1, (0.1, 0.9), 0.6),
            task(7, 9, 1, (0.1, 0.9), 0.5),
        ];
        assert!(close(path_s(&tasks, 1.0), 0.6));
    }

    #[test]
    fn what_follows_one_another_adds_up() {
        let tasks = [
            // A shell and its children, one after the other, the last two together.
            task(7, 7, 1, (0.0, 1.0), 0.1),
            task(8, 8, 7, (0.1, 0.4), 0.2),
            task(9, 9, 7, (0.4, 0.8), 0.3),
            task(10, 10, 7, (0.5, 0.9), 0.25),
        ];
        assert!(close(path_s(&tasks, 1.0), 0.1 + 0.2 + 0.3));
    }

    #[test]
    fn a_process_that_seems_its_own_ancestor_is_counted_once() {
        let tasks = [
            task(7, 7, 8, (0.0, 1.0), 0.1),
            task(8, 8, 7, (0.0, 1.0), 0.2),
            task(9, 9, 1, (0.0, 1.0), 0.3),
        ];
        assert!(path_s(&tasks, 1.0) <= 0.6);
    }

    /// A run of small writes that took 1.5 s in all threads together, of which the improved variant
    /// saves nine tenths.
    fn settled(wall_s: f64, tasks: Vec<TaskRow>) -> Finding {
        let writes = vec![in_order("write", 100_000, 1, 1.5)];
        let log = with_calls(file("/data/log"), writes);
        let run = TraceResult {
            wall_s,
            tasks,
            ..run(vec![log])
        };
        let draft = the_only(look(&run, &[]));
        let replayed = Replayed {
            now_s: 1.0,
            better_s: 0.1,
        };
        settle(draft, Some(replayed), &Bound::of(&run)).unwrap()
    }

    #[test]
    fn a_saving_is_bounded_and_a_cost_says_whose_it_is() {
        let tasks = (7..10).map(|thread| task(7, thread, 1, (0.0, 0.6), 0.5));
        let finding = settled(0.637, tasks.collect());
        assert_eq!(finding.saving_s, Some(0.5));
        assert_eq!((finding.cost_s, finding.cost_threads), (Some(1.5), Some(3)));
        let said = finding.evidence.last().unwrap();
        assert!(said.what.starts_with("summed over threads"), "{said:?}");
    }

    #[test]
    fn a_saving_is_no_more_than_the_program_takes_without_tracing() {
        let writes = vec![in_order("write", 100_000, 1, 1.5)];
        let timed = TimedRun {
            wall_s: 0.25,
            exit_code: Some(0),
            ..TimedRun::default()
        };
        let run = TraceResult {
            wall_s: 2.0,
            runs: Some(TimedRuns::of(0, vec![timed], None)),
            ..run(vec![with_calls(file("/data/log"), writes)])
        };
        let replayed = Replayed {
            now_s: 1.0,
            better_s: 0.1,
        };
        let draft = the_only(look(&run, &[]));
        let finding = settle(draft, Some(replayed), &Bound::of(&run)).unwrap();
        assert_eq!((finding.cost_s, finding.saving_s), (Some(1.5), Some(0.25)));
        let said = &finding.evidence.last().unwrap().what;
        assert!(
            said.contains("without tracing the program takes 250 ms"),
            "{said}"
        );
    }

    /// 1.5 s of writes in a run of 3 s, in `alone_s` of which no other thread moved.
    fn beside_others(alone_s: Option<f64>) -> Finding {
        let mut writes = in_order("write", 100_000, 1, 1.5);
        writes.row.alone_s = alone_s;
        let run = TraceResult {
            wall_s: 3.0,
            ..run(vec![with_calls(file("/data/log"), vec![writes])])
        };
        let replayed = Replayed {
            now_s: 1.0,
            better_s: 0.1,
        };
        settle(the_only(look(&run, &[])), Some(replayed), &Bound::of(&run)).unwrap()
    }

    #[test]
    fn a_saving_is_no_more_than_the_time_in_which_nobody_else_moved() {
        let most = |alone_s| {
            let finding = beside_others(alone_s);
            assert_eq!((finding.cost_s, finding.alone_s), (Some(1.5), alone_s));
            (finding.saving_s.unwrap(), finding.severity)
        };
        let (saving_s, severity) = most(Some(1.4));
        assert!(close(saving_s, 1.35), "the trial saves less");
        assert_eq!(severity, Severity::Medium);
        assert_eq!(most(None), (saving_s, severity), "not observed");
        assert_eq!(most(Some(0.25)), (0.25, Severity::Low));
        // Nobody waits for it: worth knowing, no more.
        assert_eq!(most(Some(0.01)), (0.01, Severity::Info));
        let bounded = beside_others(Some(0.25));
        assert_eq!(bounded.saving_basis, Some(Basis::Computed));
        let said = &bounded.evidence.last().unwrap().what;
        assert!(
            said.starts_with("during 1.25 s of it another thread"),
            "{said}"
        );
    }

    #[test]
    fn one_thread_costs_no_more_than_the_run() {
        let finding = settled(1.0, vec![task(7, 7, 1, (0.0, 1.0), 1.5)]);
        assert_eq!((finding.cost_s, finding.saving_s), (Some(1.0), Some(1.0)));
        assert_eq!(finding.cost_threads, None);
    }

    #[test]
    fn what_one_thread_can_have_spent_stays_as_it_is() {
        let finding = settled(2.0, vec![task(7, 7, 1, (0.0, 2.0), 1.6)]);
        assert!(close(finding.saving_s.unwrap(), 1.35));
        assert_eq!((finding.cost_s, finding.cost_threads), (Some(1.5), None));
    }
}
