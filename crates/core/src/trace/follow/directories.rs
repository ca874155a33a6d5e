//! Directories whose names changed.

use std::collections::BTreeMap;

use super::Span;
use super::names::{Path, Rename, moved, parent};
use super::pending::Pending;
use crate::trace::DirectoryRow;

/// Maximum number of separate directories; changes in others are counted.
const ROOM: usize = 8192;

#[derive(Debug, Default)]
struct Directory {
    row: DirectoryRow,
    pending: Pending,
    /// File system of a file in it.
    device: Option<u32>,
    /// Start of its latest successful sync, nanoseconds; 0 for none.
    covered_ns: u64,
    /// The process of the run that created it, and when.
    made_by: Option<(u32, u64)>,
}

impl Directory {
    fn has_changed(&self) -> bool {
        let row = &self.row;
        row.made + row.renamed + row.removed + row.syncs > 0
    }
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

    /// A name in `path` changed, which `count` counts.
    pub(super) fn change(
        &mut self,
        path: &[u8],
        count: impl FnOnce(&mut DirectoryRow) -> &mut u64,
        device: Option<u32>,
        span: Span,
    ) {
        let Some(directory) = self.get(path) else {
            return;
        };
        *count(&mut directory.row) += 1;
        directory.device = directory.device.or(device);
        if span.ended_ns > directory.covered_ns {
            directory.pending.add(span, 1);
        }
    }

    /// A process created a directory; the call ended at `ended_ns`.
    pub(super) fn made(&mut self, path: &[u8], process: u32, ended_ns: u64) {
        if let Some(directory) = self.get(path) {
            directory.made_by = Some((process, ended_ns));
        }
    }

    pub(super) fn removed(&mut self, path: &[u8]) {
        if let Some(directory) = self.directories.get_mut(path) {
            directory.made_by = None;
        }
    }

    /// Whether the run created it: nothing in it is older than the run.
    pub(super) fn is_own(&self, path: &[u8]) -> bool {
        self.directories
            .get(path)
            .is_some_and(|directory| directory.made_by.is_some())
    }

    /// A directory got another name, or two exchanged theirs, which changes all paths below.
    pub(super) fn moved(&mut self, renames: &[Rename<'_>]) {
        let mut moving = Vec::new();
        for Rename { from, to } in renames {
            for (old, new) in moved(&self.directories, from, to) {
                moving.extend(self.directories.remove(&old).map(|row| (new, row)));
            }
        }
        self.directories.extend(moving);
    }

    /// A successful sync of a directory; the call began at `started_ns`.
    pub(super) fn synced(&mut self, path: &[u8], started_ns: u64) {
        if let Some(directory) = self.get(path) {
            directory.row.syncs += 1;
            directory.covered_ns = directory.covered_ns.max(started_ns);
            directory.pending.cover(directory.covered_ns);
        }
    }

    /// A rename replaced a file by one whose contents were not durable.
    pub(super) fn renamed_unsynced(&mut self, path: &[u8], times: u64) {
        if let Some(directory) = self.directories.get_mut(path) {
            directory.row.renamed_unsynced += times;
        }
    }

    /// Start of the latest successful sync of a directory, nanoseconds; 0 for none.
    pub(super) fn covered_ns(&self, path: &[u8]) -> u64 {
        self.directories
            .get(path)
            .map_or(0, |directory| directory.covered_ns)
    }

    /// The rows; `whole_ns` returns the start of the latest sync of a whole file system,
    /// `reported_ns` the end of a process's latest report.
    pub(super) fn finish(
        mut self,
        whole_ns: impl Fn(Option<u32>) -> u64,
        reported_ns: impl Fn(u32) -> u64,
    ) -> Vec<DirectoryRow> {
        for path in self.empty_and_reported(reported_ns) {
            if let Some(parent) = self.directories.get_mut(parent(&path)) {
                parent.row.unsynced_directory = Some(String::from_utf8_lossy(&path).into_owned());
            }
        }
        let mut rows = Vec::with_capacity(self.directories.len());
        for (path, mut directory) in self.directories {
            if !directory.has_changed() {
                continue;
            }
            directory.pending.cover(whole_ns(directory.device));
            let unsynced_names = directory.pending.amount();
            let unsynced_directory = directory.row.unsynced_directory.take();
            rows.push(DirectoryRow {
                path: String::from_utf8_lossy(&path).into_owned(),
                unsynced_names,
                unsynced_directory: unsynced_directory.filter(|_| unsynced_names > 0),
                ..directory.row
            });
        }
        rows
    }

    /// Directories that the run created and left empty, whose creator later reported something, and
    /// whose parent was not synced since.
    fn empty_and_reported(&self, reported_ns: impl Fn(u32) -> u64) -> Vec<Path> {
        let is_lost = |path: &Path, directory: &Directory| {
            directory.made_by.is_some_and(|(process, ended_ns)| {
                !directory.has_changed()
                    && reported_ns(process) > ended_ns
                    && self.covered_ns(parent(path)) < ended_ns
            })
        };
        self.directories
            .iter()
            .filter(|(path, directory)| is_lost(path, directory))
            .map(|(path, _)| Path::clone(path))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::fixture::span;

    #[test]
    fn a_sync_covers_the_names_before_it() {
        let mut directories = Directories::default();
        directories.change(b"/d", |row| &mut row.made, Some(1), span(0, 10));
        directories.change(b"/d", |row| &mut row.renamed, None, span(20, 30));
        directories.synced(b"/d", 25);
        directories.change(b"/d", |row| &mut row.removed, None, span(40, 50));
        assert_eq!(directories.covered_ns(b"/d"), 25);
        let rows = directories.finish(|_| 0, |_| 0);
        let expected = DirectoryRow {
            path: "/d".to_owned(),
            made: 1,
            renamed: 1,
            renamed_unsynced: 0,
            removed: 1,
            syncs: 1,
            unsynced_names: 2,
            unsynced_directory: None,
        };
        assert_eq!(rows, [expected]);
    }

    #[test]
    fn a_sync_of_the_file_system_covers_its_directories_only() {
        let mut directories = Directories::default();
        directories.change(b"/here", |row| &mut row.made, Some(1), span(0, 10));
        directories.change(b"/there", |row| &mut row.made, Some(2), span(0, 10));
        let rows = directories.finish(|device| if device == Some(1) { 10 } else { 0 }, |_| 0);
        let unsynced: Vec<u64> = rows.iter().map(|row| row.unsynced_names).collect();
        assert_eq!(unsynced, [0, 1]);
    }

    #[test]
    fn directories_without_room_are_counted() {
        let mut directories = Directories::default();
        for number in 0..ROOM + 3 {
            let path = format!("/{number}");
            directories.change(path.as_bytes(), |row| &mut row.made, None, span(0, 1));
        }
        assert_eq!(directories.left_out, 3);
        assert_eq!(directories.finish(|_| 0, |_| 0).len(), ROOM);
    }

    #[test]
    fn an_empty_directory_that_was_reported_is_named_unless_its_parent_was_synced() {
        let told = |synced: bool, reported_ns: u64| {
            let mut directories = Directories::default();
            directories.change(b"/d", |row| &mut row.made, Some(1), span(0, 10));
            directories.made(b"/d/done", 7, 10);
            if synced {
                directories.synced(b"/d", 20);
            }
            let rows = directories.finish(|_| 0, |process| u64::from(process == 7) * reported_ns);
            assert_eq!(rows.len(), 1, "in the new one nothing has changed");
            rows[0].unsynced_directory.clone()
        };
        assert_eq!(told(false, 30).as_deref(), Some("/d/done"));
        assert_eq!(told(false, 5), None);
        assert_eq!(told(true, 30), None);
    }

    #[test]
    fn what_is_known_of_directories_moves_with_them() {
        let mut directories = Directories::default();
        directories.made(b"/d/new", 7, 10);
        directories.synced(b"/d/new/x", 20);
        directories.synced(b"/d/newer", 30);
        directories.moved(&[Rename {
            from: b"/d/new",
            to: b"/d/final",
        }]);
        assert!(directories.is_own(b"/d/final") && !directories.is_own(b"/d/new"));
        assert_eq!(directories.covered_ns(b"/d/final/x"), 20);
        assert_eq!(directories.covered_ns(b"/d/newer"), 30);
    }
}
