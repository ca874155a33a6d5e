//! Reads all entries of a kernel-side table in batches: one by one, each entry takes two system
//! calls.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};

use aya::Pod;
use aya::maps::{Array, HashMap, Map, MapError};
use aya_obj::generated::bpf_cmd;
use zerocopy::FromZeros;

use super::syscall;

/// Entries in the first batch; doubled each time a bucket of the table has more.
const AT_ONCE: usize = 256;

/// The part `batch` of `bpf_attr`; supported by hash tables and arrays since Linux 5.6.
#[repr(C)]
#[derive(Default)]
struct Batch {
    from: u64,
    to: u64,
    keys: u64,
    values: u64,
    count: u32,
    table: u32,
    flags: [u64; 2],
}

/// Entries, of which the first `count` were read, and where the kernel goes on: the next bucket of a hash
/// table, the last index of an array.
struct Entries<K, V> {
    keys: Vec<K>,
    values: Vec<V>,
    count: usize,
    bucket: Option<u32>,
}

enum Batched {
    Some,
    Last,
    /// The next bucket has more entries than the batch has room for.
    NoRoom,
}

/// Passes each entry of a hash table to `take`. An entry that exists all the time is passed once:
/// the kernel goes from bucket to bucket.
pub(super) fn each<K, V>(map: &Map, take: impl FnMut(&K, &V)) -> Result<(), MapError>
where
    K: Pod + FromZeros,
    V: Pod + FromZeros,
{
    each_of(map, AT_ONCE, take)
}

fn each_of<K, V>(map: &Map, room: usize, mut take: impl FnMut(&K, &V)) -> Result<(), MapError>
where
    K: Pod + FromZeros,
    V: Pod + FromZeros,
{
    // Fails where the types differ in size from the table's.
    HashMap::<_, K, V>::try_from(map)?;
    let (Map::HashMap(table) | Map::LruHashMap(table)) = map else {
        return Err(MapError::IoError(io::ErrorKind::InvalidInput.into()));
    };
    let table = table.fd().as_fd().as_raw_fd();
    let mut entries = Entries::<K, V>::of(room, None);
    loop {
        let batched = entries.next(table).map_err(MapError::IoError)?;
        let found = entries.keys.iter().zip(&entries.values);
        found
            .take(entries.count)
            .for_each(|(key, value)| take(key, value));
        match batched {
            Batched::Some => {}
            Batched::Last => return Ok(()),
            Batched::NoRoom => {
                entries = Entries::of(entries.keys.len().saturating_mul(2), entries.bucket);
            }
        }
    }
}

/// Passes the first `count` entries of an array to `take`.
pub(super) fn first<V>(map: &Map, count: u32, mut take: impl FnMut(u32, &V)) -> Result<(), MapError>
where
    V: Pod + FromZeros,
{
    // Fails where the type differs in size from the array's.
    Array::<_, V>::try_from(map)?;
    let Map::Array(array) = map else {
        return Err(MapError::IoError(io::ErrorKind::InvalidInput.into()));
    };
    let array = array.fd().as_fd().as_raw_fd();
    let mut entries = Entries::<u32, V>::of(AT_ONCE, None);
    loop {
        let batched = entries.next(array).map_err(MapError::IoError)?;
        let found = entries.keys.iter().zip(&entries.values);
        for (index, value) in found.take(entries.count) {
            if *index >= count {
                return Ok(());
            }
            take(*index, value);
        }
        if matches!(batched, Batched::Last) {
            return Ok(());
        }
    }
}

/// Removes entries that nobody else removes.
pub(super) fn remove<K: Pod>(map: &Map, keys: &[K]) -> Result<(), MapError> {
    let (Map::HashMap(table) | Map::LruHashMap(table)) = map else {
        return Err(MapError::IoError(io::ErrorKind::InvalidInput.into()));
    };
    let table = table.fd().as_fd().as_raw_fd();
    let mut rest = keys;
    while !rest.is_empty() {
        let mut batch = Batch {
            keys: rest.as_ptr().expose_provenance() as u64,
            count: u32::try_from(rest.len()).unwrap_or(u32::MAX),
            table: u32::try_from(table).unwrap_or(0),
            ..Batch::default()
        };
        let done = syscall::bpf(bpf_cmd::BPF_MAP_DELETE_BATCH, &mut batch);
        // The kernel sets how many it has removed, whatever it returns (`generic_map_delete_batch`,
        // kernel/bpf/syscall.c).
        rest = rest.get(batch.count as usize..).unwrap_or_default();
        if let Err(error) = done
            && error.raw_os_error() != Some(libc::EBUSY)
        {
            return Err(MapError::IoError(error));
        }
        // Busy: this CPU holds the bucket's lock, for a moment. The rest is removed in the next turn.
    }
    Ok(())
}

impl<K: Pod + FromZeros, V: Pod + FromZeros> Entries<K, V> {
    fn of(room: usize, bucket: Option<u32>) -> Self {
        Self {
            keys: vec![K::new_zeroed(); room],
            values: vec![V::new_zeroed(); room],
            count: 0,
            bucket,
        }
    }

    /// The kernel sets the number of entries written and the position of the next batch, whatever
    /// it returns (`__htab_map_lookup_and_delete_batch`, kernel/bpf/hashtab.c).
    fn next(&mut self, table: i32) -> io::Result<Batched> {
        let (from, mut to) = (self.bucket.as_ref(), 0_u32);
        let mut batch = Batch {
            from: from.map_or(0, |from| (&raw const *from).expose_provenance() as u64),
            to: (&raw mut to).expose_provenance() as u64,
            keys: self.keys.as_mut_ptr().expose_provenance() as u64,
            values: self.values.as_mut_ptr().expose_provenance() as u64,
            count: u32::try_from(self.keys.len()).unwrap_or(u32::MAX),
            table: u32::try_from(table).unwrap_or(0),
            ..Batch::default()
        };
        let done = syscall::bpf(bpf_cmd::BPF_MAP_LOOKUP_BATCH, &mut batch);
        let batched = match done.map_err(|error| (error.raw_os_error(), error)) {
            // This CPU holds the next bucket's lock (`htab_lock_bucket`): try again.
            Ok(_) | Err((Some(libc::EBUSY), _)) => Batched::Some,
            Err((Some(libc::ENOENT), _)) => Batched::Last,
            Err((Some(libc::ENOSPC), _)) => Batched::NoRoom,
            Err((_, error)) => return Err(error),
        };
        self.count = batch.count as usize;
        self.bucket = Some(to);
        Ok(batched)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use aya::maps::MapData;
    use aya_obj::generated::bpf_map_type;

    use super::*;

    fn table() -> Map {
        made(bpf_map_type::BPF_MAP_TYPE_HASH, 8)
    }

    fn made(kind: bpf_map_type, key_bytes: u32) -> Map {
        let map = aya_obj::Map::new_from_params(kind as u32, key_bytes, 4, 1000, 0);
        Map::from_map_data(MapData::create(map, "made", None).unwrap()).unwrap()
    }

    #[test]
    fn the_first_entries_of_an_array_are_given_in_order() {
        let mut map = made(bpf_map_type::BPF_MAP_TYPE_ARRAY, 4);
        let mut array = Array::<_, u32>::try_from(&mut map).unwrap();
        for index in 0..1000 {
            array.set(index, index * index, 0).unwrap();
        }
        for count in [0, 1, 255, 256, 257, 999, 1000, 1001] {
            let mut found = Vec::new();
            first(&map, count, |index, value: &u32| {
                found.push((index, *value));
            })
            .unwrap();
            let expected = (0..count.min(1000)).map(|index| (index, index * index));
            assert!(found.into_iter().eq(expected), "{count}");
        }
        assert!(first(&map, 1, |_, _: &u64| ()).is_err());
        assert!(first(&table(), 1, |_, _: &u32| ()).is_err());
    }

    /// Room for one entry is not enough for buckets with several.
    #[test]
    fn every_entry_is_given_once_whatever_the_room() {
        let mut map = table();
        let expected: BTreeMap<u64, u32> =
            (0..1000).map(|key| (u64::from(key * key), key)).collect();
        let mut entries = HashMap::<_, u64, u32>::try_from(&mut map).unwrap();
        for (key, value) in &expected {
            entries.insert(key, value, 0).unwrap();
        }
        for room in [1, 2, 999, 1000, 1001] {
            let mut found = Vec::new();
            each_of(&map, room, |key: &u64, value: &u32| {
                found.push((*key, *value));
            })
            .unwrap();
            found.sort_unstable();
            assert!(found.into_iter().eq(expected.clone()), "{room}");
        }
    }

    #[test]
    fn what_is_removed_is_gone_and_the_rest_is_not() {
        let mut map = table();
        let mut entries = HashMap::<_, u64, u32>::try_from(&mut map).unwrap();
        for key in 0..1000 {
            entries.insert(key, 7, 0).unwrap();
        }
        let gone: Vec<u64> = (0..1000).filter(|key| key % 3 > 0).collect();
        remove(&map, &gone).unwrap();
        remove::<u64>(&map, &[]).unwrap();
        let mut left = Vec::new();
        each(&map, |key: &u64, _: &u32| left.push(*key)).unwrap();
        left.sort_unstable();
        assert!(left.into_iter().eq((0..1000).filter(|key| key % 3 == 0)));
        assert!(remove(&map, &gone).is_err(), "they are gone");
    }

    #[test]
    fn a_table_without_entries_has_none() {
        each(&table(), |key: &u64, _: &u32| panic!("{key}")).unwrap();
    }

    #[test]
    fn other_sizes_are_refused() {
        assert!(each(&table(), |_: &u32, _: &u32| ()).is_err());
        assert!(each(&table(), |_: &u64, _: &u64| ()).is_err());
    }
}
