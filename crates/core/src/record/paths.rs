//! Absolute paths, derived from names.

use std::collections::HashMap;

use super::{Change, Name, Operation, Place, RENAME_EXCHANGE};
use crate::op::FileId;

/// Deeper paths are cut at their beginning: a log is untrusted input, and names may form a cycle.
const DEEPEST: usize = 4096;

/// Longer ones are cut too: no file system has longer names (`NAME_MAX`), and a path of `PATH_MAX`
/// has 4096 bytes (include/uapi/linux/limits.h).
const LONGEST: usize = 64 << 10;

/// Memory of a node besides its name, bytes.
const PLACE_BYTES: u64 = 96;

/// The location of each node: its last name, or that it is the root.
///
/// Grows with the number of nodes of a log, not of its operations.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    names: HashMap<FileId, Place>,
    name_bytes: u64,
}

impl Paths {
    pub fn follow(&mut self, operation: &Operation) {
        if operation.outcome.is_err() {
            return;
        }
        match &operation.change {
            Change::Found { node, place, .. }
            | Change::Opened {
                node,
                created: Some(place),
                ..
            } => self.place(*node, place.clone()),
            Change::Made { node, name, .. } | Change::Linked { node, name } => {
                self.place(*node, Place::Name(name.clone()));
            }
            Change::Renamed {
                node,
                from,
                to,
                other,
                flags,
            } => {
                if let Some(other) = other.filter(|_| flags & RENAME_EXCHANGE != 0) {
                    self.place(other, Place::Name(from.clone()));
                }
                self.place(*node, Place::Name(to.clone()));
            }
            _ => {}
        }
    }

    fn place(&mut self, node: FileId, place: Place) {
        let bytes = |place: &Place| match place {
            Place::Name(name) => name.name.len() as u64,
            Place::Root | Place::Nowhere => 0,
        };
        self.name_bytes += bytes(&place);
        if let Some(before) = self.names.insert(node, place) {
            self.name_bytes -= bytes(&before);
        }
    }

    /// Its memory, bytes, approximately.
    pub fn memory_bytes(&self) -> u64 {
        let nodes = self.names.len() as u64;
        self.name_bytes.saturating_add(nodes * PLACE_BYTES)
    }

    /// The last path of a node.
    pub fn of_node(&self, node: FileId) -> Option<Vec<u8>> {
        match self.names.get(&node)? {
            Place::Root => Some(b"/".to_vec()),
            Place::Nowhere => None,
            Place::Name(name) => Some(self.of_name(name)),
        }
    }

    /// The path of a name. It begins with an ellipsis where its start is unknown.
    pub fn of_name(&self, name: &Name) -> Vec<u8> {
        let mut parts = vec![name.name.as_slice()];
        let mut bytes = name.name.len();
        let mut parent = name.parent;
        let begin = loop {
            match self.names.get(&parent) {
                Some(Place::Root) => break "",
                Some(Place::Name(above)) if parts.len() < DEEPEST && bytes < LONGEST => {
                    bytes += above.name.len();
                    parts.push(&above.name);
                    parent = above.parent;
                }
                _ => break "…",
            }
        };
        parts.push(begin.as_bytes());
        parts.reverse();
        parts.join(&b'/')
    }

    /// Applies an operation and returns the path of its name, or otherwise of its node.
    pub fn of(&mut self, operation: &Operation) -> Option<Vec<u8>> {
        // The name of a rename or removal is the previous one.
        let before = operation.change.name().map(|name| self.of_name(name));
        self.follow(operation);
        before.or_else(|| match &operation.change {
            Change::Attempted { paths } => paths.first().cloned(),
            change => self.of_node(change.node()?),
        })
    }

    /// The second path of an operation: a new name, or the target of a symbolic link.
    pub fn other(&self, operation: &Operation) -> Option<Vec<u8>> {
        match &operation.change {
            Change::Attempted { paths } => paths.get(1).cloned(),
            Change::Made { target, .. } if !target.is_empty() => Some(target.clone()),
            change => change.other_name().map(|name| self.of_name(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::super::{Description, FileKind};
    use super::*;

    fn node(inode: u64) -> FileId {
        FileId {
            device: 1,
            inode,
            generation: 0,
        }
    }

    fn done(change: Change) -> Operation {
        Operation {
            id: 0,
            process: 1,
            thread: 1,
            started_ns: 0,
            took_ns: 0,
            call: Cow::Borrowed("call"),
            outcome: Ok(0),
            change,
        }
    }

    fn found(inode: u64, place: Place) -> Operation {
        done(Change::Found {
            node: node(inode),
            kind: FileKind::Directory,
            place,
            mode: None,
            size_bytes: 0,
            contents: None,
        })
    }

    fn named(parent: u64, name: &str) -> Name {
        Name::new(node(parent), name)
    }

    #[test]
    fn paths_are_made_of_names_and_follow_renames() {
        let mut paths = Paths::default();
        let closed = done(Change::Closed {
            node: node(3),
            description: Description(1),
        });
        assert_eq!(paths.of(&closed), None);
        assert_eq!(paths.of(&found(1, Place::Root)).unwrap(), b"/");
        let directory = found(2, Place::Name(named(1, "d")));
        assert_eq!(paths.of(&directory).unwrap(), b"/d");
        let file = found(3, Place::Name(named(2, "f")));
        assert_eq!(paths.of(&file).unwrap(), b"/d/f");
        assert_eq!(paths.of(&closed).unwrap(), b"/d/f");
        let renamed = done(Change::Renamed {
            node: node(2),
            from: named(1, "d"),
            to: named(1, "e"),
            other: None,
            flags: 0,
        });
        assert_eq!(paths.of(&renamed).unwrap(), b"/d");
        assert_eq!(paths.other(&renamed).unwrap(), b"/e");
        assert_eq!(paths.of(&closed).unwrap(), b"/e/f");
    }

    #[test]
    fn what_is_above_may_be_unknown_or_go_in_a_circle() {
        let mut paths = Paths::default();
        let lost = found(3, Place::Name(named(2, "f")));
        assert_eq!(paths.of(&lost).unwrap(), "…/f".as_bytes());
        paths.follow(&found(2, Place::Name(named(3, "d"))));
        let path = paths.of_node(node(3)).unwrap();
        assert!(path.starts_with("…/".as_bytes()) && path.len() < 10_000);
        paths.follow(&found(4, Place::Nowhere));
        assert_eq!(paths.of_node(node(4)), None);
    }

    #[test]
    fn a_call_that_failed_has_the_paths_it_was_given() {
        let mut paths = Paths::default();
        let failed = Operation {
            outcome: Err(2),
            ..done(Change::Attempted {
                paths: vec![b"a".to_vec(), b"../b".to_vec()],
            })
        };
        assert_eq!(paths.of(&failed).unwrap(), b"a");
        assert_eq!(paths.other(&failed).unwrap(), b"../b");
    }
}
