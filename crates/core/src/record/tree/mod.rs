//! The tree that a log's operations make, held in memory: small, and exact.
//!
//! Applied to what was found, operations give nodes with their names, lengths, attributes and
//! contents, these as [`Contents`] that refer to the log. A log is untrusted input: what no file
//! system could have is refused ([`Impossible`]), and what does not fit to what was before is
//! counted.

mod apply;
mod memory;
mod names;
mod pieces;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{Contents, Exceeded, FileKind, Limits, Name, Time};
use crate::op::FileId;

/// Deepest directory, counted from the root; `PATH_MAX` allows for half of it.
pub(super) const DEEPEST: usize = 4096;

/// What does not fit is counted; so many are told.
const TOLD: usize = 16;

/// A tree, and the nodes that have no name in it.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// Shared between copies of a tree until one of them changes it.
    nodes: HashMap<FileId, Arc<Node>>,
    root: Option<FileId>,
    misfits: Vec<String>,
    misfit_count: u64,
    limits: Limits,
    /// What it takes at most, bytes: what was added since it was counted, and what it had then.
    memory_bytes: u64,
}

/// One node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// What it is.
    pub kind: FileKind,
    /// What it says about itself.
    pub attributes: Attributes,
    /// What it holds.
    pub body: Body,
    /// Names that it has in this tree.
    pub links: u64,
    /// Of a directory: the one name that it has.
    name: Option<Name>,
}

/// What a node holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// A regular file: bytes.
    File(Contents),
    /// A directory: names.
    Directory(BTreeMap<Vec<u8>, FileId>),
    /// A symbolic link: what it says; `None` when the log does not have that.
    Symlink(Option<Vec<u8>>),
    /// A device: its number; 0 for a FIFO, a socket and what is none of these.
    Special {
        /// As `st_rdev` is encoded.
        device_number: u64,
    },
}

/// What a node says about itself, as far as the log knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attributes {
    /// The twelve low bits of the mode, where they are known.
    pub mode: Option<u32>,
    /// Owner that was set.
    pub user: Option<u32>,
    /// Group that was set.
    pub group: Option<u32>,
    /// Time of modification that was set, and not changed by a write since.
    pub modified: Option<Time>,
    /// Extended attributes that were set; `None` for one that was removed.
    pub extended: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// `FS_*_FL` that were set.
    pub flags: Option<u32>,
}

/// An operation that no file system could have done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("operation {operation} ({call}) is impossible: {what}")]
pub struct Impossible {
    /// Its place in the log.
    pub operation: u64,
    /// The system call.
    pub call: String,
    /// Why.
    pub what: String,
}

/// Why an operation was not applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It cannot be.
    #[error(transparent)]
    Impossible(#[from] Impossible),
    /// The tree would be too large.
    #[error(transparent)]
    Exceeded(#[from] Exceeded),
}

impl Tree {
    /// An empty one that may take so much memory; what it expands to is not its matter.
    pub fn within(limits: Limits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// The directory that paths begin at, if the log told of one.
    pub fn root(&self) -> Option<FileId> {
        self.root
    }

    /// A node that the log told of.
    pub fn node(&self, id: FileId) -> Option<&Node> {
        self.nodes.get(&id).map(Arc::as_ref)
    }

    fn node_mut(&mut self, id: FileId) -> Option<&mut Node> {
        self.nodes.get_mut(&id).map(Arc::make_mut)
    }

    /// All nodes, also those without a name, in no order.
    pub fn nodes(&self) -> impl Iterator<Item = (FileId, &Node)> {
        self.nodes.iter().map(|(id, node)| (*id, node.as_ref()))
    }

    /// The names in a directory, in the order of their bytes; none of what is no directory.
    pub fn entries(&self, directory: FileId) -> impl Iterator<Item = (&[u8], FileId)> {
        let names = match self.nodes.get(&directory).map(|node| &node.body) {
            Some(Body::Directory(names)) => Some(names),
            _ => None,
        };
        let names = names.into_iter().flatten();
        names.map(|(name, node)| (name.as_slice(), *node))
    }

    /// Where an absolute path leads, without following symbolic links.
    pub fn resolve(&self, path: &[u8]) -> Option<FileId> {
        let mut names = path.split(|byte| *byte == b'/');
        names.try_fold(self.root?, |at, name| match name {
            b"" => Some(at),
            name => self.entry(at, name),
        })
    }

    /// The node that a name leads to.
    pub(crate) fn entry(&self, directory: FileId, name: &[u8]) -> Option<FileId> {
        match &self.nodes.get(&directory)?.body {
            Body::Directory(names) => names.get(name).copied(),
            _ => None,
        }
    }

    /// Bytes of the log that the files in the tree have: of a file with two names once.
    pub fn stored_bytes(&self) -> u64 {
        let named = self.nodes.values().filter(|node| node.links > 0);
        named.fold(0, |sum: u64, node| match &node.body {
            Body::File(contents) => sum.saturating_add(contents.stored_bytes()),
            _ => sum,
        })
    }

    /// Operations that do not fit to what was before, such as the removal of a name that was
    /// not there: how many, and the first of them in words. A complete log has none.
    pub fn misfits(&self) -> (u64, &[String]) {
        (self.misfit_count, &self.misfits)
    }
}

impl Node {
    fn new(kind: FileKind, mode: Option<u32>, body: Body) -> Self {
        Self {
            kind,
            attributes: Attributes {
                mode: mode.map(|mode| mode & 0o7777),
                ..Attributes::default()
            },
            body,
            links: 0,
            name: None,
        }
    }

    fn empty(kind: FileKind, mode: Option<u32>) -> Self {
        let body = match kind {
            FileKind::Regular => Body::File(Contents::default()),
            FileKind::Directory => Body::Directory(BTreeMap::new()),
            FileKind::Symlink => Body::Symlink(None),
            _ => Body::Special { device_number: 0 },
        };
        Self::new(kind, mode, body)
    }
}

fn too_long() -> String {
    "the file would be longer than 2^63 - 1 bytes".to_owned()
}
