//! Directories in which names were changed.

use std::collections::BTreeMap;

use super::names::Path;
use super::pending::{Change, Pending};
use crate::trace::DirectoryRow;

/// Directories that are kept apart; of the others the changes are counted.
const ROOM: usize = 8192;

/// What happened to a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameChange {
    /// Made: a file, a directory, a link.
    Made,
    /// Renamed into or out of it.
    Renamed,
    /// Removed.
    Removed,
}

#[derive(Debug, Default)]
struct Directory {
    row: DirectoryRow,
    pending: Pending,
    /// File system of a file in it.
    device: Option<u32>,
    /// When its latest sync that succeeded began, nanoseconds; 0 for none.
    covered_ns: u64,
}

/// All directories with changes or syncs.
#[derive(Debug, Default)]
pub(super) struct Directories {
    directories: BTreeMap<Path, Directory>,
    /// Changes in directories that found no room.
    pub(super) left_out: u64,
}

impl Directories {
    fn get(&mut self, path: &[u8]) -> Option<&mut Directory> {
        if !self.directories.contains_key(path) {
            if self.directories.len() >= ROOM {
                self.left_out += 1;
                return None;
            }
            self.directories.insert(path.into(), Directory::default());
        }
        self.directories.get_mut(path)
    }

    /// A name in `path` was changed from `started_ns` to `ended_ns`.
    pub(super) fn change(
        &mut self,
        path: &[u8],
        change: NameChange,
        device: Option<u32>,
        (started_ns, ended_ns): (u64, u64),
    ) {
        let Some(directory) = self.get(path) else {
            return;
        };
        match change {
            NameChange::Made => directory.row.made += 1,
            NameChange::Renamed => directory.row.renamed += 1,
            NameChange::Removed => directory.row.removed += 1,
        }
        directory.device = directory.device.or(device);
        if ended_ns > directory.covered_ns {
            directory.pending.add(Change {
                started_ns,
                ended_ns,
                amount: 1,
            });
        }
    }

    /// A directory was synced; the call began at `started_ns` and succeeded.
    pub(super) fn synced(&mut self, path: &[u8], started_ns: u64) {
        if let Some(directory) = self.get(path) {
            directory.row.syncs += 1;
            directory.covered_ns = directory.covered_ns.max(started_ns);
            directory.pending.cover(directory.covered_ns);
        }
    }

    /// A file whose contents were not durable replaced another one by a rename.
    pub(super) fn renamed_unsynced(&mut self, path: &[u8], times: u64) {
        if let Some(directory) = self.directories.get_mut(path) {
            directory.row.renamed_unsynced += times;
        }
    }

    /// When the latest sync of a directory that succeeded began, nanoseconds; 0 for none.
    pub(super) fn covered_ns(&self, path: &[u8]) -> u64 {
        self.directories
            .get(path)
            .map_or(0, |directory| directory.covered_ns)
    }

    /// The rows; `whole_ns` gives the start of the latest sync of a whole file system.
    pub(super) fn finish(self, whole_ns: impl Fn(Option<u32>) -> u64) -> Vec<DirectoryRow> {
        let mut rows = Vec::with_capacity(self.directories.len());
        for (path, mut directory) in self.directories {
            directory.pending.cover(whole_ns(directory.device));
            rows.push(DirectoryRow {
                path: String::from_utf8_lossy(&path).into_owned(),
                unsynced_names: directory.pending.amount(),
                ..directory.row
            });
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_covers_the_names_before_it() {
        let mut directories = Directories::default();
        directories.change(b"/d", NameChange::Made, Some(1), (0, 10));
        directories.change(b"/d", NameChange::Renamed, None, (20, 30));
        directories.synced(b"/d", 25);
        directories.change(b"/d", NameChange::Removed, None, (40, 50));
        assert_eq!(directories.covered_ns(b"/d"), 25);
        let rows = directories.finish(|_| 0);
        let expected = DirectoryRow {
            path: "/d".to_owned(),
            made: 1,
            renamed: 1,
            renamed_unsynced: 0,
            removed: 1,
            syncs: 1,
            unsynced_names: 2,
        };
        assert_eq!(rows, [expected]);
    }

    #[test]
    fn a_sync_of_the_file_system_covers_its_directories_only() {
        let mut directories = Directories::default();
        directories.change(b"/here", NameChange::Made, Some(1), (0, 10));
        directories.change(b"/there", NameChange::Made, Some(2), (0, 10));
        let rows = directories.finish(|device| if device == Some(1) { 10 } else { 0 });
        let unsynced: Vec<u64> = rows.iter().map(|row| row.unsynced_names).collect();
        assert_eq!(unsynced, [0, 1]);
    }

    #[test]
    fn directories_without_room_are_counted() {
        let mut directories = Directories::default();
        for number in 0..ROOM + 3 {
            let path = format!("/{number}");
            directories.change(path.as_bytes(), NameChange::Made, None, (0, 1));
        }
        assert_eq!(directories.left_out, 3);
        assert_eq!(directories.finish(|_| 0).len(), ROOM);
    }
}
