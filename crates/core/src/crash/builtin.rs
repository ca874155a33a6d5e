//! The checker for programs that bring none: each file is as it was, or as the program completed it.
//!
//! A file is complete when the program closes, syncs, links or renames it, or vouches for it by a report. Once
//! the program has acknowledged something, a file may not be older than it was then. Files that the program
//! made and removed again may be anything.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use super::effect::{Effect, Piece};
use super::history::{History, Sync, Thread, below};
use super::names::Names;
use super::result::FormatRow;
use super::state;
use crate::op::FileId;
use crate::record::{Body, Contents, Node, Tree};

/// What a file holds, as a hash of its bytes.
pub type Digest = [u8; 32];

#[derive(Debug)]
struct Version {
    /// The first report that vouches for it, in the order of begins and ends; `usize::MAX` for none.
    told: usize,
    /// `None` where the path was not there.
    file: Option<Held>,
    /// Where the log has its bytes, as a hash.
    place: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Held {
    Bytes {
        digest: Digest,
        /// Their number.
        size_bytes: u64,
    },
    /// A symbolic link, to this.
    Symlink(Vec<u8>),
    /// A FIFO, a socket, or a device.
    Other,
}

/// A path, and what may be there.
#[derive(Debug, Default)]
struct Past {
    /// The last part of it.
    name: Vec<u8>,
    path: Vec<u8>,
    /// In the order of time.
    versions: Vec<Version>,
    /// What the last tree had there, and the newest version that it is.
    last: Option<(Arc<Node>, Option<usize>)>,
}

/// All versions of all paths below the directory.
#[derive(Debug)]
pub struct Builtin<D> {
    hashes: Hashes<D>,
    /// Paths in one directory, in the order of their names, with the path of the directory.
    directories: Vec<(Vec<u8>, Vec<Past>)>,
    /// Times of acknowledgements, in the order of begins and ends.
    told: Vec<usize>,
    /// Files that may hold anything.
    rebuilt: BTreeSet<FileId>,
    root: FileId,
}

impl<D, E> Builtin<D>
where
    D: FnMut(&Contents) -> Result<Digest, E>,
{
    /// Works out what was complete when. `digest` hashes the bytes of contents; files of `known` may hold anything.
    ///
    /// # Errors
    /// When `digest` fails: the log cannot be read.
    pub fn new(history: &History, digest: D, known: &[FormatRow]) -> Result<Self, E> {
        let (base, end) = history.ends();
        let mut run = Run {
            hashes: Hashes {
                digest,
                read: HashMap::new(),
            },
            names: Names::of(&base),
            tree: base,
            end,
            versions: BTreeMap::new(),
            removed: BTreeSet::new(),
            changed: BTreeMap::new(),
            rebuilt: history.rebuilt_nodes(),
            known,
            root: history.root,
        };
        for (path, node) in below(&run.tree, history.root) {
            run.complete(path, node, Some(0))?;
        }
        let goes_on = GoesOn::of(history);
        let mut told = Vec::new();
        for (number, step) in history.steps.iter().enumerate() {
            run.follow(history, number);
            for node in &step.settles {
                run.settle(*node, step.sync.is_none())?;
            }
            if step.printed.is_some() {
                told.push(step.end);
                run.vouch(history, number, &goes_on)?;
            }
        }
        for (path, node) in below(&run.tree, history.root) {
            run.complete(path, node, None)?;
        }
        told.sort_unstable();
        Ok(Self {
            directories: by_directory(run.versions),
            hashes: run.hashes,
            told,
            rebuilt: run.rebuilt,
            root: history.root,
        })
    }

    /// What is broken in a tree; `told` is the number of acknowledgements.
    ///
    /// # Errors
    /// When `digest` fails.
    pub fn check(&mut self, tree: &Tree, told: usize) -> Result<Option<String>, E> {
        let since = told.checked_sub(1).map(|last| self.told[last]);
        let mut broken: Option<(&[u8], Option<&Node>, bool)> = None;
        for (directory, paths) in &mut self.directories {
            let directory = tree.below(self.root, directory);
            let mut entries = directory
                .into_iter()
                .flat_map(|one| tree.entries(one))
                .peekable();
            for past in paths {
                while entries
                    .next_if(|(name, _)| *name < past.name.as_slice())
                    .is_some()
                {}
                let child = entries.next_if(|(name, _)| *name == past.name.as_slice());
                let node = child.and_then(|(_, child)| {
                    tree.shared(child)
                        .filter(|_| !self.rebuilt.contains(&child))
                });
                let node = node.filter(|node| !matches!(node.body, Body::Directory(_)));
                let newest = past.newest(node, &mut self.hashes)?;
                if newest.is_some_and(|newest| newest >= past.oldest(since)) {
                    continue;
                }
                if broken.is_none_or(|(first, ..)| past.path.as_slice() < first) {
                    broken = Some((&past.path, node.map(Arc::as_ref), newest.is_some()));
                }
            }
        }
        let Some((path, node, is_older)) = broken else {
            return Ok(None);
        };
        let held = match node.map(|node| &node.body) {
            // Zeros have a word of their own.
            Some(Body::File(contents))
                if !is_older && !self.hashes.begins_with_zeros(contents)? =>
            {
                return Ok(Some(torn(path)));
            }
            Some(body) if !is_older => Some(self.hashes.held(body)?),
            _ => None,
        };
        Ok(Some(told_of(path, held.as_ref(), is_older)))
    }

    /// The same of files that are on a disk, by their paths in the directory.
    pub fn check_files(&self, files: &BTreeMap<Vec<u8>, Held>, told: usize) -> Option<String> {
        let since = told.checked_sub(1).map(|last| self.told[last]);
        let paths = self.directories.iter().flat_map(|(_, paths)| paths);
        let broken = paths.filter_map(|past| {
            let held = files.get(&past.path);
            let newest = past
                .versions
                .iter()
                .rposition(|version| version.file.as_ref() == held);
            let is_fine = newest.is_some_and(|newest| newest >= past.oldest(since));
            (!is_fine).then_some((&past.path, held, newest.is_some()))
        });
        let (path, held, is_older) = broken.min_by_key(|(path, ..)| *path)?;
        Some(told_of(path, held, is_older))
    }
}

impl Past {
    /// The version that an acknowledgement vouches for: older ones are lost.
    fn oldest(&self, since: Option<usize>) -> usize {
        let mut versions = self.versions.iter();
        let told = since.and_then(|since| versions.rposition(|version| version.told <= since));
        told.unwrap_or(0)
    }

    /// The newest version that a node is.
    fn newest<D, E>(
        &mut self,
        node: Option<&Arc<Node>>,
        hashes: &mut Hashes<D>,
    ) -> Result<Option<usize>, E>
    where
        D: FnMut(&Contents) -> Result<Digest, E>,
    {
        let Some(node) = node else {
            return Ok(self
                .versions
                .iter()
                .rposition(|version| version.file.is_none()));
        };
        if let Some((last, newest)) = &self.last
            && Arc::ptr_eq(last, node)
        {
            return Ok(*newest);
        }
        let newest = self.newest_like(&node.body, hashes)?;
        self.last = Some((Arc::clone(node), newest));
        Ok(newest)
    }

    fn newest_like<D, E>(&self, body: &Body, hashes: &mut Hashes<D>) -> Result<Option<usize>, E>
    where
        D: FnMut(&Contents) -> Result<Digest, E>,
    {
        let mut all = self.versions.iter();
        let Body::File(contents) = body else {
            let held = Some(hashes.held(body)?);
            return Ok(all.rposition(|version| version.file == held));
        };
        // Bytes are read only where lengths are the same, and places are not.
        let place = place_of(contents);
        let has_length = |version: &&Version| matches!(version.file, Some(Held::Bytes { size_bytes, .. }) if size_bytes == contents.size_bytes());
        if !self.versions.iter().any(|version| has_length(&version)) {
            return Ok(None);
        }
        if self
            .versions
            .iter()
            .filter(has_length)
            .all(|version| version.place == place)
        {
            return Ok(all.rposition(|version| has_length(&version)));
        }
        let held = Some(hashes.held(body)?);
        Ok(all.rposition(|version| version.file == held))
    }
}

/// Hashes of contents that were read.
#[derive(Debug)]
struct Hashes<D> {
    digest: D,
    /// By where their bytes are.
    read: HashMap<u64, Digest>,
}

impl<D, E> Hashes<D>
where
    D: FnMut(&Contents) -> Result<Digest, E>,
{
    fn held(&mut self, body: &Body) -> Result<Held, E> {
        Ok(match body {
            Body::File(contents) => Held::Bytes {
                digest: self.of(contents)?,
                size_bytes: contents.size_bytes(),
            },
            Body::Symlink(target) => Held::Symlink(target.clone().unwrap_or_default()),
            Body::Directory(_) | Body::Special { .. } => Held::Other,
        })
    }

    fn of(&mut self, contents: &Contents) -> Result<Digest, E> {
        let place = place_of(contents);
        if let Some(known) = self.read.get(&place) {
            return Ok(*known);
        }
        let digest = (self.digest)(contents)?;
        self.read.insert(place, digest);
        Ok(digest)
    }

    /// Whether the first bytes that the log has of a file are zeros, or it has none.
    fn begins_with_zeros(&mut self, contents: &Contents) -> Result<bool, E> {
        let Some(first) = contents.extents().find_map(|(_, extent)| extent.payload()) else {
            return Ok(true);
        };
        let first = Contents::of(&first.part(0, first.bytes().min(4096)));
        let digest = self.of(&first)?;
        Ok(is_zeros(&digest, first.size_bytes()))
    }
}

/// The run, followed from its beginning.
struct Run<'r, D> {
    hashes: Hashes<D>,
    names: Names,
    tree: Tree,
    /// The tree at the end.
    end: Tree,
    versions: BTreeMap<Vec<u8>, Vec<Version>>,
    /// Paths that are there at both ends, and that the program has removed in between: a crash may not leave their
    /// absence, unless a report vouches for it.
    removed: BTreeSet<Vec<u8>>,
    /// The last change of each path that no report vouches for yet.
    changed: BTreeMap<Vec<u8>, Changed>,
    rebuilt: BTreeSet<FileId>,
    /// Files that others look at.
    known: &'r [FormatRow],
    root: FileId,
}

/// A change of what is at a path.
#[derive(Clone, Copy)]
struct Changed {
    /// The step that made it.
    step: usize,
    /// Syncs of these make it durable: of a file, and of the directory of a name.
    by: [FileId; 2],
}

impl<D, E> Run<'_, D>
where
    D: FnMut(&Contents) -> Result<Digest, E>,
{
    fn follow(&mut self, history: &History, number: usize) {
        let step = &history.steps[number];
        let effects = &history.effects[step.effects.clone()];
        let mut paths = BTreeSet::new();
        // A directory loses its old name when it gets the new one.
        for effect in effects {
            self.add_paths(effect, &mut paths);
        }
        for effect in effects {
            let node = effect.node();
            let mut by = [node; 2];
            if let Piece::Entry { name, node, .. } = &effect.piece {
                let before = self.tree.entry(name.parent, &name.name);
                state::replay(&mut self.tree, [effect]);
                let is_directory = node.is_some_and(|node| self.is_directory(node));
                self.names.change(name, before, *node, is_directory);
                by[1] = node.unwrap_or(by[1]);
            } else {
                state::replay(&mut self.tree, [effect]);
            }
            let mut now = BTreeSet::new();
            self.add_paths(effect, &mut now);
            paths.extend(now);
            let changed = Changed { step: number, by };
            self.changed
                .extend(paths.iter().map(|path| (path.clone(), changed)));
        }
        // What was renamed is under another name.
        let is_rename = effects.iter().any(|effect| effect.group.is_some());
        for path in paths {
            let node = self.tree.below(self.root, &path);
            if node.is_some_and(|node| self.is_looked_at(&path, node)) {
                self.removed.remove(&path);
            } else {
                self.gone(path, is_rename);
            }
        }
    }

    /// The paths that an effect changes: of a directory those below it.
    fn add_paths(&self, effect: &Effect, paths: &mut BTreeSet<Vec<u8>>) {
        let Piece::Entry { name, .. } = &effect.piece else {
            paths.extend(self.names.paths(effect.node(), self.root));
            return;
        };
        let node = self.tree.entry(name.parent, &name.name);
        let (Some(node), Some(path)) = (node, self.names.path(name, self.root)) else {
            return;
        };
        if self.is_directory(node) {
            let all = below(&self.tree, node).into_iter();
            paths.extend(all.map(|(inner, _)| [path.as_slice(), b"/", &inner].concat()));
        } else {
            paths.insert(path);
        }
    }

    fn is_directory(&self, node: FileId) -> bool {
        let body = self.tree.node(node).map(|node| &node.body);
        matches!(body, Some(Body::Directory(_)))
    }

    fn is_looked_at(&self, path: &[u8], node: FileId) -> bool {
        !self.is_directory(node)
            && !self.rebuilt.contains(&node)
            && !self.known.iter().any(|row| row.covers(path))
    }

    fn gone(&mut self, path: Vec<u8>, is_rename: bool) {
        let Some(versions) = self.versions.get_mut(&path) else {
            return;
        };
        if versions.last().is_none_or(|last| last.file.is_none()) {
            return;
        }
        let began = versions.first().is_some_and(|first| first.file.is_some());
        let ends = self.end.below(self.root, &path);
        let ends = ends.and_then(|node| self.end.node(node));
        let is_file = ends.is_some_and(|node| !matches!(node.body, Body::Directory(_)));
        if began && !is_rename && is_file {
            self.removed.insert(path);
        } else {
            versions.push(Version::absent(usize::MAX));
        }
    }

    /// A file is complete; a directory that was given a name is with all that is in it.
    fn settle(&mut self, node: FileId, is_named: bool) -> Result<(), E> {
        let is_directory = self.is_directory(node);
        if is_directory && !is_named {
            return Ok(());
        }
        // A shell opens a file and closes its own descriptor before the program writes to the other.
        let body = self.tree.node(node).map(|node| &node.body);
        if matches!(body, Some(Body::File(contents)) if contents.size_bytes() == 0) {
            return Ok(());
        }
        for path in self.names.paths(node, self.root) {
            if is_directory {
                for (inner, child) in below(&self.tree, node) {
                    let path = [path.as_slice(), b"/", &inner].concat();
                    self.complete(path, child, None)?;
                }
            } else {
                self.complete(path, node, None)?;
            }
        }
        Ok(())
    }

    /// A report vouches for all that was changed, though the program may not close it: a shell closes by dup2(2), a log
    /// stays open. Another thread may be in the middle of a change, unless it is at its end, or nobody syncs it.
    fn vouch(&mut self, history: &History, number: usize, goes_on: &GoesOn) -> Result<(), E> {
        let step = &history.steps[number];
        let is_told = |_: &Vec<u8>, changed: &mut Changed| {
            let by = history.steps[changed.step].thread;
            by == step.thread || goes_on.threads[&by] < number || !goes_on.is_synced(changed)
        };
        let told: Vec<Vec<u8>> = self
            .changed
            .extract_if(.., is_told)
            .map(|(path, _)| path)
            .collect();
        for path in told {
            if let Some(node) = self.tree.below(self.root, &path) {
                self.complete(path, node, Some(step.end))?;
            } else if let Some(versions) = self.versions.get_mut(&path) {
                if self.removed.remove(&path) {
                    versions.push(Version::absent(usize::MAX));
                }
                vouch_for_last(versions, step.end);
            }
        }
        Ok(())
    }

    /// Notes that a file is complete, and the report that vouches for it.
    fn complete(&mut self, path: Vec<u8>, node: FileId, told: Option<usize>) -> Result<(), E> {
        if !self.is_looked_at(&path, node) {
            return Ok(());
        }
        let Some(body) = self.tree.node(node).map(|node| &node.body) else {
            return Ok(());
        };
        let file = Some(self.hashes.held(body)?);
        let place = match body {
            Body::File(contents) => place_of(contents),
            _ => 0,
        };
        let versions = self.versions.entry(path).or_default();
        if versions.is_empty() && told != Some(0) {
            versions.push(Version::absent(0));
        }
        if versions.last().is_none_or(|last| last.file != file) {
            let told = usize::MAX;
            versions.push(Version { told, file, place });
        }
        if let Some(told) = told {
            vouch_for_last(versions, told);
        }
        Ok(())
    }
}

fn vouch_for_last(versions: &mut [Version], told: usize) {
    if let Some(last) = versions.last_mut() {
        last.told = last.told.min(told);
    }
}

impl Version {
    fn absent(told: usize) -> Self {
        Self {
            told,
            file: None,
            place: 0,
        }
    }
}

/// What the threads still do, and what is still synced.
struct GoesOn {
    /// The last step of each thread.
    threads: HashMap<Thread, usize>,
    /// The last sync of each node, and the last one of everything.
    syncs: HashMap<FileId, usize>,
    sync_of_all: Option<usize>,
}

impl GoesOn {
    fn of(history: &History) -> Self {
        let mut goes_on = Self {
            threads: HashMap::new(),
            syncs: HashMap::new(),
            sync_of_all: None,
        };
        for (number, step) in history.steps.iter().enumerate() {
            goes_on.threads.insert(step.thread, number);
            match step.sync {
                Some(Sync::File(node) | Sync::Data(node) | Sync::Range { file: node, .. }) => {
                    goes_on.syncs.insert(node, number);
                }
                Some(Sync::All) => goes_on.sync_of_all = Some(number),
                None => {}
            }
        }
        goes_on
    }

    /// Whether a sync of the change comes after it.
    fn is_synced(&self, changed: &Changed) -> bool {
        let syncs = changed.by.iter().filter_map(|node| self.syncs.get(node));
        syncs.copied().max().max(self.sync_of_all) > Some(changed.step)
    }
}

/// Without the paths that the program made and removed again.
fn by_directory(all: BTreeMap<Vec<u8>, Vec<Version>>) -> Vec<(Vec<u8>, Vec<Past>)> {
    let mut directories: BTreeMap<Vec<u8>, Vec<Past>> = BTreeMap::new();
    let absent = |version: Option<&Version>| version.is_some_and(|version| version.file.is_none());
    for (path, versions) in all {
        if absent(versions.first()) && absent(versions.last()) {
            continue;
        }
        let split = path.iter().rposition(|byte| *byte == b'/');
        let directory = split.map_or(&[][..], |at| &path[..at]).to_vec();
        let past = Past {
            name: split.map_or(path.as_slice(), |at| &path[at + 1..]).to_vec(),
            path,
            versions,
            last: None,
        };
        directories.entry(directory).or_default().push(past);
    }
    directories.into_iter().collect()
}

/// Where the log has the bytes of contents.
fn place_of(contents: &Contents) -> u64 {
    let mut hasher = DefaultHasher::new();
    contents.size_bytes().hash(&mut hasher);
    for (offset, extent) in contents.extents() {
        (offset, extent.bytes, extent.source).hash(&mut hasher);
    }
    hasher.finish()
}

fn told_of(path: &[u8], held: Option<&Held>, is_older: bool) -> String {
    let name = String::from_utf8_lossy(path);
    match held {
        _ if is_older => format!("{name} is older than it was when the program reported it"),
        None => format!("{name} is missing"),
        Some(Held::Bytes { size_bytes: 0, .. }) => format!("{name} is empty"),
        Some(Held::Bytes { digest, size_bytes }) if is_zeros(digest, *size_bytes) => {
            format!("{name} holds nothing but zeros")
        }
        Some(_) => torn(path),
    }
}

fn torn(path: &[u8]) -> String {
    let name = String::from_utf8_lossy(path);
    format!("{name} is torn: neither as it was nor as the program completed it")
}

/// Whether so many zeros have this hash.
pub(super) fn is_zeros(digest: &Digest, size_bytes: u64) -> bool {
    let mut hasher = blake3::Hasher::new();
    let block = [0; 4096];
    let mut left = size_bytes;
    while left > 0 {
        let taken = usize::try_from(left).map_or(block.len(), |left| left.min(block.len()));
        hasher.update(&block[..taken]);
        left -= taken as u64;
    }
    hasher.finalize().as_bytes() == digest
}
