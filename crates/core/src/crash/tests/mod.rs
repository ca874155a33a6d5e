//! Small logs, typed by hand, and what each model makes of a crash in them.

mod calls;
mod litmus;
mod reference;
mod search;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::convert::Infallible;

use super::{Budget, Builder, Coverage, Explorer, History, Model, State};
use crate::op::{FileId, FileKind};
use crate::record::{
    Attribute, Body, Change, Contents, Description, Durability, Name, Operation, Payload, Piece,
    Place, Source, Tree,
};

/// A log in the making. Letters are chunks of payload: `a` is chunk 97.
pub(super) struct Log {
    operations: Vec<Operation>,
    now_ns: u64,
    nodes: u64,
}

pub(super) const ROOT: FileId = id(2);

const fn id(inode: u64) -> FileId {
    FileId {
        device: 1,
        inode,
        generation: 0,
    }
}

pub(super) fn letters(letter: char, bytes: u32) -> Payload {
    Payload {
        pieces: vec![Piece::Stored {
            chunk: letter as u64,
            at: 0,
            bytes,
        }],
    }
}

impl Log {
    pub(super) fn new() -> Self {
        let mut log = Self {
            operations: Vec::new(),
            now_ns: 1_000,
            nodes: 2,
        };
        log.push(
            "openat",
            Change::Found {
                node: ROOT,
                kind: FileKind::Directory,
                place: Place::Root,
                mode: Some(0o755),
                size_bytes: 0,
                contents: None,
            },
        );
        log
    }

    pub(super) fn push(&mut self, call: &'static str, change: Change) {
        self.push_during(call, change, 0);
    }

    /// An operation that begins so long before the last one ended.
    pub(super) fn push_during(&mut self, call: &'static str, change: Change, before_ns: u64) {
        let started_ns = self.now_ns + 1 - before_ns;
        self.now_ns += 11;
        self.operations.push(Operation {
            id: self.operations.len() as u64,
            process: 1,
            thread: 1,
            started_ns,
            took_ns: self.now_ns - started_ns,
            call: Cow::Borrowed(call),
            outcome: Ok(0),
            change,
        });
    }

    pub(super) fn found(&mut self, parent: FileId, name: &str, contents: Payload) -> FileId {
        self.nodes += 1;
        let node = id(self.nodes);
        let change = Change::Found {
            node,
            kind: FileKind::Regular,
            place: Place::Name(Name::new(parent, name)),
            mode: Some(0o644),
            size_bytes: contents.bytes(),
            contents: Some(contents),
        };
        self.push("openat", change);
        node
    }

    pub(super) fn create(&mut self, parent: FileId, name: &str) -> FileId {
        self.nodes += 1;
        let node = id(self.nodes);
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

    pub(super) fn open_truncated(&mut self, node: FileId) {
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

    pub(super) fn mkdir(&mut self, parent: FileId, name: &str) -> FileId {
        self.nodes += 1;
        let node = id(self.nodes);
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

    pub(super) fn write(&mut self, node: FileId, offset: u64, payload: Payload) {
        self.write_flags(node, offset, payload, 0);
    }

    pub(super) fn write_flags(&mut self, node: FileId, offset: u64, payload: Payload, flags: u32) {
        let change = Change::Wrote {
            node,
            description: None,
            offset,
            flags,
            payload,
        };
        self.push("pwrite64", change);
    }

    pub(super) fn sync(&mut self, node: FileId, scope: Durability) {
        let change = Change::Synced {
            node: Some(node),
            description: None,
            scope,
        };
        self.push("fsync", change);
    }

    pub(super) fn fsync(&mut self, node: FileId) {
        self.sync(node, Durability::File);
    }

    pub(super) fn rename(&mut self, node: FileId, from: (FileId, &str), to: (FileId, &str)) {
        let change = Change::Renamed {
            node,
            from: Name::new(from.0, from.1),
            to: Name::new(to.0, to.1),
            other: None,
            flags: 0,
        };
        self.push("rename", change);
    }

    pub(super) fn link(&mut self, node: FileId, parent: FileId, name: &str) {
        let name = Name::new(parent, name);
        self.push("link", Change::Linked { node, name });
    }

    pub(super) fn unlink(&mut self, node: FileId, parent: FileId, name: &str) {
        let change = Change::Unlinked {
            node,
            name: Name::new(parent, name),
            directory: false,
        };
        self.push("unlink", change);
    }

    pub(super) fn chmod(&mut self, node: FileId, mode: u32) {
        let attribute = Attribute::Mode { mode };
        self.push("chmod", Change::Changed { node, attribute });
    }

    pub(super) fn print(&mut self) {
        let change = Change::Printed {
            descriptor: 1,
            payload: letters('p', 1),
        };
        self.push("write", change);
    }

    pub(super) fn history(&self) -> History {
        self.history_of("/")
    }

    pub(super) fn history_of(&self, directory: &str) -> History {
        let mut builder = Builder::new(directory);
        for operation in &self.operations {
            builder.add(operation).unwrap();
        }
        builder.finish().unwrap()
    }
}

/// All files below the root as text: `f=a2500+b4 d/g=`.
pub(super) fn shown(tree: &Tree) -> String {
    let mut all = Vec::new();
    add_shown(tree, ROOT, "", &mut all);
    all.sort();
    all.join(" ")
}

fn add_shown(tree: &Tree, directory: FileId, path: &str, all: &mut Vec<String>) {
    for (name, child) in tree.entries(directory) {
        let name = format!("{path}{}", String::from_utf8_lossy(name));
        match tree.node(child).map(|node| &node.body) {
            Some(Body::File(contents)) => all.push(format!("{name}={}", text(contents))),
            Some(Body::Directory(_)) => {
                all.push(format!("{name}/"));
                add_shown(tree, child, &format!("{name}/"), all);
            }
            _ => all.push(name),
        }
    }
}

fn text(contents: &Contents) -> String {
    let mut parts: Vec<(char, u64)> = Vec::new();
    let mut add = |letter: char, bytes: u64| match parts.last_mut() {
        _ if bytes == 0 => {}
        Some((last, sum)) if *last == letter => *sum += bytes,
        _ => parts.push((letter, bytes)),
    };
    let mut at = 0;
    for (offset, extent) in contents.extents() {
        add('0', offset - at);
        let letter = match extent.source {
            Source::Stored { chunk, .. } => char::from(u8::try_from(chunk).unwrap()),
            _ => '?',
        };
        add(letter, extent.bytes);
        at = offset + extent.bytes;
    }
    add('0', contents.size_bytes() - at);
    let parts: Vec<String> = parts
        .iter()
        .map(|(letter, bytes)| format!("{letter}{bytes}"))
        .collect();
    parts.join("+")
}

/// Every state, with how many times somebody had been told something by then.
pub(super) fn states(history: &History, model: Model, budget: Budget) -> BTreeSet<(String, usize)> {
    let mut all = BTreeSet::new();
    let mut explorer = Explorer::new(history, model);
    let seen = |_: &State, (tree, told): (&Tree, usize), _: &Coverage| {
        all.insert((shown(tree), told));
        Ok::<(), Infallible>(())
    };
    let mut coverage = Coverage::default();
    explorer.explore(budget, &mut coverage, seen).unwrap();
    assert!(!coverage.limit_reached);
    all
}

/// The trees at any time; all of them.
pub(super) fn trees(log: &Log, model: Model) -> BTreeSet<String> {
    let budget = Budget {
        exhaustive: 1 << 20,
        ..Budget::default()
    };
    let states = states(&log.history(), model, budget);
    states.into_iter().map(|(tree, _)| tree).collect()
}
