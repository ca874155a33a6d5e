//! Which requests without a file belong to the run: journal, commits, metadata, flushes.
//!
//! A journal commits for all who changed something, and a device flush serves all at once. So such
//! a request certainly belongs to the run only when one of its tasks submitted it, or when no other
//! program used the disk. A run without changes left nothing to commit.

use std::collections::{BTreeMap, BTreeSet};

use super::{Seen, is_sync};
use crate::evidence::{BlockRow, Cause, Claim, RawEvidence, Sharing};
use crate::ledger::{Owner, owner};

/// The storage that a run used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Storage {
    /// Disks (kernel `dev_t`) under each file system (`s_dev`) that contains a file of the run. One
    /// that is not listed has no known disk.
    pub disks: BTreeMap<u32, Vec<u32>>,
    /// File systems (`s_dev`), with their types, whose requests to a device are not seen.
    pub unseen: BTreeMap<u32, String>,
    /// Other disks that the run sent requests to.
    pub requested: BTreeSet<u32>,
    /// The same for file systems that any program changed meanwhile.
    pub changed: BTreeMap<u32, Vec<u32>>,
    /// Types of the file systems of the run on each disk.
    pub kinds: BTreeMap<u32, BTreeSet<String>>,
    /// Disks below another disk of the run, such as the disk that holds a loop device's image:
    /// requests to the upper one are repeated there.
    pub below: BTreeSet<u32>,
}

impl Storage {
    pub(super) fn all_disks(&self) -> Vec<u32> {
        let mounted = self.disks.values().flatten();
        let disks: BTreeSet<u32> = mounted.chain(&self.requested).copied().collect();
        disks.into_iter().collect()
    }

    fn file_systems(&self, disk: u32) -> BTreeSet<u32> {
        let all = self.disks.iter().chain(&self.changed);
        let on_it = all.filter(|(_, disks)| disks.contains(&disk));
        on_it.map(|(device, _)| *device).collect()
    }
}

/// The run's claim to requests without a file, by disk.
pub(super) struct Claims {
    by_disk: BTreeMap<u32, Claim>,
    /// Disks without a file system.
    bare: BTreeSet<u32>,
}

impl Claims {
    pub(super) fn new(raw: &RawEvidence, seen: &Seen, storage: &Storage) -> Self {
        let disks = storage.all_disks();
        let claim = |disk: &u32| (*disk, claim(raw, seen, storage, *disk));
        Self {
            by_disk: disks.iter().map(claim).collect(),
            bare: disks
                .iter()
                .copied()
                .filter(|disk| storage.file_systems(*disk).is_empty())
                .collect(),
        }
    }

    pub(super) fn of(&self, disk: u32, cause: Cause) -> Claim {
        match cause {
            // A read is that of the task that submits it.
            Cause::Read => Claim::None,
            // A worker of the kernel writes a device's own pages back, which any program may have dirtied.
            Cause::Metadata if self.bare.contains(&disk) => Claim::Some,
            _ => self.by_disk.get(&disk).copied().unwrap_or(Claim::Some),
        }
    }
}

fn claim(raw: &RawEvidence, seen: &Seen, storage: &Storage, disk: u32) -> Claim {
    let systems = storage.file_systems(disk);
    if systems.is_empty() && !storage.below.contains(&disk) {
        let sharing = raw.sharing.as_ref();
        let is_alone = sharing.is_some_and(|sharing| !sharing.others_wrote.contains(&disk));
        return if is_alone { Claim::All } else { Claim::Some };
    }
    let by_rows = changed_by_rows(raw, seen, &systems);
    let is_below = storage.below.contains(&disk);
    let Some(sharing) = told(raw, storage, disk) else {
        // The disk below repeats the requests of the disk above, even if others use it.
        return if is_below && !by_rows {
            Claim::None
        } else {
            Claim::Some
        };
    };
    let touched = systems
        .iter()
        .any(|device| sharing.tree_changed.contains(device));
    // Reading a file may change its access time. Below a loop device that is no reason to count its
    // requests twice.
    if !by_rows && (is_below || !touched) {
        Claim::None
    } else if used_by_others(raw, storage, sharing, disk) {
        Claim::Some
    } else {
        Claim::All
    }
}

/// Who used the disk, if every change of its file systems is observed.
fn told<'a>(raw: &'a RawEvidence, storage: &Storage, disk: u32) -> Option<&'a Sharing> {
    let kinds = storage.kinds.get(&disk)?;
    let sharing = raw.sharing.as_ref()?;
    let is_told = |kind: &String| sharing.told.contains(&kind.as_str());
    kinds.iter().all(is_told).then_some(sharing)
}

/// Whether the run dirtied pages, synced, wrote, created or removed files there.
fn changed_by_rows(raw: &RawEvidence, seen: &Seen, systems: &BTreeSet<u32>) -> bool {
    let dirtied = raw.cache.iter().flatten().any(|row| {
        // The pages of a disk itself belong to no file system.
        row.dirtied_bytes > 0 && (row.metadata || systems.contains(&row.file.device))
    });
    let called = raw.syscalls.iter().flatten().any(|row| {
        let writes = super::direction(row.name) == Some(super::Direction::Write);
        let on_it = row.file.map(|file| systems.contains(&file.device));
        let changes = is_sync(row.name) || (writes && row.returned > 0 && !row.is_source);
        changes && on_it.unwrap_or(row.name == "sync")
    });
    let renamed = seen.followed.files.iter().any(|(file, history)| {
        systems.contains(&file.device) && (history.created || history.unlinked)
    });
    dirtied || called || renamed
}

fn used_by_others(raw: &RawEvidence, storage: &Storage, sharing: &Sharing, disk: u32) -> bool {
    let is_others = |row: &&BlockRow| {
        row.disk == disk && row.cause != Cause::Read && owner(row) == Owner::Others
    };
    let mut systems = storage.file_systems(disk).into_iter();
    sharing.others_wrote.contains(&disk)
        || systems.any(|device| sharing.others_changed.contains(&device))
        || raw.block.iter().flatten().any(|row| is_others(&row))
}

#[cfg(test)]
mod tests;
