//! Collects stacks: unwinds each, sums equal ones, and looks up function names at the end.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::SystemTime;

use framehop::x86_64::CacheX86_64;
use iostrata_core::op::FileId;
use iostrata_core::trace::SiteRow;

use super::Sample;
use super::budget::{Budget, Exceeded};
use super::maps::NoMap;
use super::module::Modules;
use super::perf_map::PerfMap;
use super::process::{self, End, Frame, Process};
use super::symbols::Symbols;
use super::words::{Named, Shown, Words};

/// Maximum number of processes whose memory map is kept. Beyond it, ended ones are forgotten.
const MOST_PROCESSES: usize = 512;

/// Bytes of all stacks as text: outputs show far less of a run.
const MOST_TEXT_BYTES: usize = 32 << 20;

/// Maximum number of calls that are distinguished.
const MOST_CALLS: usize = 65_536;

/// Maximum number of different stacks; later ones are counted without their stack.
pub(super) const MOST_STACKS: usize = 16_384;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    call: &'static str,
    file: FileId,
    stack: Stack,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Stack {
    Unwound(Vec<Frame>, End),
    NoMap(NoMap),
    /// Unwinding a stack of this process has panicked.
    Failed,
    /// [`MOST_STACKS`] others came first.
    NoRoom,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum {
    pub(super) samples: u64,
    pub(super) spent_ns: u64,
}

impl Sum {
    pub(super) fn add(&mut self, other: Self) {
        self.samples += other.samples;
        self.spent_ns = self.spent_ns.saturating_add(other.spent_ns);
    }
}

/// Collects the stacks of one session. Memory grows with the number of different ones.
pub(super) struct Collector {
    since: SystemTime,
    modules: Modules,
    processes: HashMap<(u32, u64), Process>,
    /// With the number of stacks since it was first searched for.
    perf_maps: HashMap<u32, (PerfMap, u64)>,
    cache: CacheX86_64,
    found: HashMap<Key, (Sum, Vec<(u32, u64)>)>,
    /// Of all stacks.
    calls: usize,
    budget: Arc<Budget>,
    /// Processes for which unwinding a stack has panicked.
    failed: HashSet<u32>,
}

impl Collector {
    /// Starts the clock now.
    pub(super) fn within(budget: Budget) -> Self {
        let budget = Arc::new(budget);
        Self {
            since: SystemTime::now(),
            modules: Modules::within(Arc::clone(&budget)),
            processes: HashMap::new(),
            perf_maps: HashMap::new(),
            cache: CacheX86_64::new(),
            found: HashMap::new(),
            calls: 0,
            budget,
            failed: HashSet::new(),
        }
    }

    /// Unwinds a stack; its process should still be alive.
    pub(super) fn add(&mut self, sample: &Sample<'_>) {
        let budget = Arc::clone(&self.budget);
        let stack = budget.timed_stack(|| self.unwind_or_fail(sample));
        if let Stack::Unwound(frames, _) = &stack {
            self.keep_names_of(frames);
        }
        let mut key = Key {
            call: sample.call,
            file: sample.file,
            stack,
        };
        if self.found.len() >= MOST_STACKS && !self.found.contains_key(&key) {
            key.stack = Stack::NoRoom;
        }
        let (sum, ended) = self.found.entry(key).or_default();
        sum.add(Sum {
            samples: 1,
            spent_ns: sample.spent_ns,
        });
        if let Some(call) = sample.ended.filter(|_| self.calls < MOST_CALLS) {
            self.calls += 1;
            ended.push(call);
        }
    }

    /// Unwind tables come from the program's files: where following them overflows, there is no
    /// stack, and no other stack of that process is tried.
    fn unwind_or_fail(&mut self, sample: &Sample<'_>) -> Stack {
        if self.failed.contains(&sample.process) {
            return Stack::Failed;
        }
        catch_unwind(AssertUnwindSafe(|| self.unwind(sample))).unwrap_or_else(|_panic| {
            self.failed.insert(sample.process);
            self.processes.remove(&(sample.process, sample.execs));
            Stack::Failed
        })
    }

    fn unwind(&mut self, sample: &Sample<'_>) -> Stack {
        let id = (sample.process, sample.execs);
        let mut why = NoMap::Ended;
        if !self.processes.contains_key(&id) {
            self.forget_ended();
            match Process::read(sample.process, &self.budget) {
                Ok(process) => drop(self.processes.insert(id, process)),
                Err(no_map) => why = no_map,
            }
        }
        // A process that has ended and never executed a program had the memory of its parent.
        let known = if self.processes.contains_key(&id) {
            id
        } else {
            (sample.parent, sample.execs)
        };
        let Some(process) = self.processes.get_mut(&known) else {
            return Stack::NoMap(why);
        };
        let (frames, end) = process.stack(&sample.registers, &mut self.modules, &mut self.cache);
        Stack::Unwound(frames, end)
    }

    fn forget_ended(&mut self) {
        if self.processes.len() >= MOST_PROCESSES || self.budget.is_low() {
            self.processes
                .retain(|(process, _), _| process::is_alive(*process));
        }
    }

    /// Opens the file with the names of generated code before the process removes it.
    fn keep_names_of(&mut self, frames: &[Frame]) {
        let made = frames.iter().find_map(|frame| match frame {
            Frame::Made(process, _) => Some(*process),
            Frame::Module(..) | Frame::Unread(..) => None,
        });
        let Some(process) = made else {
            return;
        };
        let asked = self.perf_maps.get(&process).map_or(0, |(_, asked)| *asked) + 1;
        let is_open = matches!(self.perf_maps.get(&process), Some((PerfMap::Open(_), _)));
        if is_open {
            return;
        }
        if !asked.is_power_of_two() {
            if let Some((_, before)) = self.perf_maps.get_mut(&process) {
                *before = asked;
            }
        } else if let Some(map) = PerfMap::of(process) {
            self.perf_maps.insert(process, (map, asked));
        }
    }

    /// Returns the sites, with the names of functions or, earlier, without them.
    pub(super) fn rows(&mut self, with_names: bool) -> Vec<SiteRow> {
        let names = self.names(with_names);
        let mut found: Vec<_> = self.found.iter().collect();
        found.sort_by_key(|(_, (sum, _))| std::cmp::Reverse(sum.spent_ns));
        let mut words = Words::default();
        let mut rows: HashMap<(&'static str, FileId, usize), (Sum, Vec<_>)> = HashMap::new();
        let mut text_bytes = 0;
        for (key, (sum, ended)) in found {
            let number = if text_bytes < MOST_TEXT_BYTES {
                words.of(&key.stack, &names)
            } else {
                words.number(Shown::none(&format!(
                    "not resolved: other stacks already fill {} MiB of text",
                    MOST_TEXT_BYTES >> 20
                )))
            };
            let row = rows.entry((key.call, key.file, number)).or_insert_with(|| {
                text_bytes += words.bytes(number);
                <(Sum, Vec<_>)>::default()
            });
            row.0.add(*sum);
            row.1.extend_from_slice(ended);
        }
        rows.into_iter()
            .map(|((call, file, number), (sum, ended))| {
                let shown = words.numbered(number);
                SiteRow {
                    call,
                    file,
                    stack: shown.stack,
                    samples: sum.samples,
                    time_ns: sum.spent_ns,
                    ended,
                    why_not: shown.why_not,
                }
            })
            .collect()
    }

    fn names(&mut self, with_names: bool) -> HashMap<Frame, Named> {
        let mut in_files: HashMap<usize, BTreeSet<u64>> = HashMap::new();
        let mut made: HashMap<u32, BTreeSet<u64>> = HashMap::new();
        let mut names = HashMap::new();
        let stacks = self.found.keys().filter_map(|key| match &key.stack {
            Stack::Unwound(frames, _) => Some(frames),
            Stack::NoMap(_) | Stack::Failed | Stack::NoRoom => None,
        });
        for frame in stacks.flatten() {
            match frame {
                Frame::Module(file, address) => {
                    in_files.entry(*file).or_default().insert(*address);
                }
                Frame::Made(process, address) => {
                    made.entry(*process).or_default().insert(*address);
                }
                Frame::Unread(name, why) => {
                    names.insert(frame.clone(), Named::unread(name).short_of(*why));
                }
            }
        }
        for (file, addresses) in in_files {
            let addresses: Vec<u64> = addresses.into_iter().collect();
            self.names_in_file(file, &addresses, with_names, &mut names);
        }
        for (process, addresses) in made {
            let addresses: Vec<u64> = addresses.into_iter().collect();
            self.names_of_made(process, &addresses, with_names, &mut names);
        }
        names
    }

    fn names_in_file(
        &self,
        file: usize,
        addresses: &[u64],
        with_names: bool,
        names: &mut HashMap<Frame, Named>,
    ) {
        let module = &self.modules.all[file];
        let symbols = if with_names {
            self.budget.timed(|| module.names(addresses, &self.budget))
        } else {
            Symbols::unread()
        };
        for address in addresses {
            let function = symbols.names.get(address).map(AsRef::as_ref);
            let named = Named::in_file(function, &module.name, *address);
            let frame = Frame::Module(file, *address);
            names.insert(frame, named.short_of(symbols.exceeded));
        }
    }

    fn names_of_made(
        &mut self,
        process: u32,
        addresses: &[u64],
        with_names: bool,
        names: &mut HashMap<Frame, Named>,
    ) {
        let none = || vec![None; addresses.len()];
        let (found, exceeded) = if with_names {
            match self.perf_maps.remove(&process) {
                Some((map, _)) => {
                    let budget = &self.budget;
                    budget.timed(|| map.names(addresses, self.since, budget))
                }
                None => (none(), None),
            }
        } else {
            (none(), Some(Exceeded::Time))
        };
        for (address, name) in addresses.iter().zip(found) {
            let named = Named::made(name.as_deref()).short_of(exceeded);
            names.insert(Frame::Made(process, *address), named);
        }
    }
}
