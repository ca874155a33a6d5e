//! Where nodes of a tree have their names, as the tree changes.

use std::collections::HashMap;

use crate::op::FileId;
use crate::record::{Body, Name, Tree};

/// The names of each node.
#[derive(Debug, Clone, Default)]
pub(super) struct Names(HashMap<FileId, Vec<Name>>);

impl Names {
    pub(super) fn of(tree: &Tree) -> Self {
        let mut names = Self::default();
        for (directory, node) in tree.nodes() {
            if let Body::Directory(entries) = &node.body {
                for (name, child) in entries {
                    names.give(Name::new(directory, name.clone()), *child, false);
                }
            }
        }
        names
    }

    /// A name leads from one node to another, or to nothing. A directory has one name.
    pub(super) fn change(
        &mut self,
        name: &Name,
        before: Option<FileId>,
        node: Option<FileId>,
        is_directory: bool,
    ) {
        if let Some(names) = before.and_then(|before| self.0.get_mut(&before)) {
            names.retain(|one| one != name);
        }
        if let Some(node) = node {
            self.give(name.clone(), node, is_directory);
        }
    }

    fn give(&mut self, name: Name, node: FileId, is_directory: bool) {
        let names = self.0.entry(node).or_default();
        if is_directory {
            names.clear();
        }
        names.push(name);
    }

    pub(super) fn of_node(&self, node: FileId) -> &[Name] {
        self.0.get(&node).map_or(&[], Vec::as_slice)
    }

    /// The paths of a node below a directory.
    pub(super) fn paths(&self, node: FileId, root: FileId) -> Vec<Vec<u8>> {
        let names = self.of_node(node).iter();
        names.filter_map(|name| self.path(name, root)).collect()
    }

    /// The path of a name below a directory; `None` where it is not below it.
    pub(super) fn path(&self, name: &Name, root: FileId) -> Option<Vec<u8>> {
        let mut parts = vec![name.name.as_slice()];
        let mut at = name.parent;
        while at != root {
            let name = self.of_node(at).first()?;
            parts.push(&name.name);
            at = name.parent;
        }
        parts.reverse();
        Some(parts.join(&b'/'))
    }
}
