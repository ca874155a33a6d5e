//! What a program did to one directory, as effects and the steps they came from.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};
use std::sync::Arc;

use blake3::Hash;
use glob::Pattern;
use serde::{Deserialize, Serialize};

use super::effect::{BLOCK_BYTES, Effect, Growth, Piece};
use super::mapped::Mapped;
use crate::op::{FileId, FileKind};
use crate::record::{Body, Contents, Examples, Payload, Tree};

/// One operation, or its second half: a write to a file opened with `O_SYNC` is a write, then a sync.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its place in the log.
    pub operation: u64,
    pub thread: Thread,
    pub call: String,
    /// The path it is about, as it was then.
    pub path: Option<Vec<u8>>,
    /// The second path of a rename or a link.
    pub other_path: Option<Vec<u8>>,
    /// Of a write: where, and how many bytes.
    pub range: Option<(u64, u64)>,
    /// The functions that called it, innermost first; empty where they are not known.
    pub stack: Arc<[String]>,
    /// `CLOCK_MONOTONIC`, as its end.
    pub started_ns: u64,
    pub ended_ns: u64,
    /// Its begin and its end among the begins and ends of all steps.
    pub(super) begin: usize,
    pub(super) end: usize,
    pub(super) effects: Range<usize>,
    /// Whether it wrote at the end of a file that is added to.
    pub(super) appends: bool,
    /// The `errno` of a sync that failed: it made nothing durable.
    pub(super) error: Option<i32>,
    /// What it made durable when it returned.
    pub(super) sync: Option<Sync>,
    /// What it told a user: nothing that was told may be lost.
    pub printed: Option<Payload>,
    /// Files whose contents the program regards as complete from here on.
    pub(super) settles: Vec<FileId>,
}

/// A thread of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Thread {
    pub process: u32,
    /// Its own number; the same one for the first thread of a process.
    pub thread: u32,
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
    All,
}

impl Sync {
    pub(super) fn node(self) -> Option<FileId> {
        match self {
            Self::File(node) | Self::Data(node) | Self::Range { file: node, .. } => Some(node),
            Self::All => None,
        }
    }
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
    /// Files of the directory with writable shared mappings.
    pub(super) mapped: Vec<Mapped>,
    /// What the paths in the directory of files are like that are nobody's matter.
    pub(super) ignored: Vec<Pattern>,
    /// Files that left the directory by a rename, or lost their names in it and have others.
    pub moved_out: Examples,
    /// Files that the program changed in the directory that this one is a copy of.
    pub(super) past_the_copy: BTreeSet<Vec<u8>>,
    /// What the program wrote to mark a time, a name in each line, by the number of the operation.
    pub marks: Vec<(u64, Payload)>,
    /// Whether all effects together make the files that the log ends with.
    pub is_whole: bool,
    /// What the device writes whole or not at all, bytes.
    pub(super) sector_bytes: u64,
}

impl History {
    /// Leaves other effects out.
    pub(super) fn retain(&mut self, is_kept: impl Fn(&Effect) -> bool) {
        self.change_each(|effect| is_kept(&effect).then_some(effect));
    }

    /// From now on the device writes no more than a sector of so many bytes whole: a page of data may be torn.
    pub fn tear_at(&mut self, sector_bytes: u64) {
        self.sector_bytes = sector_bytes;
        self.change_each(|effect| effect.in_sectors(sector_bytes));
    }

    /// From now on a page that stores changed may have some of their bytes without the others, in any order: more than
    /// any order of the stores leaves, and no less where each byte was stored to once.
    pub fn mix_stores(&mut self) {
        self.sector_bytes = 1;
        self.change_each(|effect| match effect.piece {
            Piece::Data { mapped: true, .. } => effect.in_sectors(1),
            _ => vec![effect],
        });
    }

    /// Effects in the parts that a device with sectors of 4 KiB would write: sectors that an operation writes to one page
    /// are one.
    pub(super) fn whole_pages<'e>(&self, effects: &'e [usize]) -> Vec<&'e [usize]> {
        let place = |at: usize| {
            let effect = &self.effects[at];
            Some((effect.step, effect.block()?))
        };
        let parts = effects
            .chunk_by(|one, other| place(*one).is_some_and(|of_one| Some(of_one) == place(*other)));
        parts.collect()
    }

    /// Whether a state that has these effects at a time has a page of data that is torn inside, and at which sectors,
    /// bytes: it has sectors of a write, or of later ones, without others that the page had before.
    pub(super) fn torn_at(&self, kept: &[bool], time: usize) -> Option<u64> {
        let is_torn = self.sector_bytes < BLOCK_BYTES && self.tears_a_page(kept, time);
        is_torn.then_some(self.sector_bytes)
    }

    fn tears_a_page(&self, kept: &[bool], time: usize) -> bool {
        let mut lost = HashSet::new();
        let mut last_of = HashMap::new();
        for (effect, kept) in self.effects.iter().zip(kept) {
            let Some(block) = effect.block() else {
                continue;
            };
            if *kept {
                if lost.contains(&block) {
                    return true;
                }
                last_of.insert(block, effect.step);
            } else if self.steps[effect.step].begin <= time {
                if last_of.get(&block) == Some(&effect.step) {
                    return true;
                }
                lost.insert(block);
            }
        }
        false
    }

    /// Whether data lies behind the last block that its file had.
    pub(super) fn allocates(&self, data: &Effect) -> bool {
        let Some((file, block)) = data.block() else {
            return false;
        };
        // The lengths of a write come last.
        let effects = self.steps[data.step].effects.clone();
        let mut ends = self.effects[effects].iter().rev().take(2);
        ends.any(|end| match end.piece {
            Piece::Size {
                file: of,
                from_bytes,
                cause: Growth::Allocating,
                ..
            } => of == file && block >= from_bytes.div_ceil(BLOCK_BYTES),
            _ => false,
        })
    }

    /// Puts effects in the place of each one.
    pub(super) fn change_each<I: IntoIterator<Item = Effect>>(
        &mut self,
        change: impl Fn(Effect) -> I,
    ) {
        let all = std::mem::take(&mut self.effects);
        let mut places = Vec::with_capacity(all.len() + 1);
        for effect in all {
            places.push(self.effects.len());
            self.effects.extend(change(effect));
        }
        places.push(self.effects.len());
        for step in &mut self.steps {
            step.effects = places[step.effects.start]..places[step.effects.end];
        }
    }

    /// Pieces of the program's changes in the directory.
    pub fn changes(&self) -> u64 {
        self.effects.len() as u64
    }

    /// Whether the file at a path in the directory is nobody's matter.
    pub(super) fn is_ignored(&self, path: &[u8]) -> bool {
        let path = String::from_utf8_lossy(path);
        self.ignored.iter().any(|pattern| pattern.matches(&path))
    }

    /// Where the data of these effects begins, and how far it reaches, bytes.
    pub(super) fn data_range(&self, effects: Range<usize>) -> Option<(u64, u64)> {
        let ranges = self.effects[effects].iter().filter_map(Effect::data_range);
        let whole = ranges.reduce(|one, other| one.start.min(other.start)..one.end.max(other.end));
        whole.map(|whole| (whole.start, whole.end - whole.start))
    }

    /// The path of a node before a step: the one it had then.
    pub fn path_at(&self, node: FileId, step: usize) -> Option<Vec<u8>> {
        let mut tree = self.base.clone();
        let earlier = self.effects.iter().take_while(|effect| effect.step < step);
        super::state::replay(&mut tree, earlier);
        path_in(&tree, node)
    }

    /// The path of a node before a step; of one without a name then the one that it has at the end, as `O_TMPFILE` files
    /// get theirs last.
    pub fn name_of(&self, node: FileId, step: usize) -> Option<Vec<u8>> {
        self.path_at(node, step)
            .or_else(|| self.path_at(node, usize::MAX))
    }

    /// What tells a tree of the directory from others.
    pub fn digest(&self, tree: &Tree) -> Hash {
        super::state::digest(tree, self.root)
    }

    /// The directory as the program found it, and as it left it.
    pub fn ends(&self) -> (Tree, Tree) {
        let mut end = self.base.clone();
        super::state::replay(&mut end, &self.effects);
        (self.base.clone(), end)
    }

    /// The directory during the run: whenever one of the files that `is_part` names by their paths had changed, and how
    /// many acknowledgements there were when it changed again. `None` where these are more than `most`.
    pub fn trees_with(
        &self,
        is_part: impl Fn(&[u8]) -> bool,
        most: usize,
    ) -> Option<Vec<(Arc<Tree>, usize)>> {
        let part_of = |tree: &Tree| -> BTreeMap<Vec<u8>, Body> {
            let all = below(tree, self.root).into_iter();
            let parts = all.filter(|(path, _)| is_part(path));
            let bodies =
                parts.filter_map(|(path, node)| Some((path, tree.node(node)?.body.clone())));
            bodies.collect()
        };
        let mut tree = self.base.clone();
        let mut last = part_of(&tree);
        let mut trees = Vec::new();
        for step in &self.steps {
            if step.effects.is_empty() {
                continue;
            }
            let before = tree.clone();
            super::state::replay(&mut tree, &self.effects[step.effects.clone()]);
            let now = part_of(&tree);
            if now != last {
                if trees.len() + 1 == most {
                    return None;
                }
                trees.push((Arc::new(before), self.told_at(step.end)));
                last = now;
            }
        }
        trees.push((Arc::new(tree), self.told()));
        Some(trees)
    }

    /// What is in the directory at both ends, by paths in it; a directory without what is in it.
    pub fn files_at_ends(&self) -> [BTreeMap<Vec<u8>, Body>; 2] {
        let (base, end) = self.ends();
        [base, end].map(|tree| {
            let all = below(&tree, self.root).into_iter();
            let bodies = all.filter_map(|(path, node)| match &tree.node(node)?.body {
                Body::Directory(_) => Some((path, Body::Directory(BTreeMap::new()))),
                body => Some((path, body.clone())),
            });
            bodies.collect()
        })
    }

    /// What had this path in the directory before the program began.
    pub fn began_with(&self, path: &Path) -> Option<&Body> {
        self.at_path(&self.base, path)
    }

    /// What has it after the program has ended.
    pub fn ended_with(&self, path: &Path) -> Option<Body> {
        let (_, end) = self.ends();
        self.at_path(&end, path).cloned()
    }

    fn at_path<'t>(&self, tree: &'t Tree, path: &Path) -> Option<&'t Body> {
        let mut at = self.root;
        for name in path.components() {
            if let Component::Normal(name) = name {
                at = tree.entry(at, name.as_bytes())?;
            }
        }
        Some(&tree.node(at)?.body)
    }

    /// Files that the program changed in the directory that this one is a copy of, by their absolute paths.
    pub fn past_the_copy(&self) -> Examples {
        let mut all = Examples::default();
        for path in &self.past_the_copy {
            all.add(|| String::from_utf8_lossy(path).into_owned());
        }
        all
    }

    /// Files below the directory of which the log lacks bytes, earlier ones or written ones.
    pub fn unknown(&self) -> Examples {
        let mut unknown = Examples::default();
        let (base, end) = self.ends();
        for tree in [&base, &end] {
            for (path, node) in below(tree, self.root) {
                if let Some(Body::File(contents)) = tree.node(node).map(|node| &node.body)
                    && contents.unknown_bytes() != (0, 0)
                    && !self.is_ignored(&path)
                {
                    unknown.add(|| String::from_utf8_lossy(&path).into_owned());
                }
            }
        }
        unknown
    }

    /// Number of acknowledgements by a time.
    pub(super) fn told_at(&self, time: usize) -> usize {
        let steps = self.steps.iter();
        steps
            .filter(|step| step.printed.is_some() && step.end <= time)
            .count()
    }

    /// Number of acknowledgements.
    pub fn told(&self) -> usize {
        self.told_at(usize::MAX)
    }

    /// Steps that acknowledged something, in the order in which they ended.
    pub(super) fn reports(&self) -> impl Iterator<Item = usize> {
        let order = self.steps_in_order().into_iter();
        order.filter(|step| self.steps[*step].printed.is_some())
    }

    /// Steps in the order in which they ended: their places in the history.
    pub fn steps_in_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.steps.len()).collect();
        order.sort_unstable_by_key(|step| self.steps[*step].end);
        order
    }

    pub fn printed_by(&self, step: usize) -> Option<Contents> {
        self.steps[step].printed.as_ref().map(Contents::of)
    }

    /// Nothing that was reported is held against a state.
    pub fn no_reports(&mut self) {
        for step in &mut self.steps {
            step.printed = None;
        }
    }

    /// What two steps printed is one report, of the second.
    pub fn printed_together(&mut self, one: usize, other: usize) {
        if let Some(mut all) = self.steps[one].printed.take() {
            let rest = self.steps[other].printed.take().unwrap_or_default();
            for piece in rest.pieces {
                all.push(piece);
            }
            self.steps[other].printed = Some(all);
        }
    }

    /// What a step wrote reached nobody outside the program.
    pub fn was_not_printed(&mut self, step: usize) {
        self.steps[step].printed = None;
    }

    /// What had been printed after so many acknowledgements.
    pub fn printed(&self, told: usize) -> Contents {
        let reports = self.reports().take(told);
        let printed = reports.filter_map(|step| self.steps[step].printed.as_ref());
        let mut all = Payload::default();
        for piece in printed.flat_map(|payload| &payload.pieces) {
            all.push(*piece);
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

    pub(super) fn is_directory(&self, node: FileId) -> bool {
        let node = self.base.node(node);
        node.is_some_and(|node| node.kind == FileKind::Directory)
    }

    /// Whether `directory` was made by the program and is above `node`, or is `node` itself, by the names
    /// that the program gave.
    pub(super) fn is_new_above(&self, directory: FileId, node: FileId) -> bool {
        // What was there before the program can have got its first name from it by a rename.
        let mut names = self.effects.iter().filter(|effect| {
            matches!(effect.piece, Piece::Entry { node: Some(node), .. } if node == directory)
        });
        if directory != node && names.next().is_none_or(|first| first.group.is_some()) {
            return false;
        }
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
