//! Disks, whose requests are the file system's as far as they name no file, and who waited for them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::assemble::{Pairs, text};
use super::commits::awaited;
use super::{CallFigures, Causes, Counted, Device, FileSystem, RequestFigures, SyncWait};
use crate::evidence::Cause;
use crate::op::FileId;

/// Processes that a sync names.
const MOST_BESIDE: usize = 20;

pub(super) fn number(device: u32) -> String {
    let (major, minor) = FileId::device_numbers(device);
    format!("{major}:{minor}")
}

pub(super) fn disk_name(counted: &Counted, disk: u32) -> String {
    let known = counted.disks.get(&disk);
    let name = known.and_then(|disk| disk.name.clone());
    name.unwrap_or_else(|| number(disk))
}

/// By the number of the disk.
pub(super) fn devices(counted: &Counted) -> BTreeMap<u32, Device> {
    let mut by: BTreeMap<u32, Causes> = BTreeMap::new();
    for row in &counted.requests {
        let causes = by.entry(row.disk).or_default();
        causes.add(row.cause, row.sum);
    }
    let device = |(disk, requests): (u32, Causes)| {
        let known = counted.disks.get(&disk);
        let filesystems = known.into_iter().flat_map(|disk| &disk.filesystems);
        let filesystems = filesystems.map(|(kind, point)| FileSystem {
            kind: kind.clone(),
            mounted_on: text(point),
        });
        let device = Device {
            name: disk_name(counted, disk),
            filesystems: filesystems.collect(),
            requests,
        };
        (disk, device)
    };
    by.into_iter().map(device).collect()
}

pub(super) fn syncs(
    counted: &Counted,
    pairs: &Pairs,
    devices: &BTreeMap<u32, Device>,
) -> Vec<SyncWait> {
    let changing = changing(counted);
    let mut by: BTreeMap<(u32, Option<FileId>), [CallFigures; 2]> = BTreeMap::new();
    let shares = counted.shares.iter();
    for share in
        shares.filter(|share| share.calls.syncs.stats.count + share.synchronous.stats.count > 0)
    {
        let [syncs, writes] = by.entry((share.process, share.file)).or_default();
        *syncs += share.calls.syncs;
        *writes += share.synchronous;
    }
    let row = |((pid, file), [syncs, synchronous_writes]): ((u32, Option<FileId>), [_; 2])| {
        let named = file.and_then(|file| counted.names.get(&file));
        let disk = file.and_then(|file| pairs.disk(file, counted));
        let of_disk = |cause| {
            let device = disk.and_then(|disk| devices.get(&disk));
            let seen = disk.is_some() && counted.strata.device;
            let none = RequestFigures::default();
            seen.then(|| device.map_or(none, |device| device.requests.of(cause)))
        };
        let same = file.and_then(|file| changing.get(&file.device));
        let others = same.into_iter().flatten().filter(|other| **other != pid);
        let beside = others.clone().count() as u64;
        let beside_pids = others.take(MOST_BESIDE).copied().collect();
        let actor = counted.actors.get(&pid);
        SyncWait {
            pid,
            name: actor.and_then(|actor| actor.name.clone()),
            path: named.map(|named| text(&named.path)),
            syncs,
            synchronous_writes: Some(synchronous_writes),
            disk: disk.map(|disk| disk_name(counted, disk)),
            commits: of_disk(Cause::Commit),
            flushes: of_disk(Cause::Flush),
            commit: named
                .filter(|named| counted.commits.are_seen && named.filesystem == "ext4")
                .map(|_| awaited(&counted.commits, pid, file)),
            beside,
            beside_pids,
        }
    };
    let mut rows: Vec<SyncWait> = by.into_iter().map(row).collect();
    rows.sort_by(|one, other| other.time_s().total_cmp(&one.time_s()));
    rows
}

/// Who wrote to or synced files of which file system.
fn changing(counted: &Counted) -> HashMap<u32, BTreeSet<u32>> {
    let mut by: HashMap<u32, BTreeSet<u32>> = HashMap::new();
    for share in &counted.shares {
        let changes = share.calls.writes.stats.count + share.calls.syncs.stats.count > 0
            || share.pages.dirtied_bytes > 0;
        if let Some(file) = share.file.filter(|_| changes) {
            by.entry(file.device).or_default().insert(share.process);
        }
    }
    by
}
