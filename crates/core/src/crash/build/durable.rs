//! What an operation makes durable, and which files the program regards as complete after it.

use super::Builder;
use crate::crash::history::Sync;
use crate::op::{FileId, FileKind};
use crate::record::{Change, Durability};

/// `O_DSYNC` and the further bit of `O_SYNC` (include/uapi/asm-generic/fcntl.h).
const O_DSYNC: u32 = 0o10000;
const O_SYNC_BIT: u32 = 0o4_000_000;
/// include/uapi/linux/fs.h
const RWF_DSYNC: u32 = 0x2;
const RWF_SYNC: u32 = 0x4;

impl Builder {
    pub(super) fn sync_of(&self, change: &Change) -> Option<Sync> {
        match change {
            Change::Synced { node, scope, .. } => match (scope, node) {
                (Durability::File, Some(node)) => Some(Sync::File(*node)),
                // The data of a directory are its names.
                (Durability::Data, Some(node)) if self.is_directory(*node) => {
                    Some(Sync::File(*node))
                }
                (Durability::Data, Some(node)) => Some(Sync::Data(*node)),
                (Durability::Range { offset, bytes }, Some(node)) => Some(Sync::Range {
                    file: *node,
                    offset: *offset,
                    bytes: *bytes,
                }),
                (Durability::FileSystem, Some(node)) if !self.is_near(*node) => None,
                (Durability::FileSystem | Durability::Everything, _) => Some(Sync::All),
                _ => None,
            },
            Change::Wrote {
                node,
                description,
                flags,
                ..
            } => {
                let opened = description.and_then(|one| self.descriptions.get(&one));
                let opened = opened.copied().unwrap_or(0);
                if opened & O_SYNC_BIT != 0 || flags & RWF_SYNC != 0 {
                    Some(Sync::File(*node))
                } else if opened & O_DSYNC != 0 || flags & RWF_DSYNC != 0 {
                    Some(Sync::Data(*node))
                } else {
                    None
                }
            }
            _ => None,
        }
    }

    fn is_directory(&self, node: FileId) -> bool {
        let node = self.now.node(node);
        node.is_some_and(|node| node.kind == FileKind::Directory)
    }

    /// Whether a node is in the file system of the directory under test.
    fn is_near(&self, node: FileId) -> bool {
        self.root().is_some_and(|root| root.device == node.device)
    }
}

/// Files that are complete after this change, as far as the program shows: closed, synced or named.
pub(super) fn settled(change: &Change) -> Vec<FileId> {
    match change {
        Change::Closed { node, .. }
        | Change::Linked { node, .. }
        | Change::Renamed { node, .. }
        | Change::Made { node, .. }
        | Change::Synced {
            node: Some(node), ..
        } => vec![*node],
        _ => Vec::new(),
    }
}
