//! The checker for programs that bring none: each file is as it was, or as the program completed it.
//!
//! A file is complete when the program closes, syncs, links or renames it, or vouches for it by a report. Once
//! the program has acknowledged something, a file may not be older than it was then. Files that the program
//! made and removed again may be anything.

mod hashes;
mod run;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

pub use hashes::{Hashes, read_held};
use run::Run;

pub(super) use self::hashes::is_zeros;

use super::history::History;
use super::result::FormatRow;
use crate::op::FileId;
use crate::record::{Body, Contents, Node, Tree};

/// A hash of bytes; of a file see [`Hashes`].
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
        let (mut told, run) = Run::of(history, Hashes::new(digest), known)?;
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
                let mut order = Ordering::Less;
                let mut child = None;
                while let Some((_, next)) = entries.next_if(|(name, _)| {
                    order = (*name).cmp(past.name.as_slice());
                    order != Ordering::Greater
                }) {
                    if order == Ordering::Equal {
                        child = Some(next);
                        break;
                    }
                }
                let child = child.filter(|child| !self.rebuilt.contains(child));
                let node = child.and_then(|child| tree.shared(child));
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
