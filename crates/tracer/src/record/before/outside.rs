//! Files that existed before the program changed them, and whose previous contents the log lacks.

use std::collections::HashSet;

use iostrata_core::gap::{Gap, Listed, Reason};
use iostrata_core::op::FileId;
use iostrata_core::record::{Change, Examples, FileKind, Operation, RENAME_EXCHANGE};

use super::super::nodes::Nodes;

/// Follows operations; does nothing if the user did not request previous contents.
#[derive(Debug, Default)]
pub(in crate::record) struct Outside {
    /// Existing regular files that were not copied; `None` if not requested.
    found: Option<HashSet<FileId>>,
    changed: Examples,
    /// Names at which a rename may have replaced a file.
    perhaps: Examples,
}

impl Outside {
    /// Previous contents were requested. `left` are files of the directories that were left out.
    pub(in crate::record) fn asked(left: HashSet<FileId>) -> Self {
        Self {
            found: Some(left),
            ..Self::default()
        }
    }

    /// An operation enters the log.
    pub(in crate::record) fn saw(&mut self, operation: &Operation, nodes: &Nodes) {
        let Some(found) = &mut self.found else { return };
        if operation.outcome.is_err() {
            return;
        }
        let change = &operation.change;
        if let Change::Found {
            node,
            kind: FileKind::Regular,
            ..
        } = change
        {
            found.insert(*node);
            return;
        }
        if let Some(node) = change.made() {
            found.remove(&node);
            return;
        }
        if let Some(node) = loses(change)
            && found.remove(&node)
        {
            self.changed.add(|| name_of(change, node, nodes));
        }
        if let Change::Renamed {
            node,
            to,
            other: None,
            ..
        } = change
            && !nodes.is_listed(to.parent)
        {
            self.perhaps.add(|| name_of(change, *node, nodes));
        }
    }

    pub(in crate::record) fn gaps(&self) -> impl Iterator<Item = Gap> {
        let changed = self
            .changed
            .gap(Listed::EarlierContentsChanged, Reason::BeforeNotStored);
        let perhaps = self
            .perhaps
            .gap(Listed::EarlierTargets, Reason::BeforeNotKnown);
        changed.into_iter().chain(perhaps)
    }
}

/// The file whose contents were partly destroyed.
fn loses(change: &Change) -> Option<FileId> {
    match change {
        Change::Wrote { node, .. }
        | Change::Stored { node, .. }
        | Change::Resized { node, .. }
        | Change::Allocated { node, .. }
        | Change::Cloned { node, .. }
        | Change::Opened {
            node,
            truncated: true,
            ..
        }
        | Change::Unlinked { node, .. } => Some(*node),
        Change::Renamed { other, flags, .. } if flags & RENAME_EXCHANGE == 0 => *other,
        _ => None,
    }
}

fn name_of(change: &Change, node: FileId, nodes: &Nodes) -> String {
    // Names that a call removed are not among the existing ones.
    let name = change.other_name().or(change.name());
    let path = match name {
        Some(name) => nodes.path_of(name.parent).map(|mut path| {
            if !path.ends_with(b"/") {
                path.push(b'/');
            }
            path.extend_from_slice(&name.name);
            path
        }),
        None => nodes.path_of(node),
    };
    path.map_or_else(
        || format!("inode {}", node.inode),
        |path| String::from_utf8_lossy(&path).into_owned(),
    )
}
