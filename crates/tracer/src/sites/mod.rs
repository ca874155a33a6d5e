//! Call sites: where in a program its calls on files come from.
//!
//! A back end hands over registers and a copy of the stack; they are unwound at once,
//! while the process lives and its memory map can be read, with the unwind tables of its
//! files and with frame pointers where there are none. Names are looked up at the end.

mod made;
mod maps;
mod module;
mod perf_map;
mod process;
mod symbols;
mod words;

use std::collections::{BTreeSet, HashMap};
use std::time::SystemTime;

use framehop::x86_64::CacheX86_64;
use iostrata_core::op::FileId;
use iostrata_core::trace::SiteRow;

use module::Modules;
use perf_map::PerfMap;
use process::{End, Frame, Process};
use words::{Named, Shown, shown};

pub(crate) use process::Registers;

/// Processes whose memory map is kept. Beyond, those that have ended are forgotten.
const MOST_PROCESSES: usize = 512;

/// Different stacks that are kept; what comes after is counted without its stack.
const MOST_STACKS: usize = 16_384;

/// A stack as it was when a call was left.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample<'a> {
    pub(crate) call: &'static str,
    pub(crate) file: FileId,
    pub(crate) process: u32,
    /// The process that made it.
    pub(crate) parent: u32,
    /// Tells the programs that one process became from each other.
    pub(crate) execs: u64,
    /// Time in calls that it stands for, nanoseconds.
    pub(crate) spent_ns: u64,
    pub(crate) registers: Registers<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    call: &'static str,
    file: FileId,
    stack: Stack,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Stack {
    Unwound(Vec<Frame>, End),
    /// The process had ended.
    NoMap,
    /// [`MOST_STACKS`] others came first.
    NoRoom,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    samples: u64,
    spent_ns: u64,
}

/// Collects the stacks of one session. Memory grows with the different ones.
pub(crate) struct Sites {
    since: SystemTime,
    modules: Modules,
    processes: HashMap<(u32, u64), Process>,
    /// With the number of stacks since it was first looked for.
    perf_maps: HashMap<u32, (PerfMap, u64)>,
    cache: CacheX86_64,
    found: HashMap<Key, Sum>,
}

impl Default for Sites {
    /// Begins now.
    fn default() -> Self {
        Self {
            since: SystemTime::now(),
            modules: Modules::default(),
            processes: HashMap::new(),
            perf_maps: HashMap::new(),
            cache: CacheX86_64::new(),
            found: HashMap::new(),
        }
    }
}

impl std::fmt::Debug for Sites {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sites")
            .field("stacks", &self.found.len())
            .finish_non_exhaustive()
    }
}

impl Sites {
    /// Unwinds a stack; its process should still live.
    pub(crate) fn add(&mut self, sample: &Sample<'_>) {
        let stack = self.unwind(sample);
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
        let sum = self.found.entry(key).or_default();
        sum.samples += 1;
        sum.spent_ns = sum.spent_ns.saturating_add(sample.spent_ns);
    }

    fn unwind(&mut self, sample: &Sample<'_>) -> Stack {
        let id = (sample.process, sample.execs);
        if !self.processes.contains_key(&id)
            && let Ok(process) = Process::read(sample.process)
        {
            self.forget_ended();
            self.processes.insert(id, process);
        }
        // A process that has already ended and never became another program had the
        // memory of the one that made it.
        let known = if self.processes.contains_key(&id) {
            id
        } else {
            (sample.parent, sample.execs)
        };
        let Some(process) = self.processes.get_mut(&known) else {
            return Stack::NoMap;
        };
        let (frames, end) = process.stack(&sample.registers, &mut self.modules, &mut self.cache);
        Stack::Unwound(frames, end)
    }

    fn forget_ended(&mut self) {
        if self.processes.len() >= MOST_PROCESSES {
            self.processes
                .retain(|(process, _), _| process::is_alive(*process));
        }
    }

    /// Opens the file with the names of code that a process has made, before it is removed.
    fn keep_names_of(&mut self, frames: &[Frame]) {
        let made = frames.iter().find_map(|frame| match frame {
            Frame::Made(process, _) => Some(*process),
            Frame::Module(..) | Frame::Unread(_) => None,
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

    /// Names all functions and hands over.
    pub(crate) fn finish(mut self) -> Vec<SiteRow> {
        let names = self.names();
        // Several places in one function are one in words.
        let mut rows: HashMap<(&'static str, FileId, Shown), Sum> = HashMap::new();
        for (key, sum) in &self.found {
            let shown = shown(&key.stack, &names);
            let row = rows.entry((key.call, key.file, shown)).or_default();
            row.samples += sum.samples;
            row.spent_ns = row.spent_ns.saturating_add(sum.spent_ns);
        }
        rows.into_iter()
            .map(|((call, file, shown), sum)| SiteRow {
                call,
                file,
                stack: shown.stack,
                samples: sum.samples,
                time_ns: sum.spent_ns,
                why_not: shown.why_not,
            })
            .collect()
    }

    fn names(&mut self) -> HashMap<Frame, Named> {
        let mut in_files: HashMap<usize, BTreeSet<u64>> = HashMap::new();
        let mut made: HashMap<u32, BTreeSet<u64>> = HashMap::new();
        let mut names = HashMap::new();
        let stacks = self.found.keys().filter_map(|key| match &key.stack {
            Stack::Unwound(frames, _) => Some(frames),
            Stack::NoMap | Stack::NoRoom => None,
        });
        for frame in stacks.flatten() {
            match frame {
                Frame::Module(file, address) => {
                    in_files.entry(*file).or_default().insert(*address);
                }
                Frame::Made(process, address) => {
                    made.entry(*process).or_default().insert(*address);
                }
                Frame::Unread(name) => {
                    names.insert(frame.clone(), Named::without(name.clone(), name.clone()));
                }
            }
        }
        for (file, addresses) in in_files {
            let module = &self.modules.all[file];
            let addresses: Vec<u64> = addresses.into_iter().collect();
            let functions = module.names(&addresses);
            for address in addresses {
                let function = functions.get(&address);
                let named = Named::in_file(function, &module.name, address);
                names.insert(Frame::Module(file, address), named);
            }
        }
        for (process, addresses) in made {
            let addresses: Vec<u64> = addresses.into_iter().collect();
            let found = match self.perf_maps.remove(&process) {
                Some((map, _)) => map.names(&addresses, self.since),
                None => vec![None; addresses.len()],
            };
            for (address, name) in addresses.into_iter().zip(found) {
                names.insert(Frame::Made(process, address), Named::made(name));
            }
        }
        names
    }
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
