//! The memory of a tree.

use super::{Body, Node, Tree};
use crate::record::{Attribute, Change, Exceeded};

/// Overhead of a map element, bytes: an extent, a name, a node.
const EXTENT: u64 = 64;
const NAME: u64 = 96;
const NODE: u64 = size_of::<Node>() as u64 + 64;

impl Tree {
    /// Adds the most that an operation can need. When that reaches the limit the real memory is
    /// computed, since operations also free memory.
    pub(super) fn charge(&mut self, change: &Change) -> Result<(), Exceeded> {
        self.memory_bytes = self.memory_bytes.saturating_add(added_bytes(change));
        if self.limits.check_memory(self.memory_bytes).is_err() {
            self.memory_bytes = self.counted_bytes();
            // Otherwise it would be computed again after a few operations.
            self.limits
                .check_memory(self.memory_bytes.saturating_mul(2))?;
        }
        Ok(())
    }

    /// Its memory, bytes, approximately.
    fn counted_bytes(&self) -> u64 {
        self.nodes.values().map(|node| node_bytes(node)).sum()
    }
}

fn node_bytes(node: &Node) -> u64 {
    let body = match &node.body {
        Body::File(contents) => contents.extent_count() as u64 * EXTENT,
        Body::Directory(names) => names.keys().map(|name| NAME + name.len() as u64).sum(),
        Body::Symlink(target) => target.as_ref().map_or(0, |target| target.len() as u64),
        Body::Special { .. } => 0,
    };
    let extended = node.attributes.extended.iter();
    let extended = extended.map(|(name, value)| {
        let value = value.as_ref().map_or(0, Vec::len);
        NAME + (name.len() + value) as u64
    });
    NODE + body + extended.sum::<u64>()
}

/// The maximum growth of the tree: a node, a name of it, and their contents.
fn added_bytes(change: &Change) -> u64 {
    let pieces = change.payload().map_or(0, |payload| payload.pieces.len());
    let name = change.other_name().or(change.name());
    let text = name.map_or(0, |name| name.name.len())
        + match change {
            Change::Made { target, .. } => target.len(),
            Change::Changed {
                attribute: Attribute::Extended { name, value, .. },
                ..
            } => name.len() + value.as_ref().map_or(0, Vec::len),
            _ => 0,
        };
    // A write splits an extent in two.
    2 * NODE + 2 * NAME + text as u64 + (pieces as u64 + 2) * EXTENT
}
