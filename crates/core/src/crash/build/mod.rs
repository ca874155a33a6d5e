//! Makes a history of the operations of a log.

mod durable;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use durable::settled;
use glob::Pattern;

use super::effect::{BLOCK_BYTES, Effect, Growth, Piece};
use super::history::{History, Step, Sync, Thread, below};
use super::mapped::{self, Mapping};
use super::stacks::Stacks;
use super::state;
use crate::op::{FileId, FileKind};
use crate::record::{
    Body, Change, Contents, Description, Examples, Name, Operation, Paths, Payload, Place,
    RENAME_EXCHANGE, Refused, STORE, Tree,
};

/// The name of the file that a program writes marks to, by which a log tells it.
pub const MARKS: &str = "iostrata-marks";

/// include/uapi/asm-generic/fcntl.h
const O_APPEND: u32 = 0o2000;

/// Makes a history of the operations of a log.
#[derive(Debug)]
pub struct Builder {
    history: History,
    /// The files as the program sees them.
    now: Tree,
    paths: Paths,
    descriptions: HashMap<Description, u32>,
    /// Files that the program made shorter.
    cut: HashSet<FileId>,
    /// Files that it synced when they had contents.
    synced: HashSet<FileId>,
    /// Nodes in the directory under test, or once in it.
    inside: HashSet<FileId>,
    /// Nodes with writable shared mappings.
    mapped: BTreeMap<FileId, Mapping>,
    directory: Vec<u8>,
    /// What the directory is a copy of, if it is known to be one.
    original: Option<Vec<u8>>,
    stacks: Stacks,
    groups: u32,
}

impl Builder {
    /// For the directory with this absolute path.
    pub fn new(directory: impl Into<Vec<u8>>) -> Self {
        Self {
            history: History {
                base: Tree::default(),
                root: FileId::NONE,
                steps: Vec::new(),
                effects: Vec::new(),
                mapped: Vec::new(),
                ignored: Vec::new(),
                moved_out: Examples::default(),
                past_the_copy: BTreeSet::new(),
                marks: Vec::new(),
                is_whole: false,
                sector_bytes: BLOCK_BYTES,
            },
            now: Tree::default(),
            paths: Paths::default(),
            descriptions: HashMap::new(),
            cut: HashSet::new(),
            synced: HashSet::new(),
            inside: HashSet::new(),
            mapped: BTreeMap::new(),
            directory: directory.into(),
            original: None,
            stacks: Stacks::default(),
            groups: 0,
        }
    }

    /// Steps have their stack from these.
    #[must_use]
    pub fn with_stacks(self, stacks: Stacks) -> Self {
        Self { stacks, ..self }
    }

    /// The directory is a copy of this one, by its absolute path.
    #[must_use]
    pub fn copied_from(self, original: Option<Vec<u8>>) -> Self {
        Self { original, ..self }
    }

    /// Files whose paths in the directory match one of these are nobody's matter.
    #[must_use]
    pub fn ignoring(mut self, patterns: Vec<Pattern>) -> Self {
        self.history.ignored = patterns;
        self
    }

    /// Follows an operation of the log. `differing` gives the ranges, bytes, in which the first contents are not the second:
    /// what a mapping holds is read whole.
    ///
    /// # Errors
    /// When no file system could have done it, or the tree would be too large.
    pub fn add(
        &mut self,
        operation: &Operation,
        differing: impl FnOnce(&Contents, &Contents) -> Vec<Range<u64>>,
    ) -> Result<(), Refused> {
        let error = operation.outcome.err();
        if error.is_some() && !matches!(operation.change, Change::Synced { .. }) {
            return Ok(());
        }
        if self.describes(operation)? {
            return Ok(());
        }
        let path = self.paths.of(operation);
        let other_path = self.paths.other(operation);
        let begin = self.history.effects.len();
        let step = self.history.steps.len();
        let size = operation
            .change
            .node()
            .map_or(0, |node| self.now.size_bytes(node));
        let mut ended_ns = operation.ended_ns();
        match &operation.change {
            Change::Mapped {
                node,
                offset,
                bytes,
            } => {
                let mapping = self.mapped.entry(*node).or_default();
                mapping.add(path.clone(), *offset, *bytes);
            }
            Change::Stored { .. } => {
                // Made before the call at which they were read.
                if operation.call != STORE {
                    ended_ns = operation.started_ns;
                }
                self.stored(operation, differing)?;
            }
            change => {
                self.effects_of(step, change);
                self.now.apply(operation)?;
            }
        }
        let sync = self.sync_of(&operation.change).filter(|_| error.is_none());
        let printed = match &operation.change {
            Change::Printed {
                descriptor: 1,
                payload,
            } => Some(payload.clone()),
            _ => None,
        };
        let effects = begin..self.history.effects.len();
        let settles = match error {
            None => settled(&operation.change),
            Some(_) => Vec::new(),
        };
        if let (Change::Wrote { payload, .. }, Some(path)) = (&operation.change, &path)
            && path.rsplit(|byte| *byte == b'/').next() == Some(MARKS.as_bytes())
        {
            self.history.marks.push((operation.id, payload.clone()));
        }
        let is_nothing = effects.is_empty() && sync.is_none() && printed.is_none();
        if is_nothing && settles.is_empty() && error.is_none() {
            return Ok(());
        }
        if !effects.is_empty() {
            for path in path.iter().chain(&other_path) {
                if self.is_past_the_copy(path) {
                    self.history.past_the_copy.insert(path.clone());
                }
            }
        }
        let appends = self.appends(&operation.change, size);
        let is_of_file = sync.is_some() && size > 0;
        self.synced
            .extend(operation.change.node().filter(|_| is_of_file));
        let first = Step {
            operation: operation.id,
            thread: Thread {
                process: operation.process,
                thread: operation.thread,
            },
            call: match operation.change {
                Change::Stored { .. } => STORE.to_owned(),
                _ => operation.call.to_string(),
            },
            path,
            other_path,
            range: match &operation.change {
                Change::Stored { .. } => self.history.data_range(effects.clone()),
                change => range_of(change),
            },
            stack: self.stacks.of_call(operation.thread, operation.ended_ns()),
            started_ns: operation.started_ns,
            ended_ns,
            begin: 0,
            end: 0,
            effects,
            appends,
            error,
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

    /// The history; `None` when the log does not know the directory under test. `head` gives the first
    /// [`HEAD_BYTES`](super::Format::HEAD_BYTES) of a file, as far as it can.
    pub fn finish(mut self, head: impl FnMut(&Contents) -> Vec<u8>) -> Option<History> {
        self.history.root = self.root()?;
        self.name_nameless();
        let root = self.history.root;
        // What was never in the directory under test is nobody's matter here. That is known at the end: a file may
        // be written elsewhere, or without a name, and moved into it.
        let inside = &self.inside;
        self.history
            .retain(|effect| inside.contains(&effect.node()));
        self.history.set_order();
        self.mapped.retain(|node, _| inside.contains(node));
        self.history.mapped = mapped::files(self.mapped, &self.now, (root, &self.directory), head);
        self.history.ignore(&self.now);
        self.history.moved_out = moved_out(&self.now, root, inside);
        let (_, end) = self.history.ends();
        self.history.is_whole = state::digest(&end, root) == state::digest(&self.now, root);
        self.history.fix_rebuilt(&end);
        Some(self.history)
    }

    /// An operation on a file that had no name yet is shown with the name that it got.
    fn name_nameless(&mut self) {
        let mut names: Option<HashMap<FileId, Vec<u8>>> = None;
        for step in &mut self.history.steps {
            let of_sync = step.sync.and_then(Sync::node);
            let of_effect = self.history.effects.get(step.effects.start);
            let of_effect = of_effect.filter(|_| !step.effects.is_empty());
            let node = of_sync.or(of_effect.map(Effect::node));
            if let (None, Some(node)) = (&step.path, node) {
                let names = names.get_or_insert_with(|| {
                    let top = self.now.root().into_iter();
                    let all = top.flat_map(|top| below(&self.now, top));
                    all.map(|(path, node)| (node, [b"/", path.as_slice()].concat()))
                        .collect()
                });
                step.path = names.get(&node).cloned();
            }
        }
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
        if let Some((node, (offset, payload))) = change.node().zip(change.written()) {
            return self.write(step, node, offset, payload, change);
        }
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
                        self.create(step, name, *node);
                    }
                } else if *truncated {
                    self.resize(step, *node, 0, Growth::Set);
                }
            }
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
                self.push(step, piece, None);
            }
            Change::Changed { node, attribute } => {
                let piece = Piece::Attribute {
                    node: *node,
                    attribute: attribute.clone(),
                };
                self.push(step, piece, None);
            }
            change => self.names_changed(step, change),
        }
    }

    /// What stores changed since the file was last seen, block by block.
    fn stored(
        &mut self,
        operation: &Operation,
        differing: impl FnOnce(&Contents, &Contents) -> Vec<Range<u64>>,
    ) -> Result<(), Refused> {
        let step = self.history.steps.len();
        let Change::Stored {
            node,
            offset,
            ref payload,
        } = operation.change
        else {
            return Ok(());
        };
        let before = match self.now.node(node).map(|node| &node.body) {
            Some(Body::File(contents)) => {
                contents.range(offset, offset.saturating_add(payload.bytes()))
            }
            _ => Contents::default(),
        };
        for range in differing(&before, &Contents::of(payload)) {
            let Range { start, end } = range;
            if operation.call == STORE {
                let mapping = self.mapped.entry(node).or_default();
                mapping.stored(offset + start..offset + end);
            }
            let change = Change::Stored {
                node,
                offset: offset + range.start,
                payload: payload.part(range.start, range.end - range.start),
            };
            self.effects_of(step, &change);
            self.now.apply(&Operation {
                call: operation.call.clone(),
                change,
                ..*operation
            })?;
        }
        Ok(())
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
                self.create(step, name, *node);
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
                let replaced = self.now.entry(to.parent, &to.name);
                // A name that the program gave may go without the new one: it was not on disk before all this.
                if replaced.is_some()
                    && replaced != self.history.base.entry(to.parent, &to.name)
                    && flags & RENAME_EXCHANGE == 0
                {
                    self.entry(step, to, None, group);
                }
                self.enter(step, to, *node, group);
                let other = other.filter(|_| flags & RENAME_EXCHANGE != 0);
                self.entry(step, from, other, group);
            }
            _ => {}
        }
    }

    /// Bytes, block by block, and the length where they lie behind the end.
    fn write(
        &mut self,
        step: usize,
        file: FileId,
        offset: u64,
        payload: &Payload,
        change: &Change,
    ) {
        let is_untorn = is_untorn(change);
        let group = is_untorn.then_some(self.groups);
        self.groups += u32::from(is_untorn);
        let bytes = payload.bytes();
        let end = offset.saturating_add(bytes);
        let mut at = offset;
        while at < end {
            let stop = end.min((at / BLOCK_BYTES + 1) * BLOCK_BYTES);
            let piece = Piece::Data {
                file,
                offset: at,
                payload: payload.part(at - offset, stop - at),
                mapped: matches!(change, Change::Stored { .. }),
            };
            self.push(step, piece, group);
            at = stop;
        }
        let size = self.now.size_bytes(file);
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
        let size = self.now.size_bytes(file);
        if size != bytes {
            self.size(step, file, size, bytes, cause);
        }
    }

    fn size(&mut self, step: usize, file: FileId, from: u64, to: u64, cause: Growth) {
        if to < from {
            self.cut.insert(file);
        }
        let piece = Piece::Size {
            file,
            from_bytes: from,
            to_bytes: to,
            cause,
        };
        self.push(step, piece, None);
    }

    fn create(&mut self, step: usize, name: &Name, node: FileId) {
        self.enter(step, name, node, None);
        let entry = self.history.effects.last_mut();
        if let Some(Piece::Entry { is_new, .. }) = entry.map(|entry| &mut entry.piece) {
            *is_new = true;
        }
    }

    fn enter(&mut self, step: usize, name: &Name, node: FileId, group: Option<u32>) {
        if self.inside.contains(&name.parent) {
            self.inside.insert(node);
            // A directory comes with all that is in it.
            let with = below(&self.now, node).into_iter();
            self.inside.extend(with.map(|(_, node)| node));
        }
        self.entry(step, name, Some(node), group);
    }

    fn entry(&mut self, step: usize, name: &Name, node: Option<FileId>, group: Option<u32>) {
        let piece = Piece::Entry {
            name: name.clone(),
            node,
            before: self.now.entry(name.parent, &name.name),
            is_new: false,
        };
        self.push(step, piece, group);
    }

    fn push(&mut self, step: usize, piece: Piece, group: Option<u32>) {
        self.history.effects.push(Effect { step, piece, group });
    }

    /// Whether a path leads to what the directory is a copy of, as an absolute one in the program does.
    fn is_past_the_copy(&self, path: &[u8]) -> bool {
        let is_below = |directory: &[u8]| {
            let rest = path.strip_prefix(directory);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        self.original.as_deref().is_some_and(is_below) && !is_below(&self.directory)
    }

    /// Whether a change writes at the end of a file that had `size` bytes, as logs do: one that the program found with
    /// contents or synced with some, and never cut, or opened to append.
    fn appends(&self, change: &Change, size: u64) -> bool {
        let Change::Wrote {
            node,
            offset,
            description,
            ..
        } = change
        else {
            return false;
        };
        let flags = description.and_then(|one| self.descriptions.get(&one));
        let has_grown = || {
            let is_found = self.history.base.size_bytes(*node) > 0;
            (is_found || self.synced.contains(node)) && !self.cut.contains(node)
        };
        *offset == size && (flags.is_some_and(|flags| flags & O_APPEND != 0) || has_grown())
    }
}

/// Files that were in the directory and have names in other directories alone at the end.
fn moved_out(now: &Tree, root: FileId, inside: &HashSet<FileId>) -> Examples {
    let still: HashSet<FileId> = below(now, root).into_iter().map(|(_, node)| node).collect();
    let mut moved = Examples::default();
    let top = now.root().into_iter().flat_map(|top| below(now, top));
    for (path, node) in top {
        let is_file = now
            .node(node)
            .is_some_and(|node| node.kind != FileKind::Directory);
        if is_file && inside.contains(&node) && !still.contains(&node) {
            moved.add(|| format!("/{}", String::from_utf8_lossy(&path)));
        }
    }
    moved
}

/// Whether a write is on disk whole or not at all (`RWF_ATOMIC`: include/uapi/linux/fs.h, statx(2)).
fn is_untorn(change: &Change) -> bool {
    matches!(change, Change::Wrote { flags, .. } if flags & 0x40 != 0)
}

fn range_of(change: &Change) -> Option<(u64, u64)> {
    match change {
        Change::Allocated { offset, bytes, .. } => Some((*offset, *bytes)),
        change => change
            .written()
            .map(|(offset, payload)| (offset, payload.bytes())),
    }
}
