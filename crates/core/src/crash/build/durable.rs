//! What an operation makes durable, and which files the program regards as complete after it.

use std::collections::{HashMap, HashSet};

use super::Builder;
use crate::crash::effect::Piece;
use crate::crash::history::{History, Sync, Thread};
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

impl History {
    /// What a report vouches for is complete then, though the program may not close it: a shell closes by dup2(2), a log
    /// stays open. Another thread may be in the middle of it, unless it is at its end, or nobody ever syncs the file.
    pub(super) fn settle_reports(&mut self) {
        let mut last_of: HashMap<Thread, usize> = HashMap::new();
        let mut synced = HashSet::new();
        for (number, step) in self.steps.iter().enumerate() {
            last_of.insert(step.thread, number);
            match step.sync {
                Some(Sync::File(node) | Sync::Data(node) | Sync::Range { file: node, .. }) => {
                    synced.insert(node);
                }
                Some(Sync::All) | None => {}
            }
        }
        let syncs_all = self.steps.iter().any(|step| step.sync == Some(Sync::All));
        let mut changed_by: HashMap<FileId, Thread> = HashMap::new();
        for number in 0..self.steps.len() {
            let step = &self.steps[number];
            for effect in &self.effects[step.effects.clone()] {
                if !matches!(effect.piece, Piece::Entry { .. }) {
                    changed_by.insert(effect.node(), step.thread);
                }
            }
            for node in &step.settles {
                changed_by.remove(node);
            }
            if step.printed.is_none() {
                continue;
            }
            let is_told = |node: &FileId, by: &Thread| {
                *by == step.thread || last_of[by] < number || !syncs_all && !synced.contains(node)
            };
            let told: Vec<FileId> = changed_by
                .extract_if(|node, by| is_told(node, by))
                .map(|(node, _)| node)
                .collect();
            self.steps[number].settles.extend(told);
        }
    }
}
