//! What a recording of a small program would say. Letters are chunks of payload: `a` is chunk 97.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use glob::Pattern;

use super::{Call, Filled, Given, Litmus};
use crate::crash::build::Builder;
use crate::crash::history::History;
use crate::op::{FileId, FileKind};
use crate::record::{
    Change, Contents, Description, Durability, Name, Operation, Payload, Piece, Place,
};

/// include/uapi/linux/fs.h
const RWF_DSYNC: u32 = 0x2;

/// The directory of the program.
pub(crate) const ROOT: FileId = id(2);

pub(crate) const fn id(inode: u64) -> FileId {
    FileId {
        device: 1,
        inode,
        generation: 0,
    }
}

pub(crate) fn letters(letter: char, bytes: u32) -> Payload {
    Payload {
        pieces: vec![Piece::Stored {
            chunk: letter as u64,
            at: 0,
            bytes,
        }],
    }
}

pub(crate) struct Log {
    operations: Vec<Operation>,
    now_ns: u64,
    nodes: u64,
    /// The thread that makes the next calls.
    pub(crate) thread: u32,
}

impl Log {
    pub(crate) fn new() -> Self {
        let mut log = Self {
            operations: Vec::new(),
            now_ns: 1_000,
            nodes: 2,
            thread: 1,
        };
        log.find(ROOT, FileKind::Directory, Place::Root, None);
        log
    }

    pub(crate) fn push(&mut self, call: &'static str, change: Change) {
        self.push_during(call, change, 0);
    }

    /// An operation that begins so long before the last one ended.
    pub(crate) fn push_during(&mut self, call: &'static str, change: Change, before_ns: u64) {
        let started_ns = self.now_ns + 1 - before_ns;
        self.now_ns += 11;
        self.operations.push(Operation {
            id: self.operations.len() as u64,
            process: 1,
            thread: self.thread,
            started_ns,
            took_ns: self.now_ns - started_ns,
            call: Cow::Borrowed(call),
            outcome: Ok(0),
            change,
        });
    }

    /// The last operation failed with this `errno`.
    #[cfg(test)]
    pub(crate) fn failed(&mut self, errno: i32) {
        if let Some(last) = self.operations.last_mut() {
            last.outcome = Err(errno);
        }
    }

    /// The last two operations were one call.
    #[cfg(test)]
    pub(crate) fn at_once(&mut self) {
        if let [.., one, other] = self.operations.as_mut_slice() {
            (one.started_ns, one.took_ns) = (other.started_ns, other.took_ns);
        }
    }

    fn node(&mut self) -> FileId {
        self.nodes += 1;
        id(self.nodes)
    }

    fn find(&mut self, node: FileId, kind: FileKind, place: Place, contents: Option<Payload>) {
        let change = Change::Found {
            node,
            kind,
            place,
            mode: Some(if kind == FileKind::Directory {
                0o755
            } else {
                0o644
            }),
            size_bytes: contents.as_ref().map_or(0, Payload::bytes),
            contents,
        };
        self.push("openat", change);
    }

    pub(crate) fn found(&mut self, parent: FileId, name: &str, contents: Payload) -> FileId {
        let node = self.node();
        let place = Place::Name(Name::new(parent, name));
        self.find(node, FileKind::Regular, place, Some(contents));
        node
    }

    pub(crate) fn found_directory(&mut self, parent: FileId, name: &str) -> FileId {
        let node = self.node();
        let place = Place::Name(Name::new(parent, name));
        self.find(node, FileKind::Directory, place, None);
        node
    }

    pub(crate) fn create(&mut self, parent: FileId, name: &str) -> FileId {
        let node = self.node();
        let change = Change::Opened {
            node,
            description: Description(self.nodes),
            flags: 0,
            created: Some(Place::Name(Name::new(parent, name))),
            mode: Some(0o644),
            truncated: false,
        };
        self.push("openat", change);
        node
    }

    pub(crate) fn open_truncated(&mut self, node: FileId) {
        let change = Change::Opened {
            node,
            description: Description(node.inode),
            flags: 0,
            created: None,
            mode: None,
            truncated: true,
        };
        self.push("openat", change);
    }

    pub(crate) fn mkdir(&mut self, parent: FileId, name: &str) -> FileId {
        let node = self.node();
        let change = Change::Made {
            node,
            kind: FileKind::Directory,
            name: Name::new(parent, name),
            mode: Some(0o755),
            device_number: 0,
            target: Vec::new(),
        };
        self.push("mkdir", change);
        node
    }

    pub(crate) fn write(&mut self, node: FileId, offset: u64, payload: Payload) {
        self.write_flags(node, offset, payload, 0);
    }

    pub(crate) fn write_flags(&mut self, node: FileId, offset: u64, payload: Payload, flags: u32) {
        let change = Change::Wrote {
            node,
            description: None,
            offset,
            flags,
            payload,
        };
        self.push("pwrite64", change);
    }

    pub(crate) fn sync(&mut self, node: FileId, scope: Durability) {
        let change = Change::Synced {
            node: Some(node),
            description: None,
            scope,
        };
        self.push("fsync", change);
    }

    pub(crate) fn rename(&mut self, node: FileId, from: (FileId, &str), to: (FileId, &str)) {
        let change = Change::Renamed {
            node,
            from: Name::new(from.0, from.1),
            to: Name::new(to.0, to.1),
            other: None,
            flags: 0,
        };
        self.push("rename", change);
    }

    pub(crate) fn link(&mut self, node: FileId, parent: FileId, name: &str) {
        let name = Name::new(parent, name);
        self.push("link", Change::Linked { node, name });
    }

    pub(crate) fn unlink(&mut self, node: FileId, parent: FileId, name: &str) {
        let change = Change::Unlinked {
            node,
            name: Name::new(parent, name),
            directory: false,
        };
        self.push("unlink", change);
    }

    pub(crate) fn print(&mut self) {
        let change = Change::Printed {
            descriptor: 1,
            payload: letters('p', 1),
        };
        self.push("write", change);
    }

    pub(crate) fn history(&self) -> History {
        self.history_of("/")
    }

    pub(crate) fn history_of(&self, directory: &str) -> History {
        self.history_with(directory, |_| Vec::new())
    }

    /// `head` gives the first bytes of a file.
    pub(crate) fn history_with(
        &self,
        directory: &str,
        head: impl FnMut(&Contents) -> Vec<u8>,
    ) -> History {
        self.history_ignoring(directory, &[], head)
    }

    /// Files that match one of the patterns are ignored.
    pub(crate) fn history_ignoring(
        &self,
        directory: &str,
        patterns: &[&str],
        head: impl FnMut(&Contents) -> Vec<u8>,
    ) -> History {
        let patterns = patterns.iter().filter_map(|text| Pattern::new(text).ok());
        let mut builder = Builder::new(directory).ignoring(patterns.collect());
        for operation in &self.operations {
            builder
                .add(operation, whole)
                .expect("a small program does what is possible: tests build them all");
        }
        builder.finish(head).expect("the root is found first")
    }

    /// What a litmus program finds and calls, and at its end that it has ended.
    pub(super) fn perform(&mut self, litmus: &Litmus) {
        let mut nodes = Nodes(HashMap::from([(".".to_owned(), ROOT)]));
        for given in &litmus.given {
            match given {
                Given::Directory(path) => {
                    let (parent, name) = nodes.place(path);
                    nodes.set(path, self.found_directory(parent, name));
                }
                Given::File(filled) => {
                    let (parent, name) = nodes.place(filled.path);
                    let node = self.found(parent, name, payload(filled));
                    nodes.set(filled.path, node);
                }
            }
        }
        for call in &litmus.calls {
            self.call(*call, &mut nodes);
        }
        self.print();
    }

    fn call(&mut self, call: Call, nodes: &mut Nodes) {
        match call {
            Call::MakeDirectory(path) => {
                let (parent, name) = nodes.place(path);
                nodes.set(path, self.mkdir(parent, name));
            }
            Call::Create(path) => {
                let (parent, name) = nodes.place(path);
                nodes.set(path, self.create(parent, name));
            }
            Call::Empty(path) => self.open_truncated(nodes.at(path)),
            Call::Close(path) => {
                let node = nodes.at(path);
                let description = Description(node.inode);
                self.push("close", Change::Closed { node, description });
            }
            Call::Write(filled) | Call::WriteDirect(filled) => {
                self.write(nodes.at(filled.path), filled.at, payload(&filled));
            }
            Call::WriteDsync(filled) => {
                let node = nodes.at(filled.path);
                self.write_flags(node, filled.at, payload(&filled), RWF_DSYNC);
            }
            Call::Store(filled) => {
                let change = Change::Stored {
                    node: nodes.at(filled.path),
                    offset: filled.at,
                    payload: payload(&filled),
                };
                self.push("mmap", change);
            }
            Call::Allocate(path, bytes) => {
                let change = Change::Allocated {
                    node: nodes.at(path),
                    description: None,
                    mode: 0,
                    offset: 0,
                    bytes,
                };
                self.push("fallocate", change);
            }
            Call::Fsync(path) => self.sync(nodes.at(path), Durability::File),
            Call::Fdatasync(path) => self.sync(nodes.at(path), Durability::Data),
            Call::SyncFileRange(path) => self.sync(nodes.at(path), Durability::Hint),
            Call::Msync(path) => {
                let whole = Durability::Range {
                    offset: 0,
                    bytes: u64::MAX,
                };
                self.sync(nodes.at(path), whole);
            }
            Call::Rename(..) | Call::Link(..) | Call::Unlink(_) => self.name(call, nodes),
        }
    }

    fn name(&mut self, call: Call, nodes: &mut Nodes) {
        match call {
            Call::Rename(from, to) => {
                let node = nodes.at(from);
                self.rename(node, nodes.place(from), nodes.place(to));
                nodes.rename(from, to);
            }
            Call::Link(from, to) => {
                let (node, (parent, name)) = (nodes.at(from), nodes.place(to));
                self.link(node, parent, name);
                nodes.set(to, node);
            }
            Call::Unlink(path) => {
                let (node, (parent, name)) = (nodes.at(path), nodes.place(path));
                self.unlink(node, parent, name);
                nodes.0.remove(path);
            }
            _ => {}
        }
    }
}

/// As if no byte of the second had been in the first.
pub(crate) fn whole(_: &Contents, after: &Contents) -> Vec<Range<u64>> {
    std::iter::once(0..after.size_bytes()).collect()
}

fn payload(filled: &Filled) -> Payload {
    letters(filled.letter, filled.bytes)
}

/// The nodes that paths lead to.
struct Nodes(HashMap<String, FileId>);

impl Nodes {
    fn set(&mut self, path: &str, node: FileId) {
        self.0.insert(path.to_owned(), node);
    }

    /// A directory comes with all that is in it.
    fn rename(&mut self, from: &str, to: &str) {
        let moved = |path: &String| {
            let rest = path.strip_prefix(from)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| format!("{to}{rest}"))
        };
        self.0.remove(to);
        let all = std::mem::take(&mut self.0).into_iter();
        self.0 = all
            .map(|(path, node)| (moved(&path).unwrap_or(path), node))
            .collect();
    }

    fn at(&self, path: &str) -> FileId {
        *self
            .0
            .get(path)
            .expect("a litmus program uses what it has: tests build them all")
    }

    /// The directory and the name of a path.
    fn place(&self, path: &'static str) -> (FileId, &'static str) {
        match path.rsplit_once('/') {
            Some((parent, name)) => (self.at(parent), name),
            None => (ROOT, path),
        }
    }
}
