//! The tree that a set of effects leaves on disk.

use blake3::{Hash, Hasher};

use super::effect::{Effect, Piece};
use super::history::History;
use crate::op::FileId;
use crate::record::{Body, Contents, Node, Source, Tree};

/// No file system could hold these effects: a directory within itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Absurd;

pub(super) fn apply(tree: &mut Tree, effect: &Effect) -> Result<(), Absurd> {
    let applied = match &effect.piece {
        Piece::Data {
            file,
            offset,
            payload,
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

/// The tree with the effects that `kept` says, of those from `from` on; nothing lies behind the end of a
/// file.
pub(super) fn with(
    begun: &Tree,
    history: &History,
    from: usize,
    kept: &[bool],
) -> Result<Tree, Absurd> {
    let mut tree = begun.clone();
    let effects = history.effects.iter().enumerate().skip(from);
    for (_, effect) in effects.filter(|(at, _)| kept.get(*at).copied().unwrap_or(false)) {
        apply(&mut tree, effect)?;
    }
    // Bytes whose length did not reach the disk are not in the file.
    for effect in &history.effects {
        if let Piece::Data { file, .. } = &effect.piece {
            let hidden =
                |node: &Node| matches!(&node.body, Body::File(contents) if contents.reaches_over());
            if tree.node(*file).is_some_and(hidden) {
                drop(tree.change_contents(*file, |contents| {
                    contents.cut_at_end();
                    Ok(())
                }));
            }
        }
    }
    Ok(tree)
}

/// What tells one tree from another below a directory: names, kinds, attributes, lengths and where the
/// bytes are. Equal bytes in different places of the log are distinguished.
pub(super) fn digest(tree: &Tree, root: FileId) -> Hash {
    let mut hasher = Hasher::new();
    let mut waiting = vec![root];
    let mut first_seen = Vec::new();
    while let Some(directory) = waiting.pop() {
        for (name, child) in tree.entries(directory) {
            hasher.update(&(name.len() as u64).to_le_bytes());
            hasher.update(name);
            let Some(node) = tree.node(child) else {
                continue;
            };
            if node.links > 1 {
                // Two names of one file are not two files.
                let known = first_seen.iter().position(|id| *id == child);
                let number = known.unwrap_or_else(|| {
                    first_seen.push(child);
                    first_seen.len() - 1
                });
                hasher.update(&(number as u64 + 1).to_le_bytes());
            }
            add_node(&mut hasher, node);
            if matches!(node.body, Body::Directory(_)) {
                waiting.push(child);
            }
        }
        hasher.update(&u64::MAX.to_le_bytes());
    }
    hasher.finalize()
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
    hasher.update(&contents.size_bytes().to_le_bytes());
    for (offset, extent) in contents.extents() {
        let (chunk, at) = match extent.source {
            Source::Stored { chunk, at } => (chunk, u64::from(at)),
            Source::Unknown => (u64::MAX, 0),
            Source::Before { offset } => (u64::MAX - 1, offset),
        };
        for word in [offset, extent.bytes, chunk, at] {
            hasher.update(&word.to_le_bytes());
        }
    }
}
