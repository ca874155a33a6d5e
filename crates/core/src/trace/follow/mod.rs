//! Follows the history event by event, and keeps the facts about durability for each file.
//!
//! Events come nearly in order: an event that depends on another comes after it, concurrent events
//! of different threads come in any order, and a run of writes comes when it ends, possibly long
//! after its last write. So the times in the events alone decide what a sync covered.

mod directories;
#[cfg(test)]
mod laws;
mod life;
mod names;
mod pending;
mod rename;
mod reports;
mod syncs;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use super::history::Span;
use super::{
    Did, DirectoryRow, Event, FileHistory, FileKind, NameChange, NamedFile, NotFound, Writes,
};
use crate::gap::{Gap, HistoryLosses, Missing, Reason};
use crate::op::{Call, FileId};
use crate::record::{Change, Durability};

use directories::Directories;
use life::Life;
use names::{Name, Names, Path, is_nameless, parent};
use reports::Reports;

/// Maximum number of files known by name.
const NAMED: usize = 1 << 16;
/// Maximum number of files with a history: some 1.5 kB each.
const CHANGED: usize = 1 << 15;
/// Maximum number of missing paths counted separately.
const SEARCHED: usize = 1 << 13;
/// `ENOENT` and `ENOTDIR` (include/uapi/asm-generic/errno-base.h).
const NOT_FOUND: [i32; 2] = [2, NOT_DIRECTORY];
/// `ENOTDIR`
const NOT_DIRECTORY: i32 = 20;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Followed {
    /// Files that were changed or synced.
    pub files: BTreeMap<FileId, Box<FileHistory>>,
    /// Last name of each file that was renamed.
    pub renamed_to: BTreeMap<FileId, Vec<u8>>,
    pub directories: Vec<DirectoryRow>,
    /// Paths that were looked up and do not exist.
    pub not_found: Vec<NotFound>,
    pub events: u64,
    /// Data that found no room.
    pub left_out: LeftOut,
}

/// Data that found no room, so that memory stays bounded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Files whose history was not kept, or was dropped after their removal. A file that comes back
    /// later is counted again.
    pub files: u64,
    pub names: u64,
    /// Changes of names in directories that were not kept.
    pub name_changes: u64,
    /// Failed lookups of paths that were not kept.
    pub searches: u64,
}

impl LeftOut {
    /// The gap in the history; `None` without one.
    pub fn gap(&self) -> Option<Gap> {
        let lost = self.files + self.names + self.name_changes;
        (lost > 0).then(|| {
            let losses = HistoryLosses {
                files: self.files,
                names: self.names,
                name_changes: self.name_changes,
            };
            Gap::new(Missing::History, Reason::HistoryFull(losses))
        })
    }
}

#[derive(Debug)]
struct Known {
    path: Path,
    /// Whether it was another name when the file was named.
    moved: bool,
    kind: FileKind,
    size_bytes: u64,
    is_removed: bool,
    /// The previous state of its name.
    before: Option<Name>,
}

/// Follows one run. Memory grows with the number of files, not of events.
#[derive(Debug, Default)]
pub struct Follower {
    names: Names,
    known: HashMap<FileId, Known>,
    /// Boxed: a growing table holds its entries twice, and these are large.
    lives: HashMap<FileId, Box<Life>>,
    /// Removed files, oldest first: the first to go when room is needed.
    removed: VecDeque<FileId>,
    directories: Directories,
    whole: Whole,
    not_found: HashMap<Path, u64>,
    mappings: Mappings,
    reports: Reports,
    /// The latest change that is certainly in the journal, for each file system, nanoseconds.
    journalled: HashMap<u32, u64>,
    events: u64,
    left_out: LeftOut,
}

impl Follower {
    /// A file was linked there: it was used for the first time.
    pub fn named(&mut self, file: &NamedFile) {
        let is_kept = matches!(file.kind, FileKind::Regular | FileKind::Directory);
        if !is_kept || self.known.contains_key(&file.file) {
            return;
        }
        if self.known.len() >= NAMED && !self.forget_removed() {
            self.left_out.names += 1;
            return;
        }
        let path: Path = file.path.as_slice().into();
        let before = if file.is_removed {
            None
        } else {
            self.names.set(&path, Name::File(file.file))
        };
        let known = Known {
            path,
            moved: false,
            kind: file.kind,
            size_bytes: file.size_bytes,
            is_removed: file.is_removed,
            before,
        };
        self.known.insert(file.file, known);
    }

    /// The next event. Events of one thread come in order; those of different threads
    /// may be swapped within milliseconds.
    pub fn event(&mut self, event: &Event) {
        self.events += 1;
        let call = &event.call;
        match (&event.did, call.outcome.err()) {
            (Did::Changed(Change::Synced { node, scope, .. }), _) => {
                self.synced(call, *node, *scope);
            }
            (Did::Changed(Change::Attempted { paths }), Some(error))
                if NOT_FOUND.contains(&error) =>
            {
                if let Some(path) = paths.first() {
                    self.searched(path, error);
                }
            }
            (Did::Changed(change), None) => self.changed(call, change),
            (Did::Named(names), None) => self.named_anew(call, names),
            (
                Did::Named(NameChange::Renamed { to, .. } | NameChange::Linked { to, .. }),
                Some(error),
            ) => self.refused(&to.path, error),
            (Did::Wrote(writes), None) if writes.count > 0 => self.wrote(call, writes),
            (Did::Reported(audience), _) => self.reported(call, *audience),
            _ => {}
        }
    }

    /// An event of one file.
    fn changed(&mut self, call: &Call, change: &Change) {
        let span = Span::of(call);
        match *change {
            Change::Resized { node, bytes, .. } => {
                self.with(node, |life| life.resized(span, bytes));
            }
            Change::Allocated { node, .. } => self.with(node, |life| life.allocated(span)),
            Change::Closed { node, .. } => {
                let whole = self.whole.of(Some(node.device));
                self.with(node, |life| life.closed(span, whole));
            }
            Change::Mapped { node, .. } => {
                self.with(node, |life| life.mapped(span, call.process));
                self.mappings.add(call.process, node);
                self.may_be_reported(call, node, true);
            }
            _ => {}
        }
    }

    fn wrote(&mut self, call: &Call, writes: &Writes) {
        let whole = self.whole.of(Some(writes.file.device));
        let by = (Span::of(call), call.process);
        self.with(writes.file, |life| life.wrote(by, writes, whole));
        self.may_be_reported(call, writes.file, false);
    }

    fn opened(&mut self, call: &Call, file: FileId, created: bool, truncated: bool) {
        let span = Span::of(call);
        let known = self.known.get(&file);
        let path = known.map(|known| Path::clone(&known.path));
        let before = known.and_then(|known| known.before);
        let directory: Path = path.as_deref().map_or(&b""[..], parent).into();
        let is_nameless = path.as_deref().is_some_and(|path| is_nameless(path, file));
        if created && !is_nameless && path.is_some() {
            let device = Some(file.device);
            self.directories
                .change(&directory, |row| &mut row.made, device, span);
        }
        self.with(file, |life| {
            if is_nameless {
                life.nameless();
            } else if created {
                life.created(span, directory);
                if let Some(Name::Removed { at_ns }) = before {
                    life.history.recreated.add(Span::at(at_ns));
                }
            }
            life.opened(span, truncated && !created);
        });
        if created {
            self.may_be_reported(call, file, false);
        }
    }

    /// Passes the state of a file to `change`, if there is room for it.
    fn with(&mut self, file: FileId, change: impl FnOnce(&mut Life)) {
        let known = self.known.get(&file);
        let length = known.map(|known| known.size_bytes);
        let is_removed = known.is_some_and(|known| known.is_removed);
        if known.is_some_and(|known| known.kind == FileKind::Directory) {
            return;
        }
        if !self.lives.contains_key(&file) {
            if self.lives.len() >= CHANGED {
                self.left_out.files += u64::from(self.removed.is_empty());
                if !self.forget_removed() {
                    return;
                }
            }
            self.lives
                .insert(file, Box::new(Life::new(length, is_removed)));
        }
        if let Some(life) = self.lives.get_mut(&file) {
            change(life);
        }
    }

    /// Drops the file that was removed first. Returns whether there was one.
    fn forget_removed(&mut self) -> bool {
        let Some(old) = self.removed.pop_front() else {
            return false;
        };
        self.known.remove(&old);
        self.left_out.files += u64::from(self.lives.remove(&old).is_some());
        true
    }

    fn synced(&mut self, call: &Call, file: Option<FileId>, scope: Durability) {
        let span = Span::of(call);
        match (scope, file) {
            (Durability::Hint, Some(file)) if call.outcome.is_ok() => {
                self.with(file, |life| life.history.hints.add(span));
            }
            (Durability::File | Durability::Data, Some(file)) => {
                let known = self.known.get(&file);
                if let Some(known) = known.filter(|known| known.kind == FileKind::Directory) {
                    if call.outcome.is_ok() {
                        self.directories.synced(&known.path, span.started_ns);
                    }
                    return;
                }
                let whole = self.whole.of(Some(file.device));
                let data_only = scope == Durability::Data;
                let error = call.outcome.err();
                let mut journalled = None;
                self.with(file, |life| {
                    journalled = life.synced((span, call.process), data_only, error, whole);
                });
                if let Some(at_ns) = journalled {
                    let known = self.journalled.entry(file.device).or_default();
                    *known = at_ns.max(*known);
                }
                if error.is_none() {
                    self.reports.synced(call.process, file, span);
                }
            }
            (Durability::Range { bytes, .. }, Some(file)) => {
                let whole = self.whole.of(Some(file.device));
                let error = call.outcome.err();
                self.with(file, |life| {
                    life.mapping_synced(span, call.process, bytes, error, whole);
                });
            }
            // The mapping was there before the run, or others hid it.
            (Durability::Range { .. }, None) if call.outcome.is_ok() => {
                self.mapping_synced(call.process);
            }
            (Durability::FileSystem | Durability::Everything, _) if call.outcome.is_ok() => {
                let device = file.filter(|_| scope == Durability::FileSystem);
                self.whole.synced(device.map(|file| file.device), span);
            }
            _ => {}
        }
    }

    fn mapping_synced(&mut self, process: u32) {
        for file in self.mappings.of(process) {
            if let Some(life) = self.lives.get_mut(&file) {
                life.history.mapping_synced = true;
            }
        }
    }

    fn searched(&mut self, path: &[u8], error: i32) {
        // O_DIRECTORY and a trailing slash find an existing name that is not a directory
        // (openat(2)).
        if error == NOT_DIRECTORY
            && matches!(self.names.get(path), Some(Name::File(_) | Name::Present))
        {
            return;
        }
        let shared: Path = path.into();
        if !matches!(self.names.get(path), Some(Name::Removed { .. })) {
            self.names.set(&shared, Name::Absent);
        }
        if let Some(count) = self.not_found.get_mut(path) {
            *count += 1;
        } else if self.not_found.len() < SEARCHED {
            self.not_found.insert(shared, 1);
        } else {
            self.left_out.searches += 1;
        }
    }

    /// Ends and returns the result.
    pub fn finish(mut self) -> Followed {
        let mut followed = Followed {
            events: self.events,
            left_out: LeftOut {
                names: self.left_out.names + self.names.left_out,
                name_changes: self.directories.left_out,
                ..self.left_out
            },
            ..Followed::default()
        };
        for (file, mut life) in self.lives {
            for (directory, times) in std::mem::take(&mut life.replaced_in) {
                self.directories.renamed_unsynced(&directory, times);
            }
            let moved = self.known.get(&file).filter(|known| known.moved);
            let moved = moved.map(|known| Path::clone(&known.path));
            if let Some(path) = life.renamed_to.take().or(moved) {
                followed.renamed_to.insert(file, path.to_vec());
            }
            let named = life.named.as_ref();
            let directory_ns = named.map_or(0, |(path, ..)| self.directories.covered_ns(path));
            let removed = life.removed.as_ref();
            let removed_ns = removed.map_or(0, |(path, _)| self.directories.covered_ns(path));
            let journalled_ns = self.journalled.get(&file.device).copied().unwrap_or(0);
            let whole = self.whole.of(Some(file.device));
            let history = life.finish(whole, (directory_ns, removed_ns), journalled_ns);
            followed.files.insert(file, Box::new(history));
        }
        let whole = self.whole;
        followed.directories = self.directories.finish(
            |device| whole.of(device).map_or(0, |span| span.started_ns),
            |process| self.reports.last_ns(process),
        );
        followed.not_found = not_found(self.not_found);
        followed
    }
}

/// Most often first, then by name.
fn not_found(counts: HashMap<Path, u64>) -> Vec<NotFound> {
    let mut rows: Vec<NotFound> = counts
        .into_iter()
        .map(|(path, count)| NotFound {
            path: String::from_utf8_lossy(&path).into_owned(),
            count,
        })
        .collect();
    rows.sort_by(|one, other| {
        let by_count = other.count.cmp(&one.count);
        by_count.then_with(|| one.path.cmp(&other.path))
    });
    rows
}

fn shared(path: &[u8]) -> Path {
    Arc::from(path)
}

/// Maximum number of files of one process.
const MAPPED: usize = 1 << 10;
/// Maximum number of processes.
const PROCESSES: usize = 1 << 10;

/// Files that a process has mapped so that stores change them.
#[derive(Debug, Default)]
struct Mappings(HashMap<u32, Vec<FileId>>);

impl Mappings {
    fn add(&mut self, process: u32, file: FileId) {
        if self.0.len() >= PROCESSES && !self.0.contains_key(&process) {
            return;
        }
        let files = self.0.entry(process).or_default();
        if files.len() < MAPPED && !files.contains(&file) {
            files.push(file);
        }
    }

    /// `msync` does not identify a file: it may be any that the process has mapped. A process
    /// without mappings of its own has inherited them.
    fn of(&self, process: u32) -> Vec<FileId> {
        match self.0.get(&process) {
            Some(files) => files.clone(),
            None => self.0.values().flatten().copied().collect(),
        }
    }
}

/// The latest successful syncs of whole file systems.
#[derive(Debug, Default)]
struct Whole {
    everything: Option<Span>,
    devices: HashMap<u32, Span>,
}

impl Whole {
    /// `device` for one file system; `None` for all.
    fn synced(&mut self, device: Option<u32>, span: Span) {
        match device {
            None => self.everything = later(self.everything, Some(span)),
            Some(device) => {
                let latest = self.devices.get(&device).copied();
                if let Some(latest) = later(latest, Some(span)) {
                    self.devices.insert(device, latest);
                }
            }
        }
    }

    /// The latest that covers a file system; without `device`, one that covers all.
    fn of(&self, device: Option<u32>) -> Option<Span> {
        let one = device.and_then(|device| self.devices.get(&device).copied());
        later(self.everything, one)
    }
}

fn later(one: Option<Span>, other: Option<Span>) -> Option<Span> {
    one.into_iter()
        .chain(other)
        .max_by_key(|span| span.started_ns)
}
