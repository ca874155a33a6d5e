//! Follows the history event by event, and keeps per file what decides about durability.
//!
//! Events come nearly in order: one that follows from another comes after it, those of
//! different threads that overlap in time come in any order, and a run of writes comes when
//! it ends, which may be long after its last write. So what a sync covered is decided by
//! the times in the events alone.

mod directories;
#[cfg(test)]
mod laws;
mod life;
mod mappings;
mod names;
mod pending;
mod rename;
mod reports;
mod syncs;
#[cfg(test)]
mod tests;
mod whole;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use super::{DirectoryRow, Event, FileHistory, FileKind, NamedFile, NotFound, Scope, Step};
use crate::bytes::grouped;
use crate::op::{FileId, Gap};

use directories::{Directories, NameChange};
use life::{Life, Writes};
use mappings::Mappings;
use names::{Name, Names, Path, is_nameless, parent};
use rename::Kind;
use reports::Reports;
use whole::Whole;

/// Files that are known by name.
const NAMED: usize = 1 << 16;
/// Files whose history is kept: some 1.5 kB each.
const CHANGED: usize = 1 << 15;
/// Paths looked for in vain that are counted apart.
const SEARCHED: usize = 1 << 13;
/// `ENOENT` and `ENOTDIR` (include/uapi/asm-generic/errno-base.h).
const NOT_FOUND: [i32; 2] = [2, NOT_DIRECTORY];
/// `ENOTDIR`
const NOT_DIRECTORY: i32 = 20;

/// What is missing when files found no room, as [`Gap::what`].
pub const HISTORY: &str = "history of some files";

/// What was followed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Followed {
    /// Files that were changed or synced.
    pub files: BTreeMap<FileId, Box<FileHistory>>,
    /// Last name of each file that was renamed.
    pub renamed_to: BTreeMap<FileId, Vec<u8>>,
    /// Directories in which names were changed.
    pub directories: Vec<DirectoryRow>,
    /// Paths looked for in vain.
    pub not_found: Vec<NotFound>,
    /// Events that were followed.
    pub events: u64,
    /// What found no room.
    pub left_out: LeftOut,
}

/// What found no room, so that memory stays bounded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Files whose history was not kept, or given up after they had been removed. A file
    /// that comes back later is counted again.
    pub files: u64,
    /// Names that were not kept.
    pub names: u64,
    /// Changes of names in directories that were not kept.
    pub name_changes: u64,
    /// Vain searches for paths that were not kept.
    pub searches: u64,
}

impl LeftOut {
    /// What is missing of the history; `None` when nothing is.
    pub fn gap(&self) -> Option<Gap> {
        let lost = self.files + self.names + self.name_changes;
        (lost > 0).then(|| {
            let why = format!(
                "more files than are followed one by one: there was no room for a file {} times, \
                 for a name {} times and for a change of names {} times",
                grouped(self.files),
                grouped(self.names),
                grouped(self.name_changes)
            );
            Gap::new(HISTORY, why)
        })
    }
}

/// From when to when, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    started_ns: u64,
    ended_ns: u64,
}

impl Span {
    fn of(event: &Event) -> Self {
        Self {
            started_ns: event.started_ns,
            ended_ns: event.ended_ns.max(event.started_ns),
        }
    }
}

/// A file that has been named.
#[derive(Debug)]
struct Known {
    path: Path,
    /// Whether it was another one when the file was named.
    moved: bool,
    kind: FileKind,
    size_bytes: u64,
    /// What was known about its name before it took it.
    before: Option<Name>,
}

/// Follows one run. Memory grows with the files, not with the events.
#[derive(Debug, Default)]
pub struct Follower {
    names: Names,
    known: HashMap<FileId, Known>,
    /// Each apart: a table that grows has its entries twice, and these are large.
    lives: HashMap<FileId, Box<Life>>,
    /// Files that were removed, oldest first: the first to go when room is needed.
    removed: VecDeque<FileId>,
    directories: Directories,
    whole: Whole,
    not_found: HashMap<Path, u64>,
    mappings: Mappings,
    reports: Reports,
    /// Of each file system, the latest change that is in its journal for certain, nanoseconds.
    journalled: HashMap<u32, u64>,
    events: u64,
    left_out: LeftOut,
}

impl Follower {
    /// A file got its name: it was used for the first time.
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
        let before = self.names.set(&path, Name::File(file.file));
        let known = Known {
            path,
            moved: false,
            kind: file.kind,
            size_bytes: file.size_bytes,
            before,
        };
        self.known.insert(file.file, known);
    }

    /// The next event. Events of one thread come in order; those of different threads
    /// may be swapped within milliseconds.
    pub fn event(&mut self, event: &Event) {
        self.events += 1;
        match (&event.step, event.error) {
            (Step::Synced { file, scope }, _) => self.synced(event, *file, *scope),
            (Step::Looked { path }, Some(error)) if NOT_FOUND.contains(&error) => {
                self.searched(path, error);
            }
            (Step::Renamed { from, to, exchange }, None) => {
                let kind = match (exchange, event.call) {
                    (true, _) => Kind::Exchanged,
                    // What needs no flag is done by rename and renameat; the one that is
                    // left besides RENAME_EXCHANGE is RENAME_NOREPLACE (rename(2)).
                    (false, "renameat2") => Kind::Fresh,
                    (false, _) => Kind::Replacing,
                };
                self.renamed(event, from, to, kind);
            }
            (Step::Renamed { to, .. } | Step::Linked { to, .. }, Some(error)) => {
                self.refused(to, error);
            }
            (Step::Linked { file, from, to }, None) => self.linked(event, *file, from, to),
            (Step::Unlinked { path, directory }, None) => {
                self.unlinked(event, path, *directory);
            }
            (Step::Made { path, directory }, None) => self.made(event, path, *directory),
            (Step::Reported { .. }, _) => self.reported(event),
            (step, None) => self.changed(event, step),
            (_, Some(_)) => {}
        }
    }

    /// What happened to one file.
    fn changed(&mut self, event: &Event, step: &Step) {
        let span = Span::of(event);
        match *step {
            Step::Opened { file, .. } => self.opened(event, file, step),
            Step::Wrote {
                file,
                count,
                bytes,
                from,
                to,
                durable,
                ..
            } if count > 0 => {
                let whole = self.whole.of(Some(file.device));
                let writes = Writes {
                    process: event.process,
                    span,
                    count,
                    bytes,
                    from,
                    to,
                    durable,
                };
                self.with(file, |life| life.wrote(&writes, whole));
                self.may_be_reported(event, file);
            }
            Step::Resized { file, bytes } => self.with(file, |life| life.resized(span, bytes)),
            Step::Allocated { file } => self.with(file, |life| life.allocated(span)),
            Step::Closed { file } => {
                let whole = self.whole.of(Some(file.device));
                self.with(file, |life| life.closed(span, whole));
            }
            Step::Mapped { file, .. } => {
                self.with(file, |life| life.mapped(span, event.process));
                self.mappings.add(event.process, file);
                self.may_be_reported(event, file);
            }
            _ => {}
        }
    }

    fn opened(&mut self, event: &Event, file: FileId, step: &Step) {
        let span = Span::of(event);
        let Step::Opened {
            created, truncated, ..
        } = *step
        else {
            return;
        };
        let known = self.known.get(&file);
        let path = known.map(|known| Path::clone(&known.path));
        let before = known.and_then(|known| known.before);
        let directory: Path = path.as_deref().map_or(&b""[..], parent).into();
        let is_nameless = path.as_deref().is_some_and(|path| is_nameless(path, file));
        if created && !is_nameless && path.is_some() {
            let times = (span.started_ns, span.ended_ns);
            let device = Some(file.device);
            self.directories
                .change(&directory, NameChange::Made, device, times);
        }
        self.with(file, |life| {
            if is_nameless {
                life.nameless();
            } else if created {
                life.created(span, directory);
                if let Some(Name::Removed { at_ns }) = before {
                    life.history.recreated.add(at_ns, at_ns);
                }
            }
            life.opened(span, truncated && !created);
        });
        if created {
            self.may_be_reported(event, file);
        }
    }

    /// Gives the state of a file to `change`, if there is room for it.
    fn with(&mut self, file: FileId, change: impl FnOnce(&mut Life)) {
        let known = self.known.get(&file);
        let length = known.map(|known| known.size_bytes);
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
            self.lives.insert(file, Box::new(Life::new(length)));
        }
        if let Some(life) = self.lives.get_mut(&file) {
            change(life);
        }
    }

    /// Gives up the file that was removed first. Says whether there was one.
    fn forget_removed(&mut self) -> bool {
        let Some(old) = self.removed.pop_front() else {
            return false;
        };
        self.known.remove(&old);
        self.left_out.files += u64::from(self.lives.remove(&old).is_some());
        true
    }

    fn synced(&mut self, event: &Event, file: Option<FileId>, scope: Scope) {
        let span = Span::of(event);
        match (scope, file) {
            (Scope::Hint, Some(file)) if event.error.is_none() => {
                self.with(file, |life| {
                    life.history.hints.add(span.started_ns, span.ended_ns);
                });
            }
            (Scope::File | Scope::Data, Some(file)) => {
                let known = self.known.get(&file);
                if let Some(known) = known.filter(|known| known.kind == FileKind::Directory) {
                    if event.error.is_none() {
                        self.directories.synced(&known.path, span.started_ns);
                    }
                    return;
                }
                let whole = self.whole.of(Some(file.device));
                let data_only = scope == Scope::Data;
                let mut journalled = None;
                self.with(file, |life| {
                    journalled = life.synced((span, event.process), data_only, event.error, whole);
                });
                if let Some(at_ns) = journalled {
                    let known = self.journalled.entry(file.device).or_default();
                    *known = at_ns.max(*known);
                }
            }
            (Scope::Data | Scope::File, None) if event.error.is_none() => {
                self.mapping_synced(event.process);
            }
            (Scope::FileSystem | Scope::Everything, _) if event.error.is_none() => {
                let device = file.filter(|_| scope == Scope::FileSystem);
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
        // O_DIRECTORY and a trailing slash find what is there, and is no directory (openat(2)).
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

    /// Ends and hands over.
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
