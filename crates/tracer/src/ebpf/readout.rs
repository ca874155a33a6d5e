//! Reading and clearing the kernel-side tables.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use aya::Pod;
use aya::maps::{Array, HashMap as Table, Map, MapError, PerCpuArray, PerCpuValues};
use iostrata_core::evidence::{
    BlockRow, CacheRow, Life, Losses, Pages, RawEvidence, Sharing, Submitter, Summed, SyscallRow,
    Totals as CoreTotals,
};
use iostrata_core::gap::{Countable, Gap, Missing, Raised, Reason, Stratum};
use iostrata_core::op::FileId;
use iostrata_core::trace::Shape;
use iostrata_core::trace::calls::unrecorded;
use iostrata_core::trace::timeline::Purpose;
use zerocopy::FromZeros;

use super::entries::each;
use super::made::Ebpf;
use super::object::{Object, absent};
use super::stream::{cause, file_id, phase};
use super::sums::{Cached, Called, Sums};
use super::wire::{
    BlockKey, BlockValue, CacheKey, CacheValue, CallKey, CallValue, ClaimKey, Config, FileKey,
    Forbidden, JoinedKey, LOSSES, NUMBERS, Observer, Operation, Submission, SubmissionKey, Totals,
    USES, UseKey, loss, pages, submitted_by, using,
};
use super::{adoption, aio, calls, moments, told, wanted, wire};
use crate::machine;

/// A value of `in_flight`; its contents are not read.
type Flight = [u64; 11];

/// All rows of the session: those of the tables and those that came through the ring.
pub(super) fn read(object: &Object, mut sums: Sums) -> Result<RawEvidence, MapError> {
    let seen = |stratum| object.seen.contains(&stratum);
    let ebpf = &object.ebpf;
    let mut missing = object.missing.clone();
    let cache_lost = sums.cache_lost;
    let called = seen(Stratum::Syscalls)
        .then(|| called(ebpf, &mut sums))
        .transpose()?;
    let summed = called.as_ref().map(summed);
    missing.extend(not_told(ebpf)?);
    missing.extend(aio::gap(lost(ebpf, loss::RESULTS)? + sums.without_result));
    Ok(RawEvidence {
        summed: summed.unwrap_or_default(),
        syscalls: called.map(|called| call_rows(ebpf, called)).transpose()?,
        cache: seen(Stratum::PageCache)
            .then(|| cache_rows(ebpf, sums.cache))
            .transpose()?,
        block: requests(object)?,
        lives: lives(ebpf)?,
        copies: Copies::read(ebpf)?.by_original(),
        attachments: attachments(ebpf)?,
        sharing: sharing(object)?,
        totals: totals(ebpf)?,
        blocked_seen: seen(Stratum::Blocked),
        losses: Losses {
            unattributed_calls: lost(ebpf, loss::CALLS)?,
            cache: lost(ebpf, loss::CACHE)?.saturating_add(cache_lost),
            block: lost(ebpf, loss::BLOCK)?,
            stream: lost(ebpf, loss::STREAM)?,
            names: lost(ebpf, loss::NAMES)?,
            history: lost(ebpf, loss::HISTORY)?,
            tasks: lost(ebpf, loss::TASKS)?,
            foreign_calls: lost(ebpf, loss::COMPAT)?,
            uncounted: lost(ebpf, loss::ORPHANS)?.saturating_add(alive(ebpf)?),
            unread: 0,
            skipped: 0,
        },
        missing,
    })
}

fn not_told(ebpf: &Ebpf) -> Result<Vec<Gap>, MapError> {
    let counted = [
        (
            lost(ebpf, loss::ORPHANS)?,
            Countable::EarlyProcesses,
            Reason::ChildrenAdopted,
        ),
        (
            lost(ebpf, loss::ARGUMENTS)?,
            Countable::CallsWithoutArguments,
            Reason::ArgumentsPaged,
        ),
        (
            lost(ebpf, loss::COMPLETIONS)? + unended(ebpf)?,
            Countable::RingOperations,
            Reason::NoCompletion,
        ),
    ];
    let counted = counted.into_iter();
    let counted = counted.filter_map(|(count, of, why)| Gap::counted(count, of, why));
    let known = known(ebpf)?;
    let ends = adoption::not_told(&known, alive(ebpf)?);
    let not_permitted = not_permitted(ebpf, &known)?.into_iter().flatten();
    Ok(counted
        .chain(ends)
        .chain(wanted::late(&known))
        .chain(not_permitted)
        .collect())
}

/// Processes that the user may not trace, with what they executed, and whether they were observed before.
pub(super) fn forbidden(ebpf: &Ebpf) -> Result<Vec<(Raised, bool)>, MapError> {
    let mut found = Vec::new();
    each(
        map(ebpf, "forbidden")?,
        |key: &JoinedKey, how: &Forbidden| {
            let process = u32::try_from(key.numbers).unwrap_or_default();
            let program = wanted::text(&how.name);
            let was_observed = how.was_observed != 0;
            found.push((key.started, (Raised { process, program }, was_observed)));
        },
    )?;
    found.sort_by_key(|(started, _)| *started);
    Ok(found.into_iter().map(|(_, one)| one).collect())
}

fn not_permitted(ebpf: &Ebpf, known: &Observer) -> Result<[Option<Gap>; 2], MapError> {
    let (raised, closed): (Vec<_>, Vec<_>) = forbidden(ebpf)?
        .into_iter()
        .partition(|(_, was_observed)| *was_observed);
    let count = known.raised.saturating_add(raised.len() as u64);
    let raised = raised.into_iter().map(|(one, _)| one).collect();
    let why = Reason::OtherPrivileges(raised);
    let (of, closed) = (Countable::ForbiddenProcesses, closed.len() as u64);
    Ok([
        Gap::counted(count, Countable::RaisedProcesses, why),
        Gap::counted(closed, of, Reason::MayNotTrace),
    ])
}

/// io_uring operations on files that have not ended.
fn unended(ebpf: &Ebpf) -> Result<u64, MapError> {
    let mut unended = 0;
    each(
        map(ebpf, "operations")?,
        |_: &u64, operation: &Operation| {
            let name = told::ring_name(operation.opcode as usize);
            unended += u64::from(Purpose::of(name).is_some());
        },
    )?;
    Ok(unended)
}

/// Requests that began and whose end was not seen, including those under way.
pub(super) fn unended_requests(ebpf: &Ebpf) -> Result<u64, MapError> {
    let mut unended = lost(ebpf, loss::ENDS)?;
    each(map(ebpf, "in_flight")?, |_: &u64, _: &Flight| unended += 1)?;
    Ok(unended)
}

/// The device requests of the session as counted so far.
pub(super) fn requests(object: &Object) -> Result<Option<Vec<BlockRow>>, MapError> {
    let seen = object.seen.contains(&Stratum::Device);
    seen.then(|| block_rows(&object.ebpf)).transpose()
}

pub(super) fn map<'a>(ebpf: &'a Ebpf, name: &str) -> Result<&'a Map, MapError> {
    ebpf.map(name).ok_or_else(|| absent(name))
}

/// Adds the entries of a table, one per CPU for each `key`, to the sums.
fn add_table<K: Pod + FromZeros, V: Pod + FromZeros, S: Eq + Hash>(
    ebpf: &Ebpf,
    name: &str,
    sums: &mut HashMap<S, V>,
    key: impl Fn(&K) -> S,
    add: impl Fn(&mut V, &V),
) -> Result<(), MapError> {
    each(map(ebpf, name)?, |of: &K, value: &V| {
        match sums.entry(key(of)) {
            Entry::Occupied(mut sum) => add(sum.get_mut(), value),
            Entry::Vacant(sum) => {
                sum.insert(*value);
            }
        }
    })
}

/// The sums that came through the ring, and those of the kernel's table.
fn called(ebpf: &Ebpf, sums: &mut Sums) -> Result<Called, MapError> {
    each(map(ebpf, "calls")?, |key: &CallKey, value: &CallValue| {
        sums.add((key.nr, key.file), value);
    })?;
    Ok(sums.take_calls())
}

pub(super) fn summed(called: &Called) -> Summed {
    Summed {
        files: called.summed.iter().filter_map(file_id).collect(),
        calls: called.summed_calls,
    }
}

fn call_rows(ebpf: &Ebpf, called: Called) -> Result<Vec<SyscallRow>, MapError> {
    let mut rows = rows_of_calls(called);
    if lost(ebpf, loss::CALLS)? > 0 {
        let other = PerCpuArray::<_, CallValue>::try_from(map(ebpf, "other_calls")?)?;
        for nr in 0..other.len() {
            let mut sum = CallValue::new_zeroed();
            for value in other.get(&nr, 0)?.iter() {
                sum.add(value);
            }
            if sum.count > 0 {
                rows.push(call_row(nr, None, &sum));
            }
        }
    }
    Ok(rows)
}

pub(super) fn rows_of_calls(called: Called) -> Vec<SyscallRow> {
    let sums = called.sums.into_iter();
    sums.map(|((nr, file), value)| call_row(nr, file_id(&file), &value.whole()))
        .collect()
}

fn call_row(nr: u32, file: Option<FileId>, value: &CallValue) -> SyscallRow {
    SyscallRow {
        name: calls::name(nr),
        file,
        count: value.count,
        errors: value.errors,
        returned: value.returned,
        time_ns: value.time_ns,
        blocked_ns: value.blocked_ns,
        alone_ns: value.alone_ns,
        histogram: without_last_zeros(&value.histogram),
        shape: shape(nr, value),
        span_ns: (value.first_ns > 0).then_some((value.first_ns, value.last_ns)),
        is_source: calls::is_source(nr),
    }
}

/// Most calls take similar times, so that their histogram ends early.
fn without_last_zeros(buckets: &[u32]) -> Vec<u64> {
    let end = buckets.iter().rposition(|count| *count > 0);
    let used = buckets.get(..end.map_or(0, |last| last + 1));
    used.unwrap_or_default()
        .iter()
        .copied()
        .map(u64::from)
        .collect()
}

/// `None` where the kernel side made none: shapes were off, or the descriptor is not a file.
fn shape(nr: u32, value: &CallValue) -> Option<Box<Shape>> {
    let sizes = value.sizes.iter().copied().map(u64::from);
    let transfers = sizes.fold(value.empty, u64::saturating_add);
    (calls::has_shape(nr) && transfers > 0).then(|| {
        Box::new(Shape {
            pairs: value.pairs,
            sequential: value.sequential,
            backward: value.backward,
            empty: value.empty,
            furthest_bytes: value.furthest,
            sizes: without_last_zeros(&value.sizes),
        })
    })
}

/// Threads of the tree whose end was not counted.
pub(super) fn alive(ebpf: &Ebpf) -> Result<u64, MapError> {
    Array::<_, u64>::try_from(map(ebpf, "alive")?)?.get(&0, 0)
}

pub(super) fn known(ebpf: &Ebpf) -> Result<Observer, MapError> {
    Array::<_, Observer>::try_from(map(ebpf, "observers")?)?.get(&0, 0)
}

fn cache_rows(
    ebpf: &Ebpf,
    mut sums: HashMap<Cached, CacheValue>,
) -> Result<Vec<CacheRow>, MapError> {
    let key = |key: &CacheKey| (key.file, key.metadata != 0);
    add_table(ebpf, "cache", &mut sums, key, CacheValue::add)?;
    Ok(rows_of_pages(&Copies::read(ebpf)?.joined(sums)))
}

pub(super) fn rows_of_pages(sums: &HashMap<Cached, CacheValue>) -> Vec<CacheRow> {
    let row = |((file, metadata), value): (&Cached, &CacheValue)| {
        Some(CacheRow {
            file: file_id(file)?,
            metadata: *metadata,
            lookups_pages: value.lookups_pages,
            missed_pages: value.missed_pages,
            filled_pages: value.filled_pages,
            dirtied_bytes: value.dirtied_bytes,
        })
    };
    sums.iter().filter_map(row).collect()
}

fn block_rows(ebpf: &Ebpf) -> Result<Vec<BlockRow>, MapError> {
    let copies = Copies::read(ebpf)?;
    let key = |key: &BlockKey| BlockKey {
        cpu: 0,
        file: copies.original(key.file),
        ..*key
    };
    let mut sums = HashMap::new();
    add_table(ebpf, "block", &mut sums, key, BlockValue::add)?;
    let row = |(key, value): (&BlockKey, &BlockValue)| BlockRow {
        disk: key.disk,
        phase: phase(key.phase),
        cause: cause(key.cause),
        file: file_id(&key.file),
        submitter: match key.by_tree {
            submitted_by::RUN => Submitter::Run,
            submitted_by::WORKER => Submitter::Worker,
            submitted_by::OTHERS => Submitter::Others,
            _ => Submitter::Unknown,
        },
        pages: match key.pages {
            pages::WRITTEN => Pages::WrittenByRun,
            pages::DIRECT => Pages::Direct,
            _ => Pages::Others,
        },
        count: value.count,
        bytes: value.bytes,
        time_ns: value.time_ns,
    };
    Ok(sums.iter().map(row).collect())
}

/// What others did with the files that the tree writes to.
fn lives(ebpf: &Ebpf) -> Result<HashMap<FileId, Life>, MapError> {
    let copies = Copies::read(ebpf)?;
    let mut lives: HashMap<FileId, Life> = HashMap::new();
    each(map(ebpf, "lives")?, |key: &FileKey, value: &wire::Life| {
        let Some(file) = file_id(&copies.original(*key)) else {
            return;
        };
        let life = lives.entry(file).or_default();
        life.before_bytes = life.before_bytes.saturating_add(value.before_bytes);
        life.dirtied_bytes = life.dirtied_bytes.saturating_add(value.others_bytes);
        life.is_mapped |= value.is_mapped != 0;
    })?;
    Ok(lives)
}

fn attachments(ebpf: &Ebpf) -> Result<BTreeMap<u32, u64>, MapError> {
    let mut attachments = BTreeMap::new();
    each(map(ebpf, "attachments")?, |disk: &u32, attachment: &u64| {
        attachments.insert(*disk, *attachment);
    })?;
    Ok(attachments)
}

/// Who used which device. `None` where the use by others is unknown or incomplete.
fn sharing(object: &Object) -> Result<Option<Sharing>, MapError> {
    let mut keys = Vec::new();
    each(map(&object.ebpf, "uses")?, |key: &UseKey, _: &u8| {
        keys.push(*key);
    })?;
    if object.told.is_empty() || keys.len() >= USES {
        return Ok(None);
    }
    let devices = |wanted: u32| {
        let used = keys.iter().filter(move |key| key.using == wanted);
        used.map(|key| key.device).collect()
    };
    Ok(Some(Sharing {
        told: object.told.clone(),
        tree_changed: devices(using::TREE_CHANGED),
        others_changed: devices(using::OTHERS_CHANGED),
        others_wrote: devices(using::OTHERS_WROTE),
    }))
}

/// `None` when a lost thread took its share along.
fn totals(ebpf: &Ebpf) -> Result<Option<CoreTotals>, MapError> {
    if known(ebpf)?.gone + alive(ebpf)? > 0 {
        return Ok(None);
    }
    let values = PerCpuArray::<_, Totals>::try_from(map(ebpf, "totals")?)?.get(&0, 0)?;
    let sum = |field: fn(&Totals) -> u64| values.iter().map(field).fold(0, u64::saturating_add);
    Ok(Some(CoreTotals {
        on_cpu_ns: sum(|v| v.on_cpu_ns),
        minor_faults: sum(|v| v.minor_faults),
        major_faults: sum(|v| v.major_faults),
        tasks: sum(|v| v.tasks),
        accounted_bytes: (sum(|v| v.unaccounted) == 0 && !machine::measures_files())
            .then(|| sum(|v| v.accounted_bytes)),
    }))
}

pub(super) fn lost(ebpf: &Ebpf, what: u32) -> Result<u64, MapError> {
    let values = PerCpuArray::<_, u64>::try_from(map(ebpf, "losses")?)?.get(&what, 0)?;
    Ok(values.iter().copied().fold(0, u64::saturating_add))
}

/// Empties everything a session fills.
pub(super) fn clear(ebpf: &mut Ebpf, last: &Config) -> Result<(), MapError> {
    clear_hash::<CallKey, CallValue>(ebpf, "calls")?;
    clear_hash::<CacheKey, CacheValue>(ebpf, "cache")?;
    clear_hash::<BlockKey, BlockValue>(ebpf, "block")?;
    clear_hash::<u64, Flight>(ebpf, "in_flight")?;
    if lost(ebpf, loss::CALLS)? > 0 {
        zero::<CallValue>(ebpf, "other_calls", NUMBERS, CallValue::new_zeroed())?;
    }
    zero::<Totals>(ebpf, "totals", 1, Totals::default())?;
    clear_hash::<FileKey, u8>(ebpf, "named")?;
    clear_hash::<FileKey, FileKey>(ebpf, "copies")?;
    clear_hash::<u64, Operation>(ebpf, "operations")?;
    clear_hash::<u64, [u64; 9]>(ebpf, "ring_touched")?;
    clear_hash::<SubmissionKey, Submission>(ebpf, "submissions")?;
    Array::<_, u64>::try_from(map_mut(ebpf, "shared_maps")?)?.set(0, 0, 0)?;
    clear_hash::<UseKey, u8>(ebpf, "uses")?;
    clear_hash::<FileKey, wire::Life>(ebpf, "lives")?;
    clear_hash::<u32, u64>(ebpf, "attachments")?;
    clear_hash::<u64, u32>(ebpf, "submitted")?;
    clear_hash::<ClaimKey, u64>(ebpf, "claims")?;
    clear_hash::<JoinedKey, Forbidden>(ebpf, "forbidden")?;
    moments::clear(ebpf, last.started_ns)?;
    Array::<_, u64>::try_from(map_mut(ebpf, "alive")?)?.set(0, 0, 0)?;
    zero::<u64>(ebpf, "losses", LOSSES, 0)
}

pub(super) fn map_mut<'a>(ebpf: &'a mut Ebpf, name: &str) -> Result<&'a mut Map, MapError> {
    ebpf.map_mut(name).ok_or_else(|| absent(name))
}

pub(super) fn clear_hash<K: Pod, V: Pod>(ebpf: &mut Ebpf, name: &str) -> Result<(), MapError> {
    let mut map = Table::<_, K, V>::try_from(map_mut(ebpf, name)?)?;
    let keys: Vec<K> = map.keys().collect::<Result<_, _>>()?;
    for key in keys {
        map.remove(&key)?;
    }
    Ok(())
}

fn zero<V: Pod>(ebpf: &mut Ebpf, name: &str, entries: usize, value: V) -> Result<(), MapError> {
    let cpus = aya::util::nr_cpus().map_err(|(_, error)| MapError::IoError(error))?;
    let mut map = PerCpuArray::<_, V>::try_from(map_mut(ebpf, name)?)?;
    for index in 0..u32::try_from(entries).unwrap_or(u32::MAX) {
        map.set(
            index,
            PerCpuValues::try_from(vec![value; cpus]).map_err(MapError::IoError)?,
            0,
        )?;
    }
    Ok(())
}

/// Gaps in the operation log that the kernel side knows of.
pub(super) fn log_gaps(object: &Object, raw: &RawEvidence) -> Vec<Gap> {
    let ebpf = &object.ebpf;
    let lost_here = |what| lost(ebpf, what).unwrap_or(0);
    let lost = &raw.losses;
    let of_calls =
        |stratum, _: &_| matches!(stratum, Stratum::Syscalls | Stratum::Tasks | Stratum::Ring);
    let counted = [
        (
            lost_here(loss::PAYLOAD),
            Countable::PayloadEvents,
            Reason::RecorderRingFull,
        ),
        (
            lost.history.saturating_add(lost.names),
            Countable::StepsOrNames,
            Reason::RecorderRingFull,
        ),
        (lost.tasks, Countable::Threads, Reason::ThreadMemoryFull),
        (
            lost.foreign_calls,
            Countable::ForeignCalls,
            Reason::ForeignNumbers,
        ),
        (
            object.skipped().events(of_calls),
            Countable::Calls,
            Reason::ProgramNotRun,
        ),
    ];
    let refused = object.missing.iter().filter(|gap| {
        matches!(
            gap.what,
            Missing::Stratum(Stratum::Syscalls | Stratum::Tasks | Stratum::Ring)
        )
    });
    counted
        .into_iter()
        .filter_map(|(count, of, why)| Gap::counted(count, of, why))
        .chain(refused.cloned())
        .chain(not_told(ebpf).unwrap_or_default())
        .chain(unrecorded(raw.syscalls.as_deref().unwrap_or_default()))
        .collect()
}

/// Copies in the upper layer of an overlay, and the files they are copies of (`bpf/overlay.h`).
#[derive(Debug, Default)]
pub(super) struct Copies {
    of: HashMap<FileKey, FileKey>,
}

impl Copies {
    pub(super) fn read(ebpf: &Ebpf) -> Result<Self, MapError> {
        let mut of = HashMap::new();
        each(map(ebpf, "copies")?, |copy: &FileKey, file: &FileKey| {
            of.insert(*copy, *file);
        })?;
        Ok(Self { of })
    }

    fn by_original(&self) -> HashMap<FileId, FileId> {
        let both = |(copy, file)| Some((file_id(file)?, file_id(copy)?));
        self.of.iter().filter_map(both).collect()
    }

    /// The file itself. While the kernel copies a file, nothing marks the new one as a copy yet.
    pub(super) fn original(&self, file: FileKey) -> FileKey {
        self.of.get(&file).copied().unwrap_or(file)
    }

    /// Sums of pages, with those of copies charged to their files.
    pub(super) fn joined(
        &self,
        sums: HashMap<(FileKey, bool), CacheValue>,
    ) -> HashMap<(FileKey, bool), CacheValue> {
        let mut joined: HashMap<(FileKey, bool), CacheValue> = HashMap::new();
        for ((file, metadata), value) in sums {
            let key = (self.original(file), metadata);
            joined.entry(key).or_default().add(&value);
        }
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(inode: u64) -> FileKey {
        FileKey {
            inode,
            device: 1,
            generation: 0,
        }
    }

    #[test]
    fn pages_of_a_copy_are_those_of_its_file() {
        let copies = Copies {
            of: HashMap::from([(file(9), file(4))]),
        };
        let pages = |dirtied_bytes| CacheValue {
            dirtied_bytes,
            ..CacheValue::default()
        };
        let sums = [(4, 1), (9, 2), (5, 4)].map(|(at, bytes)| ((file(at), false), pages(bytes)));
        let joined = copies.joined(sums.into());
        let expected = [(4, 3), (5, 4)].map(|(at, bytes)| ((file(at), false), pages(bytes)));
        assert_eq!(joined, expected.into());
    }
}
