//! Call sites: the places in a program that make its file calls.
//!
//! A back end passes registers and a copy of the stack; they are unwound at once, while the process
//! is alive and its memory map can be read, with the unwind tables of its files, or with frame
//! pointers where there are none. Names are looked up at the end.
//!
//! All of this reads untrusted data: it draws from a [`budget`], and runs on a thread of its own
//! that nothing waits for longer than [`PATIENCE`]. An unwind table with an endless loop, or a file
//! whose server does not answer, costs the names and not the run.

mod budget;
mod collector;
mod demangle;
mod maps;
mod module;
mod perf_map;
mod process;
mod reads;
mod symbols;
mod words;

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod readers;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread;
use std::time::{Duration, Instant};

use iostrata_core::op::FileId;
use iostrata_core::trace::SiteRow;

use budget::Budget;
use collector::{Collector, Sum};

pub(crate) use process::Registers;

/// Maximum number of stacks in the queue: each has up to 16 KiB.
const MOST_WAITING: usize = 256;

/// The total time to wait for the thread: more than its budget.
const PATIENCE: Duration = Duration::from_secs(10);

/// Interval between two checks for room for a stack.
const PAUSE: Duration = Duration::from_millis(1);

/// A stack at the moment when a call returned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample<'a> {
    pub(crate) call: &'static str,
    pub(crate) file: FileId,
    /// Which call it was, where each one counts: its thread, and its end in nanoseconds of `CLOCK_MONOTONIC`.
    pub(crate) ended: Option<(u32, u64)>,
    pub(crate) process: u32,
    /// The process of the stack.
    pub(crate) parent: u32,
    /// Distinguishes the programs that one process executed.
    pub(crate) execs: u64,
    /// Time in calls that it represents, nanoseconds.
    pub(crate) spent_ns: u64,
    pub(crate) registers: Registers<'a>,
}

impl Sample<'_> {
    fn without_stack(&self) -> Sample<'static> {
        Sample {
            call: self.call,
            file: self.file,
            ended: self.ended,
            process: self.process,
            parent: self.parent,
            execs: self.execs,
            spent_ns: self.spent_ns,
            registers: Registers {
                stack: &[],
                ..self.registers
            },
        }
    }
}

enum Given {
    /// A sample, and a copy of its stack.
    Stack(Sample<'static>, Vec<u8>),
    /// Who waits until all before it are unwound.
    Settle(SyncSender<()>),
}

#[derive(Debug)]
pub(crate) struct Sites {
    budget: fn() -> Budget,
    /// `None` until there is a stack.
    worker: Option<Worker>,
    /// All submitted stacks, and how many of them were refused.
    handed: HashMap<(&'static str, FileId), Sum>,
    refused: HashMap<(&'static str, FileId), Sum>,
    patience: Duration,
}

#[derive(Debug)]
struct Worker {
    /// `None` when all were submitted.
    stacks: Option<SyncSender<Given>>,
    /// First without names, then with them.
    rows: Receiver<Vec<SiteRow>>,
}

impl Default for Sites {
    fn default() -> Self {
        Self {
            budget: Budget::default,
            worker: None,
            handed: HashMap::new(),
            refused: HashMap::new(),
            patience: PATIENCE,
        }
    }
}

impl Sites {
    /// Unwinds a stack on the thread; its process should still be alive.
    pub(crate) fn add(&mut self, sample: &Sample<'_>) {
        let key = (sample.call, sample.file);
        let sum = Sum {
            samples: 1,
            spent_ns: sample.spent_ns,
        };
        self.handed.entry(key).or_default().add(sum);
        if !self.hand_over(sample) {
            self.refused.entry(key).or_default().add(sum);
        }
    }

    fn hand_over(&mut self, sample: &Sample<'_>) -> bool {
        if self.worker.is_none() {
            self.worker = Worker::start(self.budget);
        }
        let worker = self.worker.as_ref();
        let Some(stacks) = worker.and_then(|worker| worker.stacks.as_ref()) else {
            return false;
        };
        let mut given = Given::Stack(sample.without_stack(), sample.registers.stack.to_vec());
        loop {
            given = match stacks.try_send(given) {
                Ok(()) => return true,
                Err(TrySendError::Full(given)) if !self.patience.is_zero() => given,
                Err(_) => return false,
            };
            let began = Instant::now();
            thread::sleep(PAUSE);
            self.patience = self.patience.saturating_sub(began.elapsed());
        }
    }

    /// Waits until all stacks are unwound. Their process should not go on before, if each one counts.
    pub(crate) fn settle(&mut self) {
        let worker = self.worker.as_ref();
        let Some(stacks) = worker.and_then(|worker| worker.stacks.as_ref()) else {
            return;
        };
        let (settled, wait) = mpsc::sync_channel(1);
        let began = Instant::now();
        // A thread that has failed is known by its result.
        if stacks.try_send(Given::Settle(settled)).is_ok() {
            wait.recv_timeout(self.patience).ok();
        }
        self.patience = self.patience.saturating_sub(began.elapsed());
    }

    /// No further stack comes: the functions are named while the caller does other work.
    pub(crate) fn no_more(&mut self) {
        if let Some(worker) = &mut self.worker {
            worker.stacks = None;
        }
    }

    /// Names all functions and returns the sites.
    pub(crate) fn finish(mut self) -> Vec<SiteRow> {
        self.no_more();
        let Some(Worker { rows, .. }) = self.worker.take() else {
            return unresolved(&self.handed, "not resolved: no thread could be started");
        };
        let until = Instant::now() + self.patience;
        let mut last = None;
        let ended = loop {
            let left = until.saturating_duration_since(Instant::now());
            match rows.recv_timeout(left) {
                Ok(rows) => last = Some(rows),
                Err(ended) => break ended,
            }
        };
        let Some(mut rows) = last else {
            let why = match ended {
                RecvTimeoutError::Timeout => "not resolved: unwinding the stacks did not end",
                RecvTimeoutError::Disconnected => "not resolved: unwinding the stacks failed",
            };
            return unresolved(&self.handed, why);
        };
        let why = "not resolved: too many stacks arrived at once";
        rows.extend(unresolved(&self.refused, why));
        rows
    }
}

impl Worker {
    /// Receives stacks until all senders are gone; `None` when no thread could be created.
    fn start(budget: fn() -> Budget) -> Option<Self> {
        let (stacks, waiting) = mpsc::sync_channel::<Given>(MOST_WAITING);
        let (results, rows) = mpsc::channel();
        let work = move || {
            let mut collector = Collector::within(budget());
            for given in waiting {
                let (sample, stack) = match given {
                    Given::Stack(sample, stack) => (sample, stack),
                    Given::Settle(settled) => {
                        // The waiter may have left.
                        settled.send(()).ok();
                        continue;
                    }
                };
                let registers = Registers {
                    stack: &stack,
                    ..sample.registers
                };
                collector.add(&Sample {
                    registers,
                    ..sample
                });
            }
            // The caller may have stopped waiting.
            results.send(collector.rows(false)).ok();
            results.send(collector.rows(true)).ok();
        };
        let name = "call sites".to_owned();
        let thread = thread::Builder::new().name(name).spawn(work);
        let stacks = Some(stacks);
        thread.ok().map(|_detached| Self { stacks, rows })
    }
}

/// Rows without stacks.
fn unresolved(sums: &HashMap<(&'static str, FileId), Sum>, why: &str) -> Vec<SiteRow> {
    let row = |((call, file), sum): (&(&'static str, FileId), &Sum)| SiteRow {
        call,
        file: *file,
        stack: Arc::default(),
        samples: sum.samples,
        time_ns: sum.spent_ns,
        ended: Vec::new(),
        why_not: Some(why.to_owned()),
    };
    sums.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId {
        device: 1,
        inode: 2,
        generation: 0,
    };

    #[test]
    fn a_process_that_is_gone_has_no_stack() {
        let mut sites = Sites::default();
        let sample = Sample {
            call: "write",
            file: FILE,
            ended: None,
            process: u32::MAX,
            parent: u32::MAX,
            execs: 1,
            spent_ns: 100,
            registers: Registers {
                ip: 1,
                sp: 2,
                bp: 3,
                stack: &[],
            },
        };
        sites.add(&sample);
        sites.add(&sample);
        let rows = sites.finish();
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].samples, rows[0].time_ns), (2, 200));
        assert!(rows[0].stack.is_empty() && rows[0].why_not.is_some());
    }
}
