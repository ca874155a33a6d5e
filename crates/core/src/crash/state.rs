//! The tree that a set of effects leaves on disk.

use std::collections::{BTreeSet, HashSet};

use blake3::{Hash, Hasher};

use super::effect::{Effect, Piece};
use super::history::History;
use crate::op::FileId;
use crate::record::{Body, Contents, Node, Source, Tree};

/// Bytes that are hashed at once.
const WORDS_AT_ONCE: usize = 16 << 10;

/// No file system could hold these effects: a directory within itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Absurd;

pub(super) fn apply(tree: &mut Tree, effect: &Effect) -> Result<(), Absurd> {
    let applied = match &effect.piece {
        Piece::Data {
            file,
            offset,
            payload,
            ..
        } => tree.change_contents(*file, |contents| contents.place(*offset, payload)),
        Piece::Size { file, to_bytes, .. } => {
            tree.change_contents(*file, |contents| contents.set_length(*to_bytes))
        }
        Piece::Space {
            file,
            mode,
            offset,
            bytes,
        } => tree.change_contents(*file, |contents| contents.allocate(*mode, *offset, *bytes)),
        Piece::Entry { name, node, .. } => tree.set_entry(name, *node),
        Piece::Attribute { node, attribute } => {
            tree.set_attribute(*node, attribute);
            Ok(())
        }
    };
    applied.map_err(|_reason| Absurd)
}

/// Applies effects in program order: each was there with all before it in the run itself.
pub(super) fn replay<'e>(tree: &mut Tree, effects: impl IntoIterator<Item = &'e Effect>) {
    for effect in effects {
        drop(apply(tree, effect));
    }
}

/// The tree with the effects that `kept` says, and the files of which [`cut`] took something.
pub(super) fn with(
    base: &Tree,
    history: &History,
    kept: &[bool],
) -> Result<(Tree, HashSet<FileId>), Absurd> {
    let mut tree = base.clone();
    let mut written = BTreeSet::new();
    for (effect, _) in history.effects.iter().zip(kept).filter(|(_, kept)| **kept) {
        apply(&mut tree, effect)?;
        if let Piece::Data { file, .. } = &effect.piece {
            written.insert(*file);
        }
    }
    let cut = written.into_iter().filter(|file| cut(&mut tree, *file));
    let cut = cut.collect();
    Ok((tree, cut))
}

/// Takes the bytes away whose length did not reach the disk: they are not in the file. Gives whether there were any.
pub(super) fn cut(tree: &mut Tree, file: FileId) -> bool {
    let hides = |node: &Node| matches!(&node.body, Body::File(contents) if contents.reaches_over());
    let is_cut = tree.node(file).is_some_and(hides);
    if is_cut {
        drop(tree.change_contents(file, |contents| {
            contents.cut_at_end();
            Ok(())
        }));
    }
    is_cut
}

/// What tells one tree from another: the sum of what each name in it adds, so that one of them can be taken out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Digest([u64; 4]);

impl Digest {
    pub(super) fn add(&mut self, part: &Self) {
        for (own, part) in self.0.iter_mut().zip(part.0) {
            *own = own.wrapping_add(part);
        }
    }

    pub(super) fn take(&mut self, part: &Self) {
        for (own, part) in self.0.iter_mut().zip(part.0) {
            *own = own.wrapping_sub(part);
        }
    }

    pub(super) fn hash(&self) -> Hash {
        let mut bytes = [0; 32];
        for (bytes, word) in bytes.chunks_exact_mut(8).zip(self.0) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        Hash::from_bytes(bytes)
    }
}

/// What tells one tree from another below a directory: names, kinds, attributes, lengths and where the
/// bytes are. Equal bytes in different places of the log are distinguished.
pub(super) fn digest(tree: &Tree, root: FileId) -> Hash {
    let mut digest = Digest::default();
    let mut waiting = vec![root];
    while let Some(directory) = waiting.pop() {
        for (name, child) in tree.entries(directory) {
            digest.add(&part(tree, directory, name, child));
            let body = tree.node(child).map(|node| &node.body);
            if let Some(Body::Directory(_)) = body {
                waiting.push(child);
            }
        }
    }
    digest.hash()
}

/// What a name adds to the digest of its tree.
pub(super) fn part(tree: &Tree, directory: FileId, name: &[u8], child: FileId) -> Digest {
    let mut hasher = Hasher::new();
    add_id(&mut hasher, directory);
    hasher.update(&(name.len() as u64).to_le_bytes());
    hasher.update(name);
    if let Some(node) = tree.node(child) {
        // Two names of one file are not two files. What is in a directory names it.
        if node.links > 1 || matches!(node.body, Body::Directory(_)) {
            add_id(&mut hasher, child);
        }
        add_node(&mut hasher, node);
    }
    let mut part = Digest::default();
    for (word, bytes) in part
        .0
        .iter_mut()
        .zip(hasher.finalize().as_bytes().chunks_exact(8))
    {
        *word = bytes
            .iter()
            .rev()
            .fold(0, |word, byte| word << 8 | u64::from(*byte));
    }
    part
}

fn add_id(hasher: &mut Hasher, id: FileId) {
    for word in [id.device.into(), id.inode, id.generation.into()] {
        let word: u64 = word;
        hasher.update(&word.to_le_bytes());
    }
}

fn add_node(hasher: &mut Hasher, node: &Node) {
    hasher.update(node.kind.as_str().as_bytes());
    let attributes = &node.attributes;
    hasher.update(&attributes.mode.unwrap_or(u32::MAX).to_le_bytes());
    for (name, value) in &attributes.extended {
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name);
        let value = value.as_deref().unwrap_or_default();
        hasher.update(&(value.len() as u64).to_le_bytes());
        hasher.update(value);
    }
    match &node.body {
        Body::File(contents) => add_contents(hasher, contents),
        Body::Symlink(target) => {
            hasher.update(target.as_deref().unwrap_or_default());
        }
        Body::Directory(_) | Body::Special { .. } => {}
    }
}

fn add_contents(hasher: &mut Hasher, contents: &Contents) {
    // One update of many bytes is hashed in parallel; many of a few bytes are not.
    let mut words = Vec::with_capacity(WORDS_AT_ONCE);
    words.extend(contents.size_bytes().to_le_bytes());
    for (offset, extent) in contents.extents() {
        let (chunk, at) = match extent.source {
            Source::Stored { chunk, at } => (chunk, u64::from(at)),
            Source::Unknown => (u64::MAX, 0),
            Source::Before { offset } => (u64::MAX - 1, offset),
        };
        if words.len() + 32 > WORDS_AT_ONCE {
            hasher.update(&words);
            words.clear();
        }
        for word in [offset, extent.bytes, chunk, at] {
            words.extend(word.to_le_bytes());
        }
    }
    hasher.update(&words);
}
