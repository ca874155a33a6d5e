//! Changes that are parts of operations, as a crash leaves them.

use std::sync::Arc;

use super::{Body, Node, Tree};
use crate::op::{FileId, FileKind};
use crate::record::contents::TooLong;
use crate::record::{Attribute, Contents, Name};

impl Tree {
    /// A node that has no name yet; one that is there stays.
    pub(crate) fn add_empty(&mut self, id: FileId, kind: FileKind, mode: Option<u32>) {
        let node = || Arc::new(Node::empty(kind, mode));
        self.nodes.entry(id).or_insert_with(node);
    }

    /// What a symbolic link says, and the number of a device.
    pub(crate) fn describe(&mut self, id: FileId, target: &[u8], number: u64) {
        match self.node_mut(id).map(|node| &mut node.body) {
            Some(Body::Symlink(says)) => *says = Some(target.to_vec()),
            Some(Body::Special { device_number }) => *device_number = number,
            _ => {}
        }
    }

    /// Lets a name lead to a node, or to nothing. Fails when no directory could have that name: a
    /// directory within itself.
    pub(crate) fn set_entry(&mut self, name: &Name, node: Option<FileId>) -> Result<(), String> {
        if let Some(node) = node {
            return self.put(name, node);
        }
        self.take(name);
        Ok(())
    }

    /// Changes the contents of a regular file; whatever else the node is stays as it is.
    pub(crate) fn change_contents(
        &mut self,
        file: FileId,
        change: impl FnOnce(&mut Contents) -> Result<(), TooLong>,
    ) -> Result<(), String> {
        match self.node_mut(file).map(|node| &mut node.body) {
            Some(Body::File(contents)) => change(contents).map_err(|TooLong| super::too_long()),
            _ => Ok(()),
        }
    }

    /// Makes a node what it is in another tree, but for its names, and for those in it.
    pub(crate) fn restore(&mut self, id: FileId, like: &Self) {
        let (Some(node), Some(like)) = (self.node_mut(id), like.node(id)) else {
            return;
        };
        node.attributes = like.attributes.clone();
        if !matches!(node.body, Body::Directory(_)) {
            node.body = like.body.clone();
        }
    }

    pub(crate) fn set_attribute(&mut self, node: FileId, attribute: &Attribute) {
        self.attribute(0, node, attribute);
    }
}
