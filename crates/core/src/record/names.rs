//! The names of files, followed operation by operation.

use std::collections::BTreeMap;

use super::{Change, Operation};
use crate::op::FileId;

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A file with contents.
    File(FileId),
    /// A directory that the program made.
    Directory,
    /// A symbolic link, and what it says.
    Symlink(Vec<u8>),
    /// A device, FIFO or socket.
    Special,
}

/// All names that a log tells of.
///
/// A file gets its first name when the program creates it or when it is found; opening it
/// again, perhaps through a symbolic link, gives it no other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    by_path: BTreeMap<Vec<u8>, Node>,
}

impl Names {
    /// The names, and what they stand for, by path: a directory comes before what is in it.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &Node)> {
        self.by_path
            .iter()
            .map(|(path, node)| (path.as_slice(), node))
    }

    /// What a path stands for.
    pub fn get(&self, path: &[u8]) -> Option<&Node> {
        self.by_path.get(path)
    }

    /// Follows one operation; one that failed changes nothing.
    pub fn apply(&mut self, operation: &Operation) {
        if operation.outcome.is_err() {
            return;
        }
        match &operation.change {
            Change::Found { file, path, .. }
            | Change::Opened {
                file,
                path,
                created: true,
                ..
            } => {
                self.by_path.insert(path.clone(), Node::File(*file));
            }
            Change::MadeDirectory { path, .. } => {
                self.by_path.insert(path.clone(), Node::Directory);
            }
            Change::MadeSymlink { target, path } => {
                let node = Node::Symlink(target.clone());
                self.by_path.insert(path.clone(), node);
            }
            Change::MadeNode { path, .. } => {
                self.by_path.insert(path.clone(), Node::Special);
            }
            Change::Linked { from, to } => {
                if let Some(node) = self.by_path.get(from).cloned() {
                    self.by_path.insert(to.clone(), node);
                }
            }
            Change::Unlinked { path, .. } => {
                self.by_path.remove(path);
            }
            Change::Renamed { from, to, exchange } => self.rename(from, to, *exchange),
            _ => {}
        }
    }

    /// POSIX: two names of the same file are left alone.
    fn rename(&mut self, from: &[u8], to: &[u8], exchange: bool) {
        let is_same_file = matches!(self.by_path.get(from), Some(Node::File(_)))
            && self.by_path.get(from) == self.by_path.get(to);
        if from == to || (is_same_file && !exchange) {
            return;
        }
        let moved = self.take(from);
        let other = self.take(to);
        self.put(moved, from, to);
        if exchange {
            self.put(other, to, from);
        }
    }

    /// A name, and all names below it.
    fn take(&mut self, path: &[u8]) -> Vec<(Vec<u8>, Node)> {
        let below: Vec<Vec<u8>> = self
            .by_path
            .range(path.to_vec()..)
            .map(|(name, _)| name)
            .take_while(|name| name.starts_with(path))
            .filter(|name| matches!(name.get(path.len()), None | Some(b'/')))
            .cloned()
            .collect();
        below
            .into_iter()
            .filter_map(|name| self.by_path.remove_entry(&name))
            .collect()
    }

    fn put(&mut self, names: Vec<(Vec<u8>, Node)>, from: &[u8], to: &[u8]) {
        for (name, node) in names {
            let moved = [to, &name[from.len()..]].concat();
            self.by_path.insert(moved, node);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    fn file(inode: u64) -> FileId {
        FileId {
            device: 1,
            inode,
            generation: 0,
        }
    }

    fn created(path: &str, inode: u64) -> Change {
        Change::Opened {
            file: file(inode),
            path: path.into(),
            flags: 0,
            created: true,
            truncated: false,
        }
    }

    fn renamed(from: &str, to: &str, exchange: bool) -> Change {
        Change::Renamed {
            from: from.into(),
            to: to.into(),
            exchange,
        }
    }

    fn follow(changes: Vec<(Change, Result<u64, i32>)>) -> Vec<(String, Node)> {
        let mut names = Names::default();
        for (change, outcome) in changes {
            names.apply(&Operation {
                id: 0,
                process: 1,
                thread: 1,
                started_ns: 0,
                took_ns: 0,
                call: Cow::Borrowed("call"),
                outcome,
                change,
            });
        }
        let text = |path: &[u8]| String::from_utf8(path.to_vec()).unwrap();
        names
            .iter()
            .map(|(path, node)| (text(path), node.clone()))
            .collect()
    }

    #[test]
    fn a_rename_replaces_and_a_failed_one_does_not() {
        let names = follow(vec![
            (created("/a", 1), Ok(3)),
            (created("/b", 2), Ok(3)),
            (renamed("/a", "/c", false), Err(13)),
            (renamed("/a", "/b", false), Ok(0)),
        ]);
        assert_eq!(names, [("/b".into(), Node::File(file(1)))]);
    }

    #[test]
    fn a_renamed_directory_takes_what_is_in_it_but_not_its_neighbours() {
        let made = Change::MadeDirectory {
            path: b"/d".to_vec(),
            mode: 0o755,
        };
        let names = follow(vec![
            (made, Ok(0)),
            (created("/d/x", 1), Ok(3)),
            (created("/d-y", 2), Ok(3)),
            (renamed("/d", "/e", false), Ok(0)),
        ]);
        let expected = [
            ("/d-y".into(), Node::File(file(2))),
            ("/e".into(), Node::Directory),
            ("/e/x".into(), Node::File(file(1))),
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn an_exchange_swaps() {
        let names = follow(vec![
            (created("/a", 1), Ok(3)),
            (created("/b", 2), Ok(3)),
            (renamed("/a", "/b", true), Ok(0)),
        ]);
        let expected = [
            ("/a".into(), Node::File(file(2))),
            ("/b".into(), Node::File(file(1))),
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn links_are_names_of_one_file_and_opening_again_gives_no_name() {
        let again = Change::Opened {
            file: file(1),
            path: b"/through/a/symlink".to_vec(),
            flags: 0,
            created: false,
            truncated: false,
        };
        let link = Change::Linked {
            from: b"/a".to_vec(),
            to: b"/b".to_vec(),
        };
        let gone = Change::Unlinked {
            path: b"/a".to_vec(),
            directory: false,
        };
        let names = follow(vec![
            (created("/a", 1), Ok(3)),
            (again, Ok(4)),
            (link, Ok(0)),
            (renamed("/a", "/b", false), Ok(0)),
            (gone, Ok(0)),
        ]);
        assert_eq!(names, [("/b".into(), Node::File(file(1)))]);
    }
}
