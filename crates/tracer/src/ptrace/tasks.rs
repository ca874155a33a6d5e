//! Traced threads and processes, and their current calls.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use iostrata_core::op::FileId;
use iostrata_core::trace::tally::Used;
use syscalls::Sysno;

use super::descriptors::{SharedTable, Table};
use super::identity::Open;
use super::log::Before;
use super::request::{self, Tid};
use super::usage;

/// A call that a thread is in.
#[derive(Debug)]
pub(super) struct Entered {
    pub(super) number: Sysno,
    /// The number under which it is counted.
    pub(super) counted: u32,
    /// Meaning of the call: [`super::calls::call`] bits.
    pub(super) meaning: u32,
    /// Whether some of its arguments are paths.
    pub(super) has_paths: bool,
    pub(super) arguments: [u64; 6],
    /// The file it acts on, and its descriptor.
    pub(super) file: Option<(i32, Open)>,
    /// The file that it reads from, when it is counted for the file it writes to.
    pub(super) source: Option<Open>,
    pub(super) first: Option<Vec<u8>>,
    pub(super) second: Option<Vec<u8>>,
    /// The file that `linkat` links, where the call identifies it by more than its name.
    pub(super) linked: Option<Open>,
    /// Whether a success creates the file.
    pub(super) creates: bool,
    /// `CLONE_UNTRACED` was removed from it, and must be restored.
    pub(super) untraced: bool,
    /// The operation log's state from before the call.
    pub(super) before: Option<Box<Before>>,
    /// The open file description that it closes.
    pub(super) description: Option<u64>,
    /// Length of the file that it writes, `None` where that was not looked up.
    pub(super) size_bytes: Option<u64>,
    /// What was accounted to the thread before, where the kernel itself reads and writes in the call.
    pub(super) accounted_bytes: Option<u64>,
    /// Entry, nanoseconds of `CLOCK_MONOTONIC`.
    pub(super) started_ns: u64,
}

#[derive(Debug)]
pub(super) struct Thread {
    pub(super) process: u32,
    pub(super) entered: Option<Entered>,
    /// Its usage before the observation.
    pub(super) before: Used,
    /// The file of its last write, and where this ended.
    pub(super) wrote: Option<(FileId, u64)>,
    /// Its latest receipt from a socket, nanoseconds; 0 for none.
    pub(super) heard_ns: u64,
}

#[derive(Debug)]
pub(super) struct Process {
    pub(super) table: SharedTable,
    threads: u64,
}

#[derive(Debug, Default)]
pub(super) struct Tasks {
    pub(super) threads: HashMap<Tid, Thread>,
    processes: HashMap<u32, Process>,
    kept: Rc<Cell<usize>>,
    /// Threads whose creator has not reported them yet. A thread may even end before that: the
    /// kernel shows the stops of the youngest first (`do_wait`, kernel/exit.c, and `ptrace_link`).
    untold: HashSet<Tid>,
}

impl Tasks {
    /// The creator of a thread has yet to report it.
    pub(super) fn await_maker(&mut self, tid: Tid) {
        self.untold.insert(tid);
    }

    /// The creator reports it. Returns whether the thread was seen before.
    pub(super) fn told_of(&mut self, tid: Tid) -> bool {
        self.untold.remove(&tid)
    }

    pub(super) fn begin(&mut self, tid: Tid, process: u32, before: Used) {
        let kept = &self.kept;
        let entry = self.processes.entry(process).or_insert_with(|| Process {
            table: Table::of(process, kept),
            threads: 0,
        });
        entry.threads += 1;
        let thread = Thread {
            process,
            entered: None,
            before,
            wrote: None,
            heard_ns: 0,
        };
        self.threads.insert(tid, thread);
    }

    /// A thread no longer exists. Returns its process if it was the last thread of it.
    pub(super) fn end(&mut self, tid: Tid) -> Option<u32> {
        let process = self.threads.remove(&tid)?.process;
        let left = self.processes.get_mut(&process)?;
        left.threads = left.threads.saturating_sub(1);
        if left.threads > 0 {
            return None;
        }
        self.processes.remove(&process);
        Some(process)
    }

    /// Its threads may have got a filter too (`SECCOMP_FILTER_FLAG_TSYNC`), and stop at their next call.
    pub(super) fn interrupt(&self, process: u32) {
        let threads = self.threads.iter();
        for (tid, _) in threads.filter(|(_, thread)| thread.process == process) {
            drop(request::interrupt(*tid)); // it may have ended
        }
    }

    /// Whether the process of `tid` has no other thread.
    pub(super) fn is_last(&self, tid: Tid) -> bool {
        let process = self.threads.get(&tid).map(|thread| thread.process);
        let process = process.and_then(|process| self.processes.get(&process));
        process.is_some_and(|process| process.threads == 1)
    }

    /// `former` executed a program and is the process's first thread now: the others are gone
    /// (ptrace(2), "execve(2) under ptrace").
    pub(super) fn execute(&mut self, tid: Tid, former: Tid) {
        if let Some(thread) = self.threads.remove(&former) {
            self.threads.insert(tid, thread);
        }
        let others: Vec<Tid> = self
            .threads
            .iter()
            .filter(|(other, thread)| thread.process == tid && **other != tid)
            .map(|(other, _)| *other)
            .collect();
        for other in others {
            self.threads.remove(&other);
        }
        if let Some(process) = self.processes.get_mut(&tid) {
            process.threads = 1;
            if Rc::strong_count(&process.table) > 1 {
                // It is no longer shared with another process.
                let before = Rc::clone(&process.table);
                process.table = Table::of(tid, &self.kept);
                let mut table = process.table.borrow_mut();
                table.numbers().inherit(before.borrow_mut().numbers());
            } else {
                process.table.borrow_mut().forget_all();
            }
        }
    }

    /// `process` uses the descriptors of `other` (`CLONE_FILES`).
    pub(super) fn share(&mut self, process: u32, other: u32) {
        let table = self
            .processes
            .get(&other)
            .map(|other| Rc::clone(&other.table));
        if let (Some(process), Some(table)) = (self.processes.get_mut(&process), table) {
            process.table = table;
        }
    }

    /// `process` no longer shares its descriptors.
    pub(super) fn unshare(&mut self, process: u32) {
        if let Some(found) = self.processes.get_mut(&process) {
            let before = Rc::clone(&found.table);
            found.table = Table::of(process, &self.kept);
            let mut table = found.table.borrow_mut();
            table.numbers().inherit(before.borrow_mut().numbers());
        }
    }

    /// `maker` created `process`, which has a copy of its descriptors.
    pub(super) fn inherit(&mut self, process: u32, maker: u32) {
        let table = |process| Some(Rc::clone(&self.processes.get(process)?.table));
        if let (Some(own), Some(makers)) = (table(&process), table(&maker))
            && !Rc::ptr_eq(&own, &makers)
        {
            let mut makers = makers.borrow_mut();
            own.borrow_mut().numbers().inherit(makers.numbers());
        }
    }

    /// All descriptors known to refer to this file: process, descriptor and description.
    pub(super) fn descriptors_of(&self, file: FileId) -> Vec<(u32, i32, u64)> {
        let tables = self.processes.values().map(|process| &process.table);
        let mut found = Vec::new();
        for table in tables {
            let mut table = table.borrow_mut();
            let process = table.process();
            found.extend(
                table
                    .numbers()
                    .of(file)
                    .map(|(fd, number)| (process, fd, number)),
            );
        }
        found
    }

    pub(super) fn table(&self, tid: Tid) -> Option<SharedTable> {
        let process = self.threads.get(&tid)?.process;
        Some(Rc::clone(&self.processes.get(&process)?.table))
    }

    /// The state of each thread still running: its process and its usage before the observation.
    pub(super) fn left(&self) -> Vec<(Tid, u32, Used)> {
        let threads = self.threads.iter();
        let mut left: Vec<_> = threads
            .map(|(tid, thread)| (*tid, thread.process, thread.before.clone()))
            .collect();
        left.sort_by_key(|(tid, ..)| *tid);
        left
    }
}

/// The process and the parent of a thread that its creator has not reported yet.
pub(super) fn family(tid: Tid) -> (u32, u32) {
    usage::family(tid).unwrap_or((tid, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(threads: &[(Tid, u32)]) -> Tasks {
        let mut tasks = Tasks::default();
        for (tid, process) in threads {
            tasks.begin(*tid, *process, Used::default());
        }
        tasks
    }

    #[test]
    fn a_process_ends_with_its_last_thread() {
        // The first thread may end before the others.
        let mut tasks = with(&[(7, 7), (8, 7)]);
        assert!(!tasks.is_last(7));
        assert_eq!(tasks.end(7), None);
        assert!(tasks.is_last(8));
        assert_eq!(tasks.end(8), Some(7));
        assert!(tasks.table(8).is_none());
    }

    #[test]
    fn who_executes_takes_the_number_of_the_first() {
        let mut tasks = with(&[(7, 7), (8, 7), (9, 7), (20, 20)]);
        tasks.execute(7, 9);
        let mut left: Vec<_> = tasks.threads.keys().copied().collect();
        left.sort_unstable();
        assert_eq!(left, [7, 20]);
        assert!(tasks.is_last(7));
    }

    #[test]
    fn a_shared_table_is_one_until_a_program_is_executed() {
        let mut tasks = with(&[(7, 7), (20, 20)]);
        tasks.share(20, 7);
        let same = |tasks: &Tasks| Rc::ptr_eq(&tasks.table(7).unwrap(), &tasks.table(20).unwrap());
        assert!(same(&tasks));
        tasks.execute(20, 20);
        assert!(!same(&tasks));
    }
}
