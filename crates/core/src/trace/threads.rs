//! The threads of a run, as they end: their number, and those that are shown.

use std::collections::HashMap;

use super::{Lived, Task};
use crate::gap::{Countable, Gap, Others, Reason};

/// Maximum number of threads with a row: those with the most time in calls on files.
const ROWS: usize = 1 << 14;

/// Receives threads as they end. Memory grows with the number of process ids, of which a machine
/// has no more than `pid_max`, and not with the threads.
#[derive(Debug, Default)]
pub struct Threads {
    kept: Vec<Task>,
    lived: Lived,
    /// The latest end of a first thread with this id, if one was observed.
    firsts: HashMap<u32, Option<u64>>,
    /// Threads without a row, and their sum.
    without_row: u64,
    /// Its rows are counted at the end.
    summed: Others,
}

impl Threads {
    /// A thread has ended, or the observation has.
    pub fn add(&mut self, task: Task) {
        self.count(&task);
        self.kept.push(task);
        if self.kept.len() >= 2 * ROWS {
            self.sum_up();
        }
    }

    /// Ids are reused: a first thread that began after the end of the previous one with the same id
    /// is another process. A thread that executed a program under that id began before.
    fn count(&mut self, task: &Task) {
        let lived = &mut self.lived;
        lived.threads += 1;
        lived.first_ns = Some(lived.first_ns.unwrap_or(u64::MAX).min(task.started_ns));
        lived.last_ns = lived.last_ns.max(task.ended_ns);
        lived.go_on |= task.ended_ns.is_none();
        let until_ns = self.firsts.entry(task.process).or_default();
        if task.thread == task.process {
            lived.processes += u64::from(until_ns.is_none_or(|until| task.started_ns >= until));
            *until_ns = (*until_ns).max(Some(task.ended_ns.unwrap_or(u64::MAX)));
        }
    }

    fn sum_up(&mut self) {
        if self.kept.len() <= ROWS {
            return;
        }
        let rank = |task: &Task| (task.time_ns, task.on_cpu_ns, task.calls);
        self.kept
            .select_nth_unstable_by(ROWS, |one, other| rank(other).cmp(&rank(one)));
        for task in self.kept.drain(ROWS..) {
            let summed = &mut self.summed;
            let add = |sum: &mut u64, value: u64| *sum = sum.saturating_add(value);
            self.without_row += 1;
            add(&mut summed.calls, task.calls);
            add(&mut summed.on_cpu_ns, task.on_cpu_ns.unwrap_or(0));
            add(&mut summed.time_ns, task.time_ns);
            add(&mut summed.read_bytes, task.read_bytes);
            add(&mut summed.written_bytes, task.written_bytes);
        }
    }

    /// The threads with a row, the total number, and the text about the others.
    pub fn finish(mut self) -> (Vec<Task>, Lived, Option<Gap>) {
        self.sum_up();
        // Threads without the first, which was not observed.
        let alone = self.firsts.values().filter(|until| until.is_none());
        self.lived.processes += alone.count() as u64;
        let others = Box::new(Others {
            rows: ROWS as u64,
            ..self.summed
        });
        let why = Reason::ThreadsSummed(others);
        let gap = Gap::counted(self.without_row, Countable::ThreadRows, why);
        (self.kept, self.lived, gap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gap::Missing;

    fn task(process: u32, thread: u32, started_ns: u64, ended_ns: Option<u64>) -> Task {
        Task {
            thread,
            process,
            started_ns,
            ended_ns,
            ..Task::default()
        }
    }

    fn lived(tasks: &[Task]) -> Lived {
        let mut threads = Threads::default();
        for task in tasks {
            threads.add(task.clone());
        }
        threads.finish().1
    }

    #[test]
    fn a_number_that_is_used_again_is_another_process() {
        // Two lives of id 7, the second with a thread.
        let again = [
            task(7, 7, 0, Some(10)),
            task(7, 8, 12, Some(20)),
            task(7, 7, 10, None),
        ];
        let again = lived(&again);
        assert_eq!((again.processes, again.threads), (2, 3));
        assert_eq!((again.first_ns, again.last_ns), (Some(0), Some(20)));
        assert!(again.go_on);
        // A thread of 5 executed a program, and has had the id of the first since then.
        let executed = lived(&[task(5, 5, 0, Some(10)), task(5, 5, 3, Some(30))]);
        assert_eq!((executed.processes, executed.go_on), (1, false));
        // Threads without the first, which was not observed.
        let alone = lived(&[task(4, 9, 0, None), task(4, 8, 1, None)]);
        assert_eq!(alone.processes, 1);
        let two = lived(&[task(4, 4, 0, None), task(3, 3, 1, None)]);
        assert_eq!(two.processes, 2);
    }

    #[test]
    fn what_has_no_row_is_summed() {
        let mut threads = Threads::default();
        let all = 5 * ROWS as u64 + 7;
        for at in 0..all {
            let number = u32::try_from(at % 100).unwrap();
            threads.add(Task {
                calls: 2,
                // The last ones are the most important.
                time_ns: at,
                written_bytes: 1000,
                ..task(number, number, 2 * at, Some(2 * at + 1))
            });
        }
        let (kept, lived, gap) = threads.finish();
        assert_eq!((lived.processes, lived.threads), (all, all));
        assert_eq!(kept.len(), ROWS);
        assert!(kept.iter().all(|task| task.time_ns >= all - ROWS as u64));
        let gap = gap.unwrap();
        let without = all - ROWS as u64;
        let rows = Missing::Count {
            count: without,
            of: Countable::ThreadRows,
        };
        assert_eq!(gap.what, rows);
        let Reason::ThreadsSummed(others) = gap.why else {
            panic!("{gap:?}")
        };
        assert_eq!(others.calls, 2 * without);
        assert_eq!(others.written_bytes, 1000 * without);
    }
}
