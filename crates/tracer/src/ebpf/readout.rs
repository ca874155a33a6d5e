//! Reading and clearing the kernel-side tables.

use aya::maps::{HashMap, Map, MapError, PerCpuArray, PerCpuHashMap, PerCpuValues};
use aya::{Ebpf, Pod};
use iostrata_core::evidence::{
    BlockRow, CacheRow, Losses, RawEvidence, SyscallRow, Totals as CoreTotals,
};
use iostrata_core::op::Gap;

use super::calls;
use super::object::{Object, Stratum, absent};
use super::stream::{cause, file_id, phase};
use super::wire::{
    BlockKey, BlockValue, CacheKey, CacheValue, CallKey, CallValue, HISTOGRAM_BUCKETS, SYSCALLS,
    Totals, loss,
};

/// All rows of the session.
pub(super) fn read(object: &Object) -> Result<RawEvidence, MapError> {
    let seen = |stratum| object.seen.contains(&stratum);
    let ebpf = &object.ebpf;
    let mut missing = object.missing.clone();
    let compat = lost(ebpf, loss::COMPAT)?;
    if compat > 0 {
        missing.push(Gap::new(
            format!("{compat} system calls of 32-bit programs"),
            "their numbers mean other calls; they are not decoded",
        ));
    }
    Ok(RawEvidence {
        syscalls: seen(Stratum::Syscalls)
            .then(|| call_rows(ebpf))
            .transpose()?,
        cache: seen(Stratum::PageCache)
            .then(|| cache_rows(ebpf))
            .transpose()?,
        block: requests(object)?,
        totals: Some(totals(ebpf)?),
        blocked_seen: seen(Stratum::Blocked),
        losses: Losses {
            unattributed_calls: lost(ebpf, loss::CALLS)?,
            cache: lost(ebpf, loss::CACHE)?,
            block: lost(ebpf, loss::BLOCK)?,
            stream: lost(ebpf, loss::STREAM)?,
            tasks: lost(ebpf, loss::TASKS)?,
            skipped: 0,
        },
        missing,
    })
}

/// The device requests of the session as counted now.
pub(super) fn requests(object: &Object) -> Result<Option<Vec<BlockRow>>, MapError> {
    let seen = object.seen.contains(&Stratum::Device);
    seen.then(|| block_rows(&object.ebpf)).transpose()
}

fn map<'a>(ebpf: &'a Ebpf, name: &str) -> Result<&'a Map, MapError> {
    ebpf.map(name).ok_or_else(|| absent(name))
}

fn call_rows(ebpf: &Ebpf) -> Result<Vec<SyscallRow>, MapError> {
    let mut rows = Vec::new();
    let table = PerCpuHashMap::<_, CallKey, CallValue>::try_from(map(ebpf, "calls")?)?;
    for entry in &table {
        let (key, values) = entry?;
        rows.push(call_row(key.nr, Some(&key), &values));
    }
    let other = PerCpuArray::<_, CallValue>::try_from(map(ebpf, "other_calls")?)?;
    if lost(ebpf, loss::CALLS)? > 0 {
        for nr in 0..other.len() {
            let row = call_row(nr, None, &other.get(&nr, 0)?);
            if row.count > 0 {
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

fn call_row(nr: u32, key: Option<&CallKey>, values: &PerCpuValues<CallValue>) -> SyscallRow {
    let sum = |field: fn(&CallValue) -> u64| values.iter().map(field).sum();
    let bucket = |i: usize| {
        values
            .iter()
            .map(|value| u64::from(value.histogram[i]))
            .sum()
    };
    SyscallRow {
        name: calls::name(nr),
        file: key.and_then(|key| file_id(&key.file)),
        count: sum(|v| v.count),
        errors: sum(|v| v.errors),
        returned: sum(|v| v.returned),
        time_ns: sum(|v| v.time_ns),
        blocked_ns: sum(|v| v.blocked_ns),
        histogram: (0..HISTOGRAM_BUCKETS).map(bucket).collect(),
    }
}

fn cache_rows(ebpf: &Ebpf) -> Result<Vec<CacheRow>, MapError> {
    let mut rows = Vec::new();
    let table = PerCpuHashMap::<_, CacheKey, CacheValue>::try_from(map(ebpf, "cache")?)?;
    for entry in &table {
        let (key, values) = entry?;
        let sum = |field: fn(&CacheValue) -> u64| values.iter().map(field).sum();
        let Some(file) = file_id(&key.file) else {
            continue;
        };
        rows.push(CacheRow {
            file,
            metadata: key.metadata != 0,
            lookups_pages: sum(|v| v.lookups_pages),
            missed_pages: sum(|v| v.missed_pages),
            filled_pages: sum(|v| v.filled_pages),
            dirtied_bytes: sum(|v| v.dirtied_bytes),
        });
    }
    Ok(rows)
}

fn block_rows(ebpf: &Ebpf) -> Result<Vec<BlockRow>, MapError> {
    let mut rows = Vec::new();
    let table = PerCpuHashMap::<_, BlockKey, BlockValue>::try_from(map(ebpf, "block")?)?;
    for entry in &table {
        let (key, values) = entry?;
        let sum = |field: fn(&BlockValue) -> u64| values.iter().map(field).sum();
        rows.push(BlockRow {
            disk: key.disk,
            phase: phase(key.phase),
            cause: cause(key.cause),
            file: file_id(&key.file),
            submitted_by_tree: key.by_tree != 0,
            count: sum(|v| v.count),
            bytes: sum(|v| v.bytes),
            time_ns: sum(|v| v.time_ns),
        });
    }
    Ok(rows)
}

fn totals(ebpf: &Ebpf) -> Result<CoreTotals, MapError> {
    let values = PerCpuArray::<_, Totals>::try_from(map(ebpf, "totals")?)?.get(&0, 0)?;
    let sum = |field: fn(&Totals) -> u64| values.iter().map(field).sum();
    Ok(CoreTotals {
        on_cpu_ns: sum(|v| v.on_cpu_ns),
        minor_faults: sum(|v| v.minor_faults),
        major_faults: sum(|v| v.major_faults),
        tasks: sum(|v| v.tasks),
    })
}

fn lost(ebpf: &Ebpf, what: u32) -> Result<u64, MapError> {
    let values = PerCpuArray::<_, u64>::try_from(map(ebpf, "losses")?)?.get(&what, 0)?;
    Ok(values.iter().sum())
}

/// Empties everything a session fills.
pub(super) fn clear(ebpf: &mut Ebpf) -> Result<(), MapError> {
    clear_hash::<CallKey, CallValue>(ebpf, "calls")?;
    clear_hash::<CacheKey, CacheValue>(ebpf, "cache")?;
    clear_hash::<BlockKey, BlockValue>(ebpf, "block")?;
    let mut flights = HashMap::<_, u64, [u64; 10]>::try_from(map_mut(ebpf, "in_flight")?)?;
    let keys: Vec<u64> = flights.keys().collect::<Result<_, _>>()?;
    for key in keys {
        flights.remove(&key)?;
    }
    if lost(ebpf, loss::CALLS)? > 0 {
        zero::<CallValue>(ebpf, "other_calls", SYSCALLS, CallValue::ZERO)?;
    }
    zero::<Totals>(ebpf, "totals", 1, Totals::default())?;
    zero::<u64>(ebpf, "losses", loss::COMPAT as usize + 1, 0)
}

fn map_mut<'a>(ebpf: &'a mut Ebpf, name: &str) -> Result<&'a mut Map, MapError> {
    ebpf.map_mut(name).ok_or_else(|| absent(name))
}

fn clear_hash<K: Pod, V: Pod>(ebpf: &mut Ebpf, name: &str) -> Result<(), MapError> {
    let mut map = PerCpuHashMap::<_, K, V>::try_from(map_mut(ebpf, name)?)?;
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
