//! btrfs with its defaults: transactions, and a log tree for what was synced between two of them.
//!
//! - A transaction has all metadata before it, and the data that was written back by then. New data goes
//!   to new blocks: nothing is torn within an extent.
//! - `fsync` of a file logs its inode, its data, its names and the directories that are new above it;
//!   other files stay as they were in the last transaction.
//! - `fsync` of a directory logs the names in it. A file that was moved into it has both names then, until
//!   the transaction; a file that was moved out of it makes a whole transaction.
//! - What the log has of names is not in order with what it has not ([`log_tree`]).
//! - A rename that replaces a file starts the writeback of the new file's data (`filemap_flush` in `btrfs_rename`,
//!   fs/btrfs/inode.c). A transaction that commits before that is done has the name and no data: it waits for
//!   writeback with `flushoncommit` only (`btrfs_wait_delalloc_flush`, fs/btrfs/transaction.c).

mod log_tree;

pub(super) use log_tree::exempt;

use super::super::effect::{BLOCK_BYTES, Effect, Piece};
use super::super::history::History;
use super::{covers, of_file};
use crate::op::{FileId, FileKind};

/// Data is compressed, checksummed and written in extents of at least so much.
const EXTENT_BLOCKS: u64 = 32;

pub(super) fn waits(later: &Effect, earlier: &Effect) -> bool {
    covers(later, earlier) || one_extent(later, earlier)
}

/// Blocks that one write put side by side are one extent. Pages that stores changed over a time are none: one may be
/// written back before there is a store to the next.
pub(super) fn one_extent(one: &Effect, other: &Effect) -> bool {
    let extent = |effect: &Effect| {
        let (file, block) = effect.block()?;
        let is_stored = matches!(effect.piece, Piece::Data { mapped: true, .. });
        (!is_stored).then_some((effect.step, file, block / EXTENT_BLOCKS))
    };
    extent(one).is_some() && extent(one) == extent(other)
}

/// Files that had a name of this one in the last transaction: their new names are logged with it
/// (`log_conflicting_inodes`, fs/btrfs/tree-log.c).
pub(super) fn conflicting(history: &History, node: FileId, done: &[usize]) -> Vec<FileId> {
    let had = |at: &usize| match &history.effects[*at].piece {
        Piece::Entry {
            name,
            node: Some(given),
            ..
        } if *given == node => history.base.entry(name.parent, &name.name),
        _ => None,
    };
    let is_file = |other: &FileId| {
        let other = history.base.node(*other);
        other.is_some_and(|other| other.kind == FileKind::Regular)
    };
    let others = done.iter().filter_map(had);
    others
        .filter(|other| *other != node && is_file(other))
        .collect()
}

/// `with` is of [`conflicting`].
pub(super) fn syncs(
    history: &History,
    at: usize,
    node: FileId,
    whole: bool,
    with: &[FileId],
) -> bool {
    let effect = &history.effects[at];
    let Piece::Entry {
        name,
        node: now,
        before,
        ..
    } = &effect.piece
    else {
        return of_file(effect, node, true);
    };
    // A name that a rename took out of the directory is not taken without being given.
    let is_given = |other: usize| {
        super::same_group(effect, &history.effects[other])
            && !is_replaced(history, other)
            && matches!(&history.effects[other].piece,
            Piece::Entry { name, node: None, .. } if name.parent == node)
    };
    let is_file = *now == Some(node)
        || *before == Some(node) && now.is_none() && !is_replaced(history, at)
        || now.is_some_and(|now| history.is_new_above(now, node));
    let mut group = history.steps[effect.step].effects.clone();
    let is_with = |subject: &Option<FileId>| subject.is_some_and(|one| with.contains(&one));
    let is_moved = effect.group.is_some() && (is_with(now) || is_with(before));
    is_file || is_moved || whole && (name.parent == node || group.any(is_given))
}

/// Whether the name that this takes is given again by the same rename.
fn is_replaced(history: &History, at: usize) -> bool {
    let effect = &history.effects[at];
    let next = history.effects.get(at + 1);
    next.is_some_and(|next| super::same_group(effect, next) && next.shares(effect, BLOCK_BYTES))
}
