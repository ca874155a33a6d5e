//! Adding and removing names of nodes.

use std::sync::Arc;

use super::{Body, DEEPEST, Node, Tree};
use crate::op::FileId;
use crate::record::{FileKind, Name};

impl Tree {
    /// Gives a node a name. A node that had the name loses it.
    pub(super) fn put(&mut self, name: &Name, node: FileId) -> Result<(), String> {
        if !name.is_possible() {
            return Err(format!(
                "no file can be called {:?}",
                String::from_utf8_lossy(&name.name)
            ));
        }
        let is_directory = self
            .nodes
            .get(&node)
            .is_some_and(|node| node.kind == FileKind::Directory);
        self.check_depth(name.parent, is_directory.then_some(node))?;
        self.lose_place(node);
        let parent = self.directory(name.parent);
        let Body::Directory(names) = &mut parent.body else {
            return Err("a name would be in a node that is not a directory".to_owned());
        };
        let before = names.insert(name.name.clone(), node);
        if before == Some(node) {
            return Ok(());
        }
        if let Some(before) = before {
            self.unlink(before);
        }
        if let Some(named) = self.node_mut(node) {
            named.links = named.links.saturating_add(1);
            named.name = is_directory.then(|| name.clone());
        }
        Ok(())
    }

    /// A directory has one name: it loses that before it gets another.
    pub(super) fn lose_place(&mut self, directory: FileId) {
        let name = self
            .nodes
            .get(&directory)
            .and_then(|node| node.name.clone());
        if let Some(name) = name {
            self.take(&name);
        }
    }

    /// Removes a name; returns the node that had it.
    pub(super) fn take(&mut self, name: &Name) -> Option<FileId> {
        let parent = self.node_mut(name.parent)?;
        let Body::Directory(names) = &mut parent.body else {
            return None;
        };
        let node = names.remove(&name.name)?;
        self.unlink(node);
        Some(node)
    }

    fn unlink(&mut self, node: FileId) {
        if let Some(node) = self.node_mut(node) {
            node.links = node.links.saturating_sub(1);
            node.name = None;
        }
    }

    /// A node with names in it is a directory, even if it was not recorded as found.
    fn directory(&mut self, id: FileId) -> &mut Node {
        let node = self
            .nodes
            .entry(id)
            .or_insert_with(|| Arc::new(Node::empty(FileKind::Directory, None)));
        Arc::make_mut(node)
    }

    /// No directory is inside itself, and none exceeds the maximum depth.
    fn check_depth(&self, parent: FileId, moved: Option<FileId>) -> Result<(), String> {
        let mut at = Some(parent);
        for _ in 0..DEEPEST {
            let Some(here) = at else {
                return Ok(());
            };
            if moved == Some(here) {
                return Err("a directory would be within itself".to_owned());
            }
            let name = self.nodes.get(&here).and_then(|node| node.name.as_ref());
            at = name.map(|name| name.parent);
        }
        Err(format!("it is within more than {DEEPEST} directories"))
    }
}
