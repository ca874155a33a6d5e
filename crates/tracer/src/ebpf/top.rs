//! The whole machine, interval by interval (`bpf/top.h`).
//!
//! The kernel side marks every entry with its interval. When that is over the next one is announced;
//! once no program runs any more that has not seen it, the entries are complete, and are taken out.

use std::collections::HashMap;
use std::hash::Hash;
use std::thread;

use aya::Pod;
use aya::maps::{MapData, MapError, RingBuf};
use iostrata_core::bytes::text_of;
use iostrata_core::environment::Way;
use iostrata_core::evidence::CallStats;
use iostrata_core::gap::{Countable, Gap, Reason, Stratum};
use iostrata_core::observe::ObserveError;
use iostrata_core::op::FileId;
use iostrata_core::timing::seconds;
use iostrata_core::top::{
    CallFigures, Calls, CommitWait, Named, Pages, RequestFigures, RequestRow, Share, Strata,
    Transaction,
};
use rustix::thread::CapabilitySet;
use zerocopy::FromZeros;

use super::entries::{each, remove};
use super::names::Names;
use super::object::{Object, OpenError};
use super::readout::{lost, map};
use super::skipped::Skipped;
use super::stream::{cause, file_id};
use super::wire::{
    ActorKey, ActorValue, BlockKey, BlockValue, CommitKey, Config, ShareKey, ShareSum, ShareValue,
    adoption, event, loss,
};
use super::{Limits, error, unread};
use crate::clock;
use crate::kernel::rcu;
use crate::permission::caller::keep_only;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Name of its first thread.
    pub name: String,
    pub parent: u32,
    /// The number of its cgroup (version 2).
    pub cgroup: u64,
}

/// A process that took part in a transaction of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handle {
    pub transaction: Transaction,
    /// The process; `None` for threads of the kernel.
    pub process: Option<u32>,
    /// What was changed, where it is known.
    pub file: Option<FileId>,
}

/// What was counted in one interval.
#[derive(Debug, Default)]
pub struct Taken {
    /// By process and file.
    pub shares: Vec<Share>,
    pub requests: Vec<RequestRow>,
    pub handles: Vec<Handle>,
    pub commit_waits: Vec<CommitWait>,
    pub processes: HashMap<u32, Process>,
    pub names: HashMap<FileId, Named>,
    pub lost_events: u64,
    pub missing: Vec<Gap>,
}

pub struct Watch {
    object: Object,
    config: Config,
    ring: RingBuf<MapData>,
    /// Names of this interval and of the one before: a file is named once in each, at any moment
    /// from the announcement of the next on.
    names: [HashMap<FileId, Named>; 2],
    lost: [u64; LOSSES.len()],
    skipped: Skipped,
}

/// Losses that this observer can have: which, of one thing or several, and why.
const LOSSES: [(u32, Countable, Reason); 9] = [
    (loss::CALLS, Countable::CallsWithoutFile, NO_ROOM),
    (loss::CACHE, Countable::CacheEventsWithoutFile, NO_ROOM),
    (
        loss::BLOCK,
        Countable::BlockRequests,
        Reason::RequestTableFull,
    ),
    (
        loss::TASKS,
        Countable::CallsOrCacheEvents,
        Reason::ActiveTableFull,
    ),
    (
        loss::COMPAT,
        Countable::ForeignCalls,
        Reason::ForeignNumbers,
    ),
    (
        loss::COMMITS,
        Countable::JournalParticipants,
        Reason::CommitTableFull,
    ),
    (loss::NAMES, Countable::FileNames, Reason::ReaderRingFull),
    (
        loss::ARGUMENTS,
        Countable::CallsWithoutArguments,
        Reason::ArgumentsUnread,
    ),
    (loss::ENDS, Countable::RequestEnds, Reason::EndsUnreported),
];

const NO_ROOM: Reason = Reason::FileTableFullByProcess;

impl Watch {
    pub fn open(limits: &Limits) -> Result<Self, OpenError> {
        let object = Object::load(limits)?;
        let ring = object.ring();
        let ring = ring.map_err(|error| OpenError::Maps(error.to_string()))?;
        Ok(Self {
            object,
            config: Config::default(),
            ring,
            names: Default::default(),
            lost: Default::default(),
            skipped: Skipped::default(),
        })
    }

    pub fn begin(&mut self) -> Result<(), ObserveError> {
        self.config = Config {
            end_io: self.object.end_io,
            adoption: adoption::PREPARES,
            phase: 1,
            ..Config::default()
        };
        self.configure()?;
        // It tells the kernel side in which PID namespace this process is.
        let known = self.object.iterate("adopt");
        known.map_err(|cause| ObserveError {
            doing: "begin to observe".to_owned(),
            cause,
        })?;
        self.skipped = self.object.skipped();
        self.config.adoption = adoption::OVER;
        self.config.started_ns = clock::now_ns();
        self.configure()?;
        let attached = self.object.attach();
        attached.map_err(|e| error("attach the eBPF programs", &e))
    }

    pub fn strata(&self) -> Strata {
        let seen = |stratum| self.object.seen.contains(&stratum);
        Strata {
            calls: seen(Stratum::Syscalls),
            pages: seen(Stratum::PageCache),
            device: seen(Stratum::Device),
        }
    }

    /// Whether it is seen who waits for which commit of an ext4.
    pub fn sees_commits(&self) -> bool {
        self.object.told.contains(&"ext4")
    }

    /// Whether the tables can be read by one who has no capabilities: a thread without them tries.
    pub fn is_readable_by_all(&self) -> bool {
        let ebpf = &self.object.ebpf;
        let reads = || keep_only(CapabilitySet::empty()).is_ok() && lost(ebpf, loss::CALLS).is_ok();
        thread::scope(|scope| scope.spawn(reads).join().unwrap_or(false))
    }

    pub fn missing(&self) -> &[Gap] {
        &self.object.missing
    }

    pub fn ways(&self) -> Vec<Way> {
        self.object.ways()
    }

    /// Takes the names that have come: to be called before the ring is full of them.
    pub fn take_names(&mut self) {
        while let Some(record) = self.ring.next() {
            if record.get(..4) != Some(&event::NAME.to_ne_bytes()) {
                continue;
            }
            // A whole path each, so that none waits for another.
            let mut one = Names::default();
            for named in one.add(&record) {
                let name = Named {
                    path: named.path.clone(),
                    filesystem: named.filesystem.clone(),
                };
                self.names[0].insert(named.file, name);
            }
        }
    }

    pub fn turn(&mut self) -> Result<Taken, ObserveError> {
        let begun = self.config.phase;
        self.config.phase = begun.wrapping_add(1);
        self.configure()?;
        let waited = rcu::wait();
        waited.map_err(|e| error("wait for the eBPF programs under way", &e))?;
        self.take_names();
        let mut taken = self.tables().map_err(|e| unread(&e))?;
        self.tell_losses(&mut taken).map_err(|e| unread(&e))?;
        let [now, before] = &mut self.names;
        let used = taken.shares.iter().filter_map(|share| share.file);
        let used = used.chain(taken.handles.iter().filter_map(|handle| handle.file));
        let used = used.chain(taken.requests.iter().filter_map(|row| row.file));
        for file in used {
            if let Some(named) = now.get(&file).or_else(|| before.get(&file)) {
                taken.names.insert(file, named.clone());
            }
        }
        *before = std::mem::take(now);
        Ok(taken)
    }

    fn configure(&mut self) -> Result<(), ObserveError> {
        let configured = self.object.configure(self.config);
        configured.map_err(|e| error("configure the observer", &e))
    }

    fn tables(&self) -> Result<Taken, MapError> {
        let now = self.config.phase;
        let of = |key: &ShareKey| (key.interval != now).then_some((key.process, key.file));
        let shares = self.take("shares", of, ShareValue::add)?;
        let rests = self.take("rests", of, ShareValue::add)?;
        // Of the interval the key has the last byte.
        let requests = self.take(
            "block",
            |key: &BlockKey| {
                let is_over = u32::from(key.phase) != now & 0xff;
                is_over.then_some((key.disk, key.cause, key.file, key.process))
            },
            BlockValue::add,
        )?;
        let processes = self.take(
            "actors",
            |key: &ActorKey| (key.interval != now).then_some(key.process),
            |to: &mut ActorValue, value| *to = *value,
        )?;
        let of = |key: &CommitKey| {
            (key.interval != now).then_some((key.device, key.transaction, key.process, key.file))
        };
        let sum = |to: &mut u64, more: &u64| *to = to.saturating_add(*more);
        let handles = self.take("taking_part", of, sum)?;
        let waits = self.take("waiting_for", of, sum)?;
        Ok(Taken {
            handles: handles.into_keys().map(handle).collect(),
            commit_waits: waits.into_iter().map(commit_wait).collect(),
            shares: shares.into_iter().chain(rests).map(share).collect(),
            requests: requests.into_iter().map(request).collect(),
            processes: processes.into_iter().map(process).collect(),
            ..Taken::default()
        })
    }

    /// Takes out the entries that `part` says what they are part of, summed by that.
    fn take<K, V, S>(
        &self,
        name: &str,
        part: impl Fn(&K) -> Option<S>,
        add: impl Fn(&mut V, &V),
    ) -> Result<HashMap<S, V>, MapError>
    where
        K: Pod + FromZeros,
        V: Pod + FromZeros,
        S: Eq + Hash,
    {
        let table = map(&self.object.ebpf, name)?;
        let (mut sums, mut over) = (HashMap::new(), Vec::new());
        each(table, |key: &K, value: &V| {
            let Some(part) = part(key) else { return };
            over.push(*key);
            let sum = sums.entry(part).or_insert_with(V::new_zeroed);
            add(sum, value);
        })?;
        remove(table, &over)?;
        Ok(sums)
    }

    fn tell_losses(&mut self, taken: &mut Taken) -> Result<(), MapError> {
        for ((what, of, why), before) in LOSSES.into_iter().zip(&mut self.lost) {
            let now = lost(&self.object.ebpf, what)?;
            let count = now.saturating_sub(*before);
            *before = now;
            taken.lose(count, of, why);
        }
        let skipped = self.object.skipped();
        // Requests whose end was not seen are among the losses above.
        let count = skipped.clone().since(&self.skipped).lost(0);
        self.skipped = skipped;
        taken.lose(count, Countable::Events, Reason::ProgramNotRun);
        Ok(())
    }
}

impl Taken {
    fn lose(&mut self, count: u64, of: Countable, why: Reason) {
        self.lost_events = self.lost_events.saturating_add(count);
        self.missing.extend(Gap::counted(count, of, why));
    }
}

fn share(((process, file), value): ((u32, super::wire::FileKey), ShareValue)) -> Share {
    let calls = |sum: &ShareSum| CallFigures {
        stats: CallStats {
            count: sum.count,
            errors: sum.errors,
            bytes: sum.bytes,
            time_s: seconds(sum.time_ns),
        },
        longest_s: seconds(sum.longest_ns),
    };
    let [reads, writes, syncs, metadata] = &value.of;
    Share {
        process,
        file: file_id(&file),
        calls: Calls {
            reads: calls(reads),
            writes: calls(writes),
            syncs: calls(syncs),
            metadata: calls(metadata),
        },
        synchronous: calls(&value.synchronous),
        pages: Pages {
            lookups_pages: value.cache.lookups_pages,
            missed_pages: value.cache.missed_pages,
            // Those waited for are filled, too.
            prefetched_pages: value
                .cache
                .filled_pages
                .saturating_sub(value.cache.missed_pages),
            dirtied_bytes: value.cache.dirtied_bytes,
        },
    }
}

type TransactionOf = (u32, u32, u32, super::wire::FileKey);

fn handle((device, transaction, process, file): TransactionOf) -> Handle {
    Handle {
        transaction: (device, transaction),
        process: (process != 0).then_some(process),
        file: file_id(&file),
    }
}

fn commit_wait(((device, transaction, process, file), count): (TransactionOf, u64)) -> CommitWait {
    CommitWait {
        process,
        file: file_id(&file),
        transaction: (device, transaction),
        count,
    }
}

type RequestsOf = (u32, u8, super::wire::FileKey, u32);

fn request(((disk, code, file, process), value): (RequestsOf, BlockValue)) -> RequestRow {
    RequestRow {
        disk,
        cause: cause(code),
        file: file_id(&file),
        process: (process != 0).then_some(process),
        sum: RequestFigures {
            count: value.count,
            bytes: value.bytes,
            ended: value.ended,
            time_s: seconds(value.time_ns),
            longest_s: seconds(value.longest_ns),
        },
    }
}

fn process((number, value): (u32, ActorValue)) -> (u32, Process) {
    let name = value.name.split(|byte| *byte == 0).next();
    let process = Process {
        name: text_of(name.unwrap_or_default()),
        parent: value.parent,
        cgroup: value.cgroup,
    };
    (number, process)
}
