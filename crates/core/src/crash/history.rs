//! What a program did to one directory, as effects and the steps they came from.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use super::effect::{BLOCK_BYTES, Effect, Growth, Piece};
use super::model::replaces;
use crate::op::{FileId, FileKind};
use crate::record::{
    Body, Change, Contents, Description, Durability, Examples, Name, Operation, Paths, Payload,
    Place, RENAME_EXCHANGE, Refused, Tree,
};

/// `O_DSYNC` and the further bit of `O_SYNC` (include/uapi/asm-generic/fcntl.h).
const O_DSYNC: u32 = 0o10000;
const O_SYNC_BIT: u32 = 0o4_000_000;
/// include/uapi/linux/fs.h
const RWF_DSYNC: u32 = 0x2;
const RWF_SYNC: u32 = 0x4;

/// One operation, or its second half: a write to a file opened with `O_SYNC` is a write, then a sync.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its place in the log.
    pub operation: u64,
    /// The system call.
    pub call: String,
    /// The path it is about, as it was then.
    pub path: Option<Vec<u8>>,
    /// The second path of a rename or a link.
    pub other_path: Option<Vec<u8>>,
    /// Of a write: where, and how many bytes.
    pub range: Option<(u64, u64)>,
    /// When it began, nanoseconds of `CLOCK_MONOTONIC`.
    pub started_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
    /// Its begin and its end among the begins and ends of all steps.
    pub(super) begin: usize,
    pub(super) end: usize,
    /// Its effects.
    pub(super) effects: Range<usize>,
    /// What it made durable when it returned.
    pub(super) sync: Option<Sync>,
    /// What it told a user: nothing that was told may be lost.
    pub printed: Option<Payload>,
    /// Files whose contents the program regards as complete from here on.
    pub(super) settles: Vec<FileId>,
}

/// What a sync covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sync {
    /// Data and metadata of a node (`fsync`).
    File(FileId),
    /// Data, and the length (`fdatasync`).
    Data(FileId),
    /// A range of the data (`msync`).
    Range {
        file: FileId,
        offset: u64,
        bytes: u64,
    },
    /// Everything.
    All,
}

/// All steps, and the tree that they began with.
#[derive(Debug, Clone)]
pub struct History {
    /// The files before the program began; nodes that it made are there, empty and without a name.
    pub(super) base: Tree,
    /// The directory under test.
    pub root: FileId,
    /// In the order in which they ended.
    pub steps: Vec<Step>,
    /// In the order of the steps.
    pub(super) effects: Vec<Effect>,
    /// Files that replace another by rename, or that were cut to nothing.
    pub(super) allocated_at_once: HashSet<FileId>,
}

impl History {
    /// The path of a node before a step: the one it had then.
    pub fn path_at(&self, node: FileId, step: usize) -> Option<Vec<u8>> {
        let mut tree = self.base.clone();
        for effect in self.effects.iter().take_while(|effect| effect.step < step) {
            // It was there with all before it in the run itself.
            drop(super::state::apply(&mut tree, effect));
        }
        path_in(&tree, node)
    }

    /// The directory as the program found it, and as it left it.
    pub fn ends(&self) -> (Tree, Tree) {
        let mut end = self.base.clone();
        for effect in &self.effects {
            // It was there with all before it in the run itself.
            drop(super::state::apply(&mut end, effect));
        }
        (self.base.clone(), end)
    }

    /// Whether something had this path in the directory before the program began.
    pub fn began_with(&self, path: &Path) -> bool {
        let mut at = self.root;
        let mut names = path.components();
        names.all(|name| match name {
            Component::Normal(name) => match self.base.entry(at, name.as_bytes()) {
                Some(node) => {
                    at = node;
                    true
                }
                None => false,
            },
            _ => true,
        })
    }

    /// Files below the directory of which the log lacks bytes, earlier ones or written ones.
    pub fn unknown(&self) -> Examples {
        let mut unknown = Examples::default();
        let (base, end) = self.ends();
        for tree in [&base, &end] {
            for (path, node) in below(tree, self.root) {
                if let Some(Body::File(contents)) = tree.node(node).map(|node| &node.body)
                    && contents.unknown_bytes() != (0, 0)
                {
                    unknown.add(|| String::from_utf8_lossy(&path).into_owned());
                }
            }
        }
        unknown
    }

    /// How many steps had told somebody something by a time.
    pub(super) fn told_at(&self, time: usize) -> usize {
        let steps = self.steps.iter();
        steps
            .filter(|step| step.printed.is_some() && step.end <= time)
            .count()
    }

    /// How many steps told somebody something.
    pub fn told(&self) -> usize {
        self.steps
            .iter()
            .filter(|step| step.printed.is_some())
            .count()
    }

    /// Whether the program changed something below the directory.
    pub fn changes_something(&self) -> bool {
        !self.effects.is_empty()
    }

    /// Steps in the order in which they ended: their places in the history.
    pub fn steps_in_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.steps.len()).collect();
        order.sort_unstable_by_key(|step| self.steps[*step].end);
        order
    }

    /// What a step printed.
    pub fn printed_by(&self, step: usize) -> Option<Contents> {
        self.steps[step].printed.as_ref().map(Contents::of)
    }

    /// What a step wrote reached nobody outside the program.
    pub fn was_not_printed(&mut self, step: usize) {
        self.steps[step].printed = None;
    }

    /// What had been printed when so many steps had told somebody something.
    pub fn printed(&self, told: usize) -> Contents {
        let order = self.steps_in_order().into_iter();
        let mut all = Payload::default();
        for payload in order
            .filter_map(|step| self.steps[step].printed.as_ref())
            .take(told)
        {
            for piece in &payload.pieces {
                all.push(*piece);
            }
        }
        Contents::of(&all)
    }

    /// Puts begins and ends in one order. What ends when another begins was before it; what takes no time
    /// ends right after its own begin.
    pub(super) fn set_order(&mut self) {
        let mut events: Vec<(u64, usize, usize, bool)> = Vec::new();
        for (number, step) in self.steps.iter().enumerate() {
            let takes_time = step.ended_ns > step.started_ns;
            // At one moment: ends, then what takes no time, each whole, then begins.
            let at_once = 1 + number;
            let begins = if takes_time { usize::MAX } else { at_once };
            let ends = if takes_time { 0 } else { at_once };
            events.push((step.started_ns, begins, 2 * number, true));
            events.push((step.ended_ns, ends, 2 * number + 1, false));
        }
        events.sort_unstable();
        for (position, (_, _, number, begins)) in events.into_iter().enumerate() {
            let step = &mut self.steps[number / 2];
            if begins {
                step.begin = position;
            } else {
                step.end = position;
            }
        }
    }

    /// Whether `directory` was made by the program and is above `node`, or is `node` itself, by the names
    /// that the program gave.
    pub(super) fn is_new_above(&self, directory: FileId, node: FileId) -> bool {
        let mut at = node;
        // No directory is deeper: a path of `PATH_MAX` has half as many names.
        for _ in 0..2048 {
            if at == directory {
                return true;
            }
            let made = |effect: &Effect| match &effect.piece {
                Piece::Entry {
                    name,
                    node: Some(node),
                    ..
                } if *node == at => Some(name.parent),
                _ => None,
            };
            match self.effects.iter().find_map(made) {
                Some(parent) => at = parent,
                None => return false,
            }
        }
        false
    }
}

/// From the root of all names; of a file with several names one of them.
fn path_in(tree: &Tree, node: FileId) -> Option<Vec<u8>> {
    let root = tree.root()?;
    if root == node {
        return Some(b"/".to_vec());
    }
    let all = below(tree, root);
    let found = all.into_iter().find(|(_, child)| *child == node);
    found.map(|(path, _)| [b"/", path.as_slice()].concat())
}

/// All names below a directory, by their paths in it, and where they lead.
pub(super) fn below(tree: &Tree, directory: FileId) -> Vec<(Vec<u8>, FileId)> {
    let mut all = Vec::new();
    let mut waiting = vec![(directory, Vec::new())];
    while let Some((directory, path)) = waiting.pop() {
        for (name, child) in tree.entries(directory) {
            let path = [path.as_slice(), name].concat();
            if let Some(Body::Directory(_)) = tree.node(child).map(|node| &node.body) {
                waiting.push((child, [path.as_slice(), b"/"].concat()));
            }
            all.push((path, child));
        }
    }
    all
}

/// No file has this number.
const NOWHERE: FileId = FileId {
    device: 0,
    inode: 0,
    generation: 0,
};

/// Makes a history of the operations of a log.
#[derive(Debug)]
pub struct Builder {
    history: History,
    /// The files as the program sees them.
    now: Tree,
    paths: Paths,
    descriptions: HashMap<Description, u32>,
    /// Nodes in the directory under test, or once in it.
    inside: HashSet<FileId>,
    directory: Vec<u8>,
    groups: u32,
}

impl Builder {
    /// For the directory with this absolute path.
    pub fn new(directory: impl Into<Vec<u8>>) -> Self {
        Self {
            history: History {
                base: Tree::default(),
                root: NOWHERE,
                steps: Vec::new(),
                effects: Vec::new(),
                allocated_at_once: HashSet::new(),
            },
            now: Tree::default(),
            paths: Paths::default(),
            descriptions: HashMap::new(),
            inside: HashSet::new(),
            directory: directory.into(),
            groups: 0,
        }
    }

    /// Follows an operation of the log.
    ///
    /// # Errors
    /// When no file system could have done it, or the tree would be too large.
    pub fn add(&mut self, operation: &Operation) -> Result<(), Refused> {
        if operation.outcome.is_err() {
            return Ok(());
        }
        if self.describes(operation)? {
            return Ok(());
        }
        let path = self.paths.of(operation);
        let other_path = self.paths.other(operation);
        let begin = self.history.effects.len();
        let step = self.history.steps.len();
        self.effects_of(step, &operation.change);
        self.now.apply(operation)?;
        let sync = self.sync_of(&operation.change);
        let printed = match &operation.change {
            Change::Printed {
                descriptor: 1,
                payload,
            } => Some(payload.clone()),
            _ => None,
        };
        let effects = begin..self.history.effects.len();
        let settles = settled(&operation.change);
        if effects.is_empty() && sync.is_none() && printed.is_none() && settles.is_empty() {
            return Ok(());
        }
        let first = Step {
            operation: operation.id,
            call: operation.call.to_string(),
            path,
            other_path,
            range: range_of(&operation.change),
            started_ns: operation.started_ns,
            ended_ns: operation.ended_ns(),
            begin: 0,
            end: 0,
            effects,
            sync: None,
            printed,
            settles,
        };
        let end = self.history.effects.len();
        if sync.is_some() && !first.effects.is_empty() {
            // The write may be on its way when the power fails; the sync covers it only at its end.
            let second = Step {
                effects: end..end,
                started_ns: first.ended_ns,
                sync,
                ..first.clone()
            };
            self.history.steps.extend([first, second]);
        } else {
            self.history.steps.push(Step { sync, ..first });
        }
        Ok(())
    }

    /// The history; `None` when the log does not know the directory under test.
    pub fn finish(mut self) -> Option<History> {
        self.history.root = self.root()?;
        self.history.set_order();
        let effects = self.history.effects.iter();
        let at_once = effects.filter_map(|effect| match &effect.piece {
            Piece::Size {
                file, to_bytes: 0, ..
            } => Some(*file),
            _ => replaces(effect),
        });
        self.history.allocated_at_once = at_once.collect();
        Some(self.history)
    }

    /// The files as they were at the end.
    pub fn end(&self) -> &Tree {
        &self.now
    }

    fn root(&self) -> Option<FileId> {
        self.history.base.resolve(&self.directory)
    }

    /// What was there before the program changed it, and open file descriptions: no step.
    fn describes(&mut self, operation: &Operation) -> Result<bool, Refused> {
        match &operation.change {
            Change::Found { node, place, .. } => {
                self.history.base.apply(operation)?;
                let is_inside = match place {
                    Place::Name(name) => self.inside.contains(&name.parent),
                    Place::Root | Place::Nowhere => false,
                };
                if is_inside || self.root() == Some(*node) {
                    self.inside.insert(*node);
                }
            }
            Change::Before { .. } => self.history.base.apply(operation)?,
            Change::Described {
                description, flags, ..
            } => {
                self.descriptions.insert(*description, *flags);
            }
            _ => return Ok(false),
        }
        self.paths.follow(operation);
        self.now.apply(operation)?;
        Ok(true)
    }

    fn effects_of(&mut self, step: usize, change: &Change) {
        match change {
            Change::Opened {
                node,
                description,
                flags,
                created,
                mode,
                truncated,
            } => {
                self.descriptions.insert(*description, *flags);
                if let Some(place) = created {
                    self.history.base.add_empty(*node, FileKind::Regular, *mode);
                    if let Place::Name(name) = place {
                        self.enter(step, name, *node, None);
                    }
                } else if *truncated {
                    self.resize(step, *node, 0, Growth::Set);
                }
            }
            Change::Wrote {
                node,
                offset,
                payload,
                ..
            }
            | Change::Stored {
                node,
                offset,
                payload,
            }
            | Change::Cloned {
                node,
                offset,
                payload,
                ..
            } => self.write(step, *node, *offset, payload),
            Change::Resized { node, bytes, .. } => self.resize(step, *node, *bytes, Growth::Set),
            Change::Allocated {
                node,
                mode,
                offset,
                bytes,
                ..
            } => {
                let piece = Piece::Space {
                    file: *node,
                    mode: *mode,
                    offset: *offset,
                    bytes: *bytes,
                };
                self.push(step, *node, piece, None);
            }
            Change::Changed { node, attribute } => {
                let piece = Piece::Attribute {
                    node: *node,
                    attribute: attribute.clone(),
                };
                self.push(step, *node, piece, None);
            }
            change => self.names_changed(step, change),
        }
    }

    fn names_changed(&mut self, step: usize, change: &Change) {
        match change {
            Change::Made {
                node,
                kind,
                name,
                mode,
                device_number,
                target,
            } => {
                let base = &mut self.history.base;
                base.add_empty(*node, *kind, *mode);
                base.describe(*node, target, *device_number);
                self.enter(step, name, *node, None);
            }
            Change::Linked { node, name } => self.enter(step, name, *node, None),
            Change::Unlinked { name, .. } => self.entry(step, name, None, None),
            Change::Renamed {
                node,
                from,
                to,
                other,
                flags,
            } => {
                // rename(2): two names of one file are left alone.
                if from == to || self.now.entry(to.parent, &to.name) == Some(*node) {
                    return;
                }
                let group = Some(self.groups);
                self.groups += 1;
                self.enter(step, to, *node, group);
                let other = other.filter(|_| flags & RENAME_EXCHANGE != 0);
                self.entry(step, from, other, group);
            }
            _ => {}
        }
    }

    /// Bytes, block by block, and the length where they lie behind the end.
    fn write(&mut self, step: usize, file: FileId, offset: u64, payload: &Payload) {
        let bytes = payload.bytes();
        let end = offset.saturating_add(bytes);
        let mut at = offset;
        while at < end {
            let stop = end.min((at / BLOCK_BYTES + 1) * BLOCK_BYTES);
            let piece = Piece::Data {
                file,
                offset: at,
                payload: payload.part(at - offset, stop - at),
            };
            self.push(step, file, piece, None);
            at = stop;
        }
        let size = self.size_of(file);
        if bytes == 0 || end <= size {
            return;
        }
        let allocated = size.next_multiple_of(BLOCK_BYTES);
        // A write that begins behind the last block leaves a hole: nothing of it is in that block.
        if size < allocated && offset < allocated {
            let to = end.min(allocated);
            self.size(step, file, size, to, Growth::InLastBlock);
            if to < end {
                self.size(step, file, to, end, Growth::Allocating);
            }
        } else {
            self.size(step, file, size, end, Growth::Allocating);
        }
    }

    fn resize(&mut self, step: usize, file: FileId, bytes: u64, cause: Growth) {
        let size = self.size_of(file);
        if size != bytes {
            self.size(step, file, size, bytes, cause);
        }
    }

    fn size(&mut self, step: usize, file: FileId, from: u64, to: u64, cause: Growth) {
        let piece = Piece::Size {
            file,
            from_bytes: from,
            to_bytes: to,
            cause,
        };
        self.push(step, file, piece, None);
    }

    fn enter(&mut self, step: usize, name: &Name, node: FileId, group: Option<u32>) {
        if self.inside.contains(&name.parent) {
            self.inside.insert(node);
        }
        self.entry(step, name, Some(node), group);
    }

    fn entry(&mut self, step: usize, name: &Name, node: Option<FileId>, group: Option<u32>) {
        let piece = Piece::Entry {
            name: name.clone(),
            node,
            before: self.now.entry(name.parent, &name.name),
        };
        self.push(step, name.parent, piece, group);
    }

    /// What is outside the directory under test is nobody's matter here.
    fn push(&mut self, step: usize, about: FileId, piece: Piece, group: Option<u32>) {
        if self.inside.contains(&about) {
            self.history.effects.push(Effect { step, piece, group });
        }
    }

    fn size_of(&self, file: FileId) -> u64 {
        match self.now.node(file).map(|node| &node.body) {
            Some(Body::File(contents)) => contents.size_bytes(),
            _ => 0,
        }
    }

    fn sync_of(&self, change: &Change) -> Option<Sync> {
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
fn settled(change: &Change) -> Vec<FileId> {
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

fn range_of(change: &Change) -> Option<(u64, u64)> {
    match change {
        Change::Wrote {
            offset, payload, ..
        }
        | Change::Stored {
            offset, payload, ..
        }
        | Change::Cloned {
            offset, payload, ..
        } => Some((*offset, payload.bytes())),
        Change::Allocated { offset, bytes, .. } => Some((*offset, *bytes)),
        _ => None,
    }
}
