//! The tree that results from a log's operations, held in memory: small, and exact.
//!
//! Starting from the found nodes, operations yield nodes with their names, lengths, attributes and
//! contents ([`Contents`], which refer to the log). A log is untrusted input: states impossible in
//! a file system are refused ([`Impossible`]), and operations inconsistent with the previous state
//! are counted.

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

/// Maximum depth of directories below the root; `PATH_MAX` allows half of it.
pub(super) const DEEPEST: usize = 4096;

/// Inconsistent operations are counted; this many are described.
const TOLD: usize = 16;

/// A tree, and the nodes without a name in it.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// Shared between copies of a tree until one of them changes it.
    nodes: HashMap<FileId, Arc<Node>>,
    root: Option<FileId>,
    misfits: Vec<String>,
    misfit_count: u64,
    limits: Limits,
    /// Upper bound of its memory, bytes: the last computed value plus additions since then.
    memory_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub kind: FileKind,
    pub attributes: Attributes,
    pub body: Body,
    /// Number of its names in this tree.
    pub links: u64,
    /// For a directory: its only name.
    name: Option<Name>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    File(Contents),
    Directory(BTreeMap<Vec<u8>, FileId>),
    /// A symbolic link: its target; `None` when the log does not have it.
    Symlink(Option<Vec<u8>>),
    /// A device: its number; 0 for a FIFO, a socket and other kinds.
    Special {
        /// As `st_rdev` is encoded.
        device_number: u64,
    },
}

/// The attributes of a node, as far as the log knows them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attributes {
    /// The twelve low bits of the mode, if known.
    pub mode: Option<u32>,
    /// Owner that was set.
    pub user: Option<u32>,
    /// Group that was set.
    pub group: Option<u32>,
    /// Modification time that was set and not changed by a later write.
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
    pub operation: u64,
    pub call: String,
    pub what: String,
}

/// Why an operation was not applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error(transparent)]
    Impossible(#[from] Impossible),
    /// The tree would be too large.
    #[error(transparent)]
    Exceeded(#[from] Exceeded),
}

impl Tree {
    /// An empty tree with this memory limit; the limit of expanded bytes does not apply.
    pub fn within(limits: Limits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Whether both hold the same, named and nameless.
    pub fn is_same(&self, other: &Self) -> bool {
        self.root == other.root && self.nodes == other.nodes
    }

    /// The root of all paths, if the log recorded one.
    pub fn root(&self) -> Option<FileId> {
        self.root
    }

    pub fn node(&self, id: FileId) -> Option<&Node> {
        self.nodes.get(&id).map(Arc::as_ref)
    }

    /// The length of a file; 0 for anything else.
    pub fn size_bytes(&self, id: FileId) -> u64 {
        match self.node(id).map(|node| &node.body) {
            Some(Body::File(contents)) => contents.size_bytes(),
            _ => 0,
        }
    }

    /// A node as other trees share it: it is another one as soon as this tree changes it.
    pub(crate) fn shared(&self, id: FileId) -> Option<&Arc<Node>> {
        self.nodes.get(&id)
    }

    fn node_mut(&mut self, id: FileId) -> Option<&mut Node> {
        self.nodes.get_mut(&id).map(Arc::make_mut)
    }

    /// All nodes, including those without a name, unordered.
    pub fn nodes(&self) -> impl Iterator<Item = (FileId, &Node)> {
        self.nodes.iter().map(|(id, node)| (*id, node.as_ref()))
    }

    /// The names in a directory, in byte order; none for other nodes.
    pub fn entries(&self, directory: FileId) -> impl Iterator<Item = (&[u8], FileId)> {
        let names = match self.nodes.get(&directory).map(|node| &node.body) {
            Some(Body::Directory(names)) => Some(names),
            _ => None,
        };
        let names = names.into_iter().flatten();
        names.map(|(name, node)| (name.as_slice(), *node))
    }

    /// The target of an absolute path, without following symbolic links.
    pub fn resolve(&self, path: &[u8]) -> Option<FileId> {
        self.below(self.root?, path)
    }

    /// The target of a path below a directory; the directory itself of an empty one.
    pub(crate) fn below(&self, directory: FileId, path: &[u8]) -> Option<FileId> {
        let mut names = path
            .split(|byte| *byte == b'/')
            .filter(|name| !name.is_empty());
        names.try_fold(directory, |at, name| self.entry(at, name))
    }

    /// The node that a name leads to.
    pub(crate) fn entry(&self, directory: FileId, name: &[u8]) -> Option<FileId> {
        match &self.nodes.get(&directory)?.body {
            Body::Directory(names) => names.get(name).copied(),
            _ => None,
        }
    }

    /// Bytes of the log in the tree's files; a file with two names counts once.
    pub fn stored_bytes(&self) -> u64 {
        let named = self.nodes.values().filter(|node| node.links > 0);
        named.fold(0, |sum: u64, node| match &node.body {
            Body::File(contents) => sum.saturating_add(contents.stored_bytes()),
            _ => sum,
        })
    }

    /// Operations inconsistent with the previous state, such as the removal of a missing name: how
    /// many, and descriptions of the first ones. A complete log has none.
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
