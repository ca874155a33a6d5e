//! The checker for programs that bring none: each file is as it was, or as the program completed it.
//!
//! A file is complete when the program closes, syncs, links or renames it. Once the program has
//! acknowledged something, a file may not be older than it was then. Files that the program made and removed
//! again may be anything.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::history::{History, Step, below};
use super::result::FormatRow;
use super::state;
use crate::op::FileId;
use crate::record::{Body, Contents, Extent, Tree};

/// What a file holds, as a hash of its bytes.
pub type Digest = [u8; 32];

#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
    /// When it was complete, in the order of begins and ends.
    time: usize,
    /// `None` where the path was not there.
    file: Option<Held>,
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

/// All versions of all paths below the directory.
#[derive(Debug)]
pub struct Builtin<D> {
    digest: D,
    /// Of contents that were read, by where their bytes are.
    read: HashMap<u64, Digest>,
    versions: BTreeMap<Vec<u8>, Vec<Version>>,
    /// Times of acknowledgements, in the order of begins and ends.
    told: Vec<usize>,
    /// Files that may hold anything.
    rebuilt: BTreeSet<FileId>,
    /// Files that others look at.
    known: Vec<FormatRow>,
    /// Paths that are there at the end.
    last: BTreeMap<Vec<u8>, Held>,
    /// Of these, those that were there at the beginning and that the program has removed: a crash may not leave their
    /// absence, but a report vouches for it.
    removed: BTreeSet<Vec<u8>>,
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
    pub fn new(history: &History, digest: D, known: Vec<FormatRow>) -> Result<Self, E> {
        let mut builtin = Self {
            digest,
            read: HashMap::new(),
            versions: BTreeMap::new(),
            told: Vec::new(),
            rebuilt: history.rebuilt_nodes(),
            known,
            last: BTreeMap::new(),
            removed: BTreeSet::new(),
            root: history.root,
        };
        let (base, end) = history.ends();
        builtin.last = builtin.files(&end)?;
        let mut tree = base;
        for (path, held) in builtin.files(&tree)? {
            builtin.add(path, 0, Some(held));
        }
        for step in &history.steps {
            state::replay(&mut tree, &history.effects[step.effects.clone()]);
            let is_rename = history.effects[step.effects.clone()]
                .iter()
                .any(|effect| effect.group.is_some());
            builtin.follow(step, is_rename, &tree)?;
        }
        let end = history.steps.len() * 2;
        let last = std::mem::take(&mut builtin.last);
        builtin.gone(&last, end, false);
        for (path, held) in last {
            builtin.add(path, end, Some(held));
        }
        builtin.told.sort_unstable();
        Ok(builtin)
    }

    fn follow(&mut self, step: &Step, is_rename: bool, tree: &Tree) -> Result<(), E> {
        if step.printed.is_some() {
            self.told.push(step.end);
            for path in std::mem::take(&mut self.removed) {
                self.add(path, step.end, None);
            }
        }
        if step.settles.is_empty() && step.effects.is_empty() {
            return Ok(());
        }
        let files = self.files(tree)?;
        self.gone(&files, step.end, is_rename);
        let settled = below(tree, self.root).into_iter();
        let settled = settled.filter(|(_, node)| step.settles.contains(node));
        for (path, _) in settled {
            // A shell opens a file and closes its own descriptor before the program writes to the other.
            let is_complete = |held: &&Held| !matches!(held, Held::Bytes { size_bytes: 0, .. });
            if let Some(held) = files.get(&path).filter(is_complete) {
                self.add(path, step.end, Some(held.clone()));
            }
        }
        Ok(())
    }

    /// Notes paths that are not there any more. What was renamed is under another name.
    fn gone(&mut self, files: &BTreeMap<Vec<u8>, Held>, time: usize, is_rename: bool) {
        self.removed.retain(|path| !files.contains_key(path));
        for (path, versions) in &mut self.versions {
            let was_there = versions.last().is_some_and(|last| last.file.is_some());
            if !was_there || files.contains_key(path) {
                continue;
            }
            let began = versions.first().is_some_and(|first| first.file.is_some());
            if began && !is_rename && self.last.contains_key(path) {
                self.removed.insert(path.clone());
            } else {
                versions.push(Version { time, file: None });
            }
        }
    }

    fn add(&mut self, path: Vec<u8>, time: usize, file: Option<Held>) {
        let absent = Version {
            time: 0,
            file: None,
        };
        let versions = self
            .versions
            .entry(path)
            .or_insert_with(|| if time == 0 { Vec::new() } else { vec![absent] });
        if versions.last().is_none_or(|last| last.file != file) {
            versions.push(Version { time, file });
        }
    }

    /// What is broken in a tree; `told` is the number of acknowledgements.
    ///
    /// # Errors
    /// When `digest` fails.
    pub fn check(&mut self, tree: &Tree, told: usize) -> Result<Option<String>, E> {
        let files = self.files(tree)?;
        Ok(self.check_files(&files, told))
    }

    /// The same of files that are on a disk, by their paths in the directory.
    pub fn check_files(&self, files: &BTreeMap<Vec<u8>, Held>, told: usize) -> Option<String> {
        let since = told.checked_sub(1).map(|last| self.told[last]);
        for (path, versions) in &self.versions {
            if versions.first().is_some_and(|first| first.file.is_none())
                && versions.last().is_some_and(|last| last.file.is_none())
            {
                continue;
            }
            let held = files.get(path);
            // The version that was complete at the acknowledgement, and later ones.
            let oldest = versions
                .iter()
                .rposition(|version| since.is_some_and(|since| version.time <= since));
            let oldest = oldest.unwrap_or(0);
            if versions[oldest..]
                .iter()
                .any(|version| version.file.as_ref() == held)
            {
                continue;
            }
            let is_older = versions[..oldest]
                .iter()
                .any(|version| version.file.as_ref() == held);
            return Some(told_of(path, held, is_older));
        }
        None
    }

    /// All files below the directory, by their paths in it.
    fn files(&mut self, tree: &Tree) -> Result<BTreeMap<Vec<u8>, Held>, E> {
        let mut files = BTreeMap::new();
        for (path, node) in below(tree, self.root) {
            match tree.node(node).map(|node| &node.body) {
                Some(Body::Directory(_)) | None => {}
                Some(_) if self.rebuilt.contains(&node) => {}
                Some(_) if self.known.iter().any(|row| row.covers(&path)) => {}
                Some(body) => {
                    files.insert(path, self.held(body)?);
                }
            }
        }
        Ok(files)
    }

    fn held(&mut self, body: &Body) -> Result<Held, E> {
        Ok(match body {
            Body::File(contents) => Held::Bytes {
                digest: self.digest_of(contents)?,
                size_bytes: contents.size_bytes(),
            },
            Body::Symlink(target) => Held::Symlink(target.clone().unwrap_or_default()),
            Body::Directory(_) | Body::Special { .. } => Held::Other,
        })
    }

    fn digest_of(&mut self, contents: &Contents) -> Result<Digest, E> {
        let mut hasher = DefaultHasher::new();
        contents.size_bytes().hash(&mut hasher);
        for (offset, extent) in contents.extents() {
            let Extent { bytes, source } = extent;
            (offset, bytes, source).hash(&mut hasher);
        }
        let key = hasher.finish();
        if let Some(known) = self.read.get(&key) {
            return Ok(*known);
        }
        let digest = (self.digest)(contents)?;
        self.read.insert(key, digest);
        Ok(digest)
    }
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
        Some(_) => format!("{name} is torn: neither as it was nor as the program completed it"),
    }
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
