//! Builds states from their neighbours: a tree goes from one set of effects to another, and its digest goes with it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use blake3::Hash;

use super::effect::{BLOCK_BYTES, Effect, Piece};
use super::history::{History, below};
use super::names::Names;
use super::state::{self, Absurd, Digest};
use crate::op::{FileId, FileKind};
use crate::record::{Body, Contents, Name, Tree};

/// The effects of each node, and those of each name, in program order.
#[derive(Debug)]
pub(super) struct Slots<'h> {
    of_node: HashMap<FileId, Vec<usize>>,
    /// Those on the bytes of each block of a file, where the file is only written to and grows.
    blocks_of: HashMap<FileId, HashMap<u64, Vec<usize>>>,
    of_name: HashMap<&'h Name, Vec<usize>>,
}

impl<'h> Slots<'h> {
    pub(super) fn of(history: &'h History) -> Self {
        let mut slots = Self {
            of_node: HashMap::new(),
            blocks_of: HashMap::new(),
            of_name: HashMap::new(),
        };
        let mut others = HashSet::new();
        for (at, effect) in history.effects.iter().enumerate() {
            let node = effect.node();
            match &effect.piece {
                Piece::Entry { name, .. } => {
                    slots.of_name.entry(name).or_default().push(at);
                    continue;
                }
                Piece::Data { offset, .. } => {
                    let blocks = slots.blocks_of.entry(node).or_default();
                    blocks.entry(offset / BLOCK_BYTES).or_default().push(at);
                }
                Piece::Size {
                    from_bytes,
                    to_bytes,
                    ..
                } if from_bytes < to_bytes => {}
                Piece::Attribute { .. } => {}
                Piece::Size { .. } | Piece::Space { .. } => drop(others.insert(node)),
            }
            slots.of_node.entry(node).or_default().push(at);
        }
        slots.blocks_of.retain(|node, _| !others.contains(node));
        slots
    }
}

/// One state of a history, and the way to the next one.
#[derive(Debug, Clone)]
pub(super) struct Cursor {
    tree: Arc<Tree>,
    /// The effects that are in the tree.
    kept: Vec<bool>,
    /// Not so after a set of effects that no file system could hold.
    is_sound: bool,
    names: Names,
    /// The sum of `parts`.
    digest: Digest,
    /// What each node adds to the digest; not of those in `touched`.
    parts: HashMap<FileId, Digest>,
    touched: HashSet<FileId>,
    /// Files of which bytes behind the end were cut off: a later length may show them again.
    cut: HashSet<FileId>,
}

impl Cursor {
    /// The beginning of a history.
    pub(super) fn of(history: &History) -> Self {
        let mut cursor = Self {
            tree: Arc::new(Tree::default()),
            kept: Vec::new(),
            is_sound: false,
            names: Names::default(),
            digest: Digest::default(),
            parts: HashMap::new(),
            touched: HashSet::new(),
            cut: HashSet::new(),
        };
        cursor.start(
            history,
            vec![false; history.effects.len()],
            history.base.clone(),
        );
        cursor
    }

    /// How many effects have to change.
    pub(super) fn distance(&self, kept: &[bool]) -> usize {
        if !self.is_sound {
            return usize::MAX;
        }
        differing(&self.kept, kept).count()
    }

    /// The tree with these effects, and what tells it from others; nothing lies behind the end of a file.
    pub(super) fn go(
        &mut self,
        history: &History,
        slots: &Slots<'_>,
        kept: &[bool],
    ) -> Result<(Arc<Tree>, Hash), Absurd> {
        let places: Vec<usize> = differing(&self.kept, kept).collect();
        let changed: Vec<&Effect> = places.iter().map(|at| &history.effects[*at]).collect();
        let first = places.first();
        let is_ahead = first.is_some_and(|first| !self.kept[*first..].contains(&true));
        let is_whole = |effect: &&Effect| !self.cut.contains(&effect.node());
        let is_file = |effect: &&Effect| !self.leads_to_directory(&effect.piece);
        if !self.is_sound {
            self.restart(history, kept)?;
        } else if is_ahead && changed.iter().all(is_whole) {
            self.kept = kept.to_vec();
            self.ahead(&changed)?;
        } else if changed.iter().all(is_file) {
            self.kept = kept.to_vec();
            self.aside(history, slots, &changed)?;
        } else {
            self.restart(history, kept)?;
        }
        self.settle(history.root);
        Ok((Arc::clone(&self.tree), self.digest.hash()))
    }

    fn start(&mut self, history: &History, kept: Vec<bool>, tree: Tree) {
        self.names = Names::of(&tree);
        self.cut.clear();
        self.parts.clear();
        self.digest = Digest::default();
        self.touched = below(&tree, history.root)
            .into_iter()
            .map(|(_, node)| node)
            .collect();
        self.tree = Arc::new(tree);
        self.kept = kept;
        self.is_sound = true;
        self.settle(history.root);
    }

    /// From the beginning.
    fn restart(&mut self, history: &History, kept: &[bool]) -> Result<(), Absurd> {
        self.is_sound = false;
        let (tree, cut) = state::with(&history.base, history, kept)?;
        self.start(history, kept.to_vec(), tree);
        self.cut = cut;
        Ok(())
    }

    /// More effects, all of them behind those that are there.
    fn ahead(&mut self, effects: &[&Effect]) -> Result<(), Absurd> {
        self.is_sound = false;
        let mut grown = BTreeSet::new();
        for effect in effects {
            if let Piece::Entry { name, node, .. } = &effect.piece {
                self.set_entry(name, *node)?;
            } else {
                self.touch(effect.node());
                state::apply(Arc::make_mut(&mut self.tree), effect)?;
                grown.insert(effect.node());
            }
        }
        self.cut.extend(
            grown
                .into_iter()
                .filter(|node| state::cut(Arc::make_mut(&mut self.tree), *node)),
        );
        self.is_sound = true;
        Ok(())
    }

    /// Other effects on files and their names: each of these is independent of the others.
    fn aside(
        &mut self,
        history: &History,
        slots: &Slots<'_>,
        effects: &[&Effect],
    ) -> Result<(), Absurd> {
        let (mut nodes, mut names) = (BTreeSet::new(), BTreeSet::new());
        let mut blocks: BTreeMap<FileId, BTreeSet<u64>> = BTreeMap::new();
        for effect in effects {
            let node = effect.node();
            match &effect.piece {
                Piece::Entry { name, .. } => drop(names.insert(name)),
                Piece::Data { offset, .. } if slots.blocks_of.contains_key(&node) => {
                    let block = offset / BLOCK_BYTES;
                    blocks.entry(node).or_default().insert(block);
                }
                _ => drop(nodes.insert(node)),
            }
        }
        blocks.retain(|node, _| !nodes.contains(node));
        self.is_sound = false;
        for name in names {
            let last = slots.of_name[name].iter().rfind(|at| self.kept[**at]);
            let node = match last.map(|at| &history.effects[*at].piece) {
                Some(Piece::Entry { node, .. }) => *node,
                _ => history.base.entry(name.parent, &name.name),
            };
            self.set_entry(name, node)?;
        }
        for node in nodes {
            self.touch(node);
            let tree = Arc::make_mut(&mut self.tree);
            tree.restore(node, &history.base);
            for at in slots.of_node[&node].iter().filter(|at| self.kept[**at]) {
                state::apply(tree, &history.effects[*at])?;
            }
            self.cut.remove(&node);
            self.cut_off(node);
        }
        for (node, blocks) in blocks {
            self.touch(node);
            for block in blocks {
                self.put(history, slots, node, block)?;
            }
            self.cut_off(node);
        }
        self.is_sound = true;
        Ok(())
    }

    /// Makes a block what the effects make of it, without those on the rest of its file.
    fn put(
        &mut self,
        history: &History,
        slots: &Slots<'_>,
        node: FileId,
        block: u64,
    ) -> Result<(), Absurd> {
        let from = block * BLOCK_BYTES;
        if from >= self.tree.size_bytes(node) {
            self.cut.insert(node);
            return Ok(());
        }
        let tree = Arc::make_mut(&mut self.tree);
        let none = Contents::default();
        let base = match history.base.node(node).map(|node| &node.body) {
            Some(Body::File(contents)) => contents,
            _ => &none,
        };
        let restored = tree.change_contents(node, |contents| {
            contents.restore(from, from + BLOCK_BYTES, base);
            Ok(())
        });
        restored.map_err(|_reason| Absurd)?;
        let effects = slots.blocks_of[&node][&block].iter();
        for at in effects.filter(|at| self.kept[**at]) {
            state::apply(tree, &history.effects[*at])?;
        }
        Ok(())
    }

    fn cut_off(&mut self, node: FileId) {
        if state::cut(Arc::make_mut(&mut self.tree), node) {
            self.cut.insert(node);
        }
    }

    fn leads_to_directory(&self, piece: &Piece) -> bool {
        let Piece::Entry {
            name, node, before, ..
        } = piece
        else {
            return false;
        };
        let now = self.tree.entry(name.parent, &name.name);
        [*node, *before, now]
            .into_iter()
            .flatten()
            .any(|node| self.is_directory(node))
    }

    fn is_directory(&self, node: FileId) -> bool {
        self.tree
            .node(node)
            .is_some_and(|node| node.kind == FileKind::Directory)
    }

    fn set_entry(&mut self, name: &Name, node: Option<FileId>) -> Result<(), Absurd> {
        let before = self.tree.entry(name.parent, &name.name);
        if before == node {
            return Ok(());
        }
        for one in [before, node].into_iter().flatten() {
            self.touch(one);
            if self.is_directory(one) {
                for (_, inner) in below(&self.tree, one) {
                    self.touch(inner);
                }
            }
        }
        let tree = Arc::make_mut(&mut self.tree);
        tree.set_entry(name, node).map_err(|_reason| Absurd)?;
        let is_directory = node.is_some_and(|node| self.is_directory(node));
        self.names.change(name, before, node, is_directory);
        Ok(())
    }

    /// Takes a node out of the digest: it changes.
    fn touch(&mut self, node: FileId) {
        if self.touched.insert(node)
            && let Some(part) = self.parts.remove(&node)
        {
            self.digest.take(&part);
        }
    }

    /// Adds what changed to the digest again.
    fn settle(&mut self, root: FileId) {
        for node in std::mem::take(&mut self.touched) {
            let mut part = Digest::default();
            for name in self.names.of_node(node) {
                if self.is_below(name.parent, root) {
                    part.add(&state::part(&self.tree, name.parent, &name.name, node));
                }
            }
            self.digest.add(&part);
            self.parts.insert(node, part);
        }
    }

    /// Whether a directory is the root, or has a name in one that is.
    fn is_below(&self, directory: FileId, root: FileId) -> bool {
        let mut at = directory;
        while at != root {
            match self.names.of_node(at).first() {
                Some(name) => at = name.parent,
                None => return false,
            }
        }
        true
    }
}

/// Where two combinations differ. Neighbours are alike in most runs: a run is compared at once.
fn differing(one: &[bool], other: &[bool]) -> impl Iterator<Item = usize> {
    const RUN: usize = 64;
    let runs = one.chunks(RUN).zip(other.chunks(RUN)).enumerate();
    let unlike = runs.filter(|(_, (one, other))| one != other);
    unlike.flat_map(|(run, (one, other))| {
        let places = one.iter().zip(other).zip(run * RUN..);
        places.filter_map(|((one, other), at)| (one != other).then_some(at))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::crash::tests::{Log, ROOT, letters, shown};

    proptest! {
        /// From whichever state, a cursor comes to what the effects make of the beginning, in the same extents.
        #[test]
        fn each_way_leads_to_the_same(
            found in 0..30_000_u32,
            writes in prop::collection::vec((0..30_000_u64, 1..9_000_u32, 0..12_u8), 1..8),
            ways in prop::collection::vec(prop::collection::vec(any::<bool>(), 64), 1..12),
        ) {
            let mut log = Log::new();
            let file = log.found(ROOT, "f", letters('a', found));
            let new = log.create(ROOT, "g");
            for (number, (offset, bytes, what)) in writes.into_iter().enumerate() {
                let letter = char::from(b'b' + u8::try_from(number).unwrap());
                match what {
                    0 => log.open_truncated(new),
                    1..6 => log.write(new, offset, letters(letter, bytes)),
                    _ => log.write(file, offset, letters(letter, bytes)),
                }
            }
            let history = log.history();
            let slots = Slots::of(&history);
            let mut cursor = Cursor::of(&history);
            for way in ways {
                let all = 0..history.effects.len();
                let kept: Vec<bool> = all.map(|at| way[at % way.len()]).collect();
                let (tree, digest) = cursor.go(&history, &slots, &kept).unwrap();
                let (wanted, _) = state::with(&history.base, &history, &kept).unwrap();
                prop_assert_eq!(shown(&tree), shown(&wanted));
                prop_assert_eq!(digest, state::digest(&wanted, history.root));
            }
        }
    }
}
