//! Sums single calls, for a back end that sees them one by one.
//!
//! The meaning is the same as on the kernel side (`bpf/calls.h`, `bpf/history.h`): the same program
//! gives the same rows and the same history under both.

mod moments;
mod thread;

use std::collections::HashMap;

use super::{Did, Direction, Event, Follower, NamedFile, Seen, Threads, direction};
use crate::evidence::SyscallRow;
use crate::op::{Call, FileId};
use moments::Clock;
use thread::Thread;
pub use thread::Used;

/// Number of histogram buckets, in powers of two of nanoseconds: the last one has all from 2^39 ns
/// (9 min).
const TIME_BUCKETS: usize = 40;

/// Bytes that a call moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    pub direction: Direction,
    /// Their offset; only for a regular file, and only if known.
    pub offset: Option<u64>,
    /// Whether the bytes written were durable when the call returned.
    pub durable: bool,
    /// Whether they went to the end of the file.
    pub appends: bool,
    /// Length of the file before the write; `None` where it was not looked up.
    pub size_bytes: Option<u64>,
}

/// One call from its entry to its exit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub call: Call,
    pub number: u32,
    pub file: Option<FileId>,
    /// The file it read from, when `file` is the one it wrote to.
    pub source: Option<FileId>,
    /// `None` for calls that do not return the number of bytes moved.
    pub transfer: Option<Transfer>,
    /// Its entry in the history. Runs of writes are built here.
    pub did: Option<Did>,
}

impl Ended {
    /// 0 when its result is not a number of bytes.
    fn moved_bytes(&self) -> u64 {
        let moves = direction(self.call.name).is_some();
        self.call.outcome.ok().filter(|_| moves).unwrap_or(0)
    }
}

/// A row: number, file, and whether the file is the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    number: u32,
    file: Option<FileId>,
    is_source: bool,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tallied {
    /// One row for each call and file.
    pub rows: Vec<SyscallRow>,
    /// Names, tasks, history.
    pub seen: Seen,
    /// Calls whose file found no room; they are in rows without a file.
    pub unattributed_calls: u64,
    /// Files that found no room for their name.
    pub unnamed_files: u64,
}

/// Sums the calls of one run. Its default keeps no rows of files.
#[derive(Debug, Default)]
pub struct Tally {
    most_rows: usize,
    sums: HashMap<Key, SyscallRow>,
    threads: HashMap<u32, Thread>,
    names: HashMap<FileId, NamedFile>,
    order: Vec<FileId>,
    tasks: Threads,
    follower: Follower,
    moments: Clock,
    unattributed_calls: u64,
    unnamed_files: u64,
}

impl Tally {
    /// Keeps at most `most_rows` pairs of call and file, and as many names. Calls beyond that are
    /// summed without their file, and counted.
    pub fn new(most_rows: usize) -> Self {
        Self {
            most_rows,
            ..Self::default()
        }
    }

    /// Whether [`Self::name`] must still give a name.
    pub fn is_new(&self, file: FileId) -> bool {
        !self.names.contains_key(&file)
    }

    /// Gives a file its name, once.
    pub fn name(&mut self, named: NamedFile) {
        if !self.is_new(named.file) {
            return;
        }
        self.follower.named(&named);
        if self.names.len() >= self.most_rows {
            self.unnamed_files += 1;
            return;
        }
        self.order.push(named.file);
        self.names.insert(named.file, named);
    }

    /// A file that was opened without a name has got one, and is shown under it.
    pub fn name_again(&mut self, file: FileId, path: &[u8]) {
        if let Some(named) = self.names.get_mut(&file) {
            path.clone_into(&mut named.path);
        }
    }

    /// A thread is observed from now on.
    pub fn begin_task(&mut self, thread: u32, process: u32, parent: u32, started_ns: u64) {
        self.moments.begin(started_ns);
        self.threads
            .insert(thread, Thread::new(thread, process, parent, started_ns));
    }

    /// What a thread is called, unless its usage names it when it ends.
    pub fn name_task(&mut self, thread: u32, name: &[u8]) {
        if let Some(thread) = self.threads.get_mut(&thread) {
            name.clone_into(&mut thread.task.name);
        }
    }

    /// A thread continues under another id: it executed a program while it was not the first of its
    /// process, and took the id of the first. Returns whether that one was still there; it has ended
    /// without its usage.
    pub fn renumber(&mut self, from: u32, to: u32, ended_ns: u64) -> bool {
        let Some(mut thread) = self.threads.remove(&from) else {
            return false;
        };
        let first_was_there = self.threads.contains_key(&to);
        self.end_task(to, None, Some(ended_ns));
        thread.task.thread = to;
        self.threads.insert(to, thread);
        first_was_there
    }

    pub fn call(&mut self, ended: Ended) {
        let call = &ended.call;
        let thread = self
            .threads
            .entry(call.thread)
            .or_insert_with(|| Thread::new(call.thread, call.process, 0, call.started_ns));
        let file = ended.file.and_then(|file| self.names.get(&file));
        self.moments.call(&ended, file);
        let previous_end = thread.account(&ended);
        let run_before = thread.lengthen_run(&ended);
        if let Some(event) = run_before {
            self.follower.event(&event);
        }
        let key = Key {
            number: ended.number,
            file: ended.file,
            is_source: false,
        };
        let transfer = ended
            .transfer
            .and_then(|transfer| transfer.offset)
            .filter(|_| ended.call.outcome.is_ok());
        let shaped = transfer.map(|offset| (offset, previous_end));
        self.add(key, &ended, shaped);
        if ended.source.is_some() && ended.call.outcome.is_ok() {
            let key = Key {
                file: ended.source,
                is_source: true,
                ..key
            };
            self.add(key, &ended, None);
        }
        self.follow(ended);
    }

    /// An operation submitted by another call has ended: it is counted, but it is not a call of its
    /// thread, and is in no run of writes.
    pub fn operation(&mut self, ended: Ended) {
        let file = ended.file.and_then(|file| self.names.get(&file));
        self.moments.call(&ended, file);
        let key = Key {
            number: ended.number,
            file: ended.file,
            is_source: false,
        };
        self.add(key, &ended, None);
        self.follow(ended);
    }

    fn follow(&mut self, ended: Ended) {
        let Some(did) = ended.did else {
            return;
        };
        self.end_run(ended.call.thread);
        let call = ended.call;
        let open = None;
        self.follower.event(&Event { call, open, did });
    }

    fn end_run(&mut self, thread: u32) {
        let run = self.threads.get_mut(&thread).and_then(Thread::end_run);
        if let Some(event) = run {
            self.follower.event(&event);
        }
    }

    fn add(&mut self, mut key: Key, ended: &Ended, shaped: Option<(u64, Option<u64>)>) {
        if self.sums.len() >= self.most_rows && !self.sums.contains_key(&key) {
            self.unattributed_calls += u64::from(!key.is_source);
            key.file = None;
        }
        let row = self.sums.entry(key).or_insert_with(|| SyscallRow {
            name: ended.call.name,
            file: key.file,
            histogram: vec![0; TIME_BUCKETS],
            is_source: key.is_source,
            // Blocked times are not observed call by call.
            ..SyscallRow::default()
        });
        let took_ns = ended.call.took_ns();
        let (started_ns, ended_ns) = (ended.call.started_ns, ended.call.ended_ns);
        let (first_ns, last_ns) = row.span_ns.unwrap_or((started_ns, ended_ns));
        row.span_ns = Some((first_ns.min(started_ns), last_ns.max(ended_ns)));
        row.count += 1;
        row.errors += u64::from(ended.call.outcome.is_err());
        row.returned = row.returned.saturating_add(ended.moved_bytes());
        row.time_ns = row.time_ns.saturating_add(took_ns);
        let power = took_ns.checked_ilog2().unwrap_or(0) as usize;
        row.histogram[power.min(TIME_BUCKETS - 1)] += 1;
        if let Some((offset, previous_end)) = shaped {
            let shape = row.shape.get_or_insert_default();
            shape.add(offset, ended.moved_bytes(), previous_end);
        }
    }

    /// A thread has ended, or its observation has (`ended_ns` is `None`).
    pub fn end_task(&mut self, thread: u32, used: Option<Used>, ended_ns: Option<u64>) {
        self.end_run(thread);
        if let Some(mut state) = self.threads.remove(&thread) {
            state.use_up(used);
            state.task.ended_ns = ended_ns;
            self.tasks.add(state.task);
        }
    }

    /// Ends and returns the sums. Threads that have not ended outlived the observation.
    pub fn finish(mut self) -> Tallied {
        let mut left: Vec<u32> = self.threads.keys().copied().collect();
        left.sort_unstable();
        for thread in left {
            self.end_task(thread, None, None);
        }
        let names = &mut self.names;
        let (tasks, lived, summed) = self.tasks.finish();
        Tallied {
            rows: self.sums.into_values().collect(),
            seen: Seen {
                names: self
                    .order
                    .iter()
                    .filter_map(|file| names.remove(file))
                    .collect(),
                tasks,
                lived,
                followed: self.follower.finish(),
                sites: Vec::new(),
                moments: self.moments.finish(),
                missing: summed.into_iter().collect(),
            },
            unattributed_calls: self.unattributed_calls,
            unnamed_files: self.unnamed_files,
        }
    }
}

#[cfg(test)]
mod tests;
