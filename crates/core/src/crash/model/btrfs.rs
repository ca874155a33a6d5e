//! btrfs with its defaults: transactions, and a log tree for what was synced between two of them.
//!
//! - A transaction has all metadata before it, and the data that was written back by then. New data goes
//!   to new blocks: nothing is torn within an extent.
//! - `fsync` of a file logs its inode, its data, its names and the directories that are new above it;
//!   other files stay as they were in the last transaction.
//! - `fsync` of a directory logs the names in it. A file that was moved into it has both names then, until
//!   the transaction; a file that was moved out of it makes a whole transaction.
//! - A rename that replaces a file writes the new file's data first (`btrfs_rename`, fs/btrfs/inode.c).

use super::super::effect::{Effect, Growth, Piece};
use super::super::history::History;
use super::{block, covers, of_file, replaces};
use crate::op::FileId;

/// Data is compressed, checksummed and written in extents of at least so much.
const EXTENT_BLOCKS: u64 = 32;

pub(super) fn waits(later: &Effect, earlier: &Effect) -> bool {
    match &later.piece {
        Piece::Size {
            cause: Growth::InLastBlock | Growth::Allocating,
            ..
        } => covers(later, earlier),
        Piece::Entry { .. } => match replaces(later) {
            Some(new) => matches!(&earlier.piece,
                Piece::Data { file, .. } | Piece::Size { file, .. } if *file == new),
            None => false,
        },
        _ => one_extent(later, earlier),
    }
}

/// Blocks that one write put side by side are one extent.
pub(super) fn one_extent(one: &Effect, other: &Effect) -> bool {
    match (&one.piece, &other.piece) {
        (
            Piece::Data { file, offset, .. },
            Piece::Data {
                file: of,
                offset: at,
                ..
            },
        ) => {
            one.step == other.step
                && file == of
                && block(*offset) / EXTENT_BLOCKS == block(*at) / EXTENT_BLOCKS
        }
        _ => false,
    }
}

pub(super) fn syncs(history: &History, effect: &Effect, node: FileId, whole: bool) -> bool {
    let Piece::Entry {
        name,
        node: now,
        before,
    } = &effect.piece
    else {
        return of_file(effect, node, true);
    };
    // A name that a rename took out of the directory is not taken without being given.
    let is_given = |other: &Effect| {
        super::same_group(effect, other)
            && matches!(&other.piece,
            Piece::Entry { name, node: None, .. } if name.parent == node)
    };
    let is_file = *now == Some(node)
        || *before == Some(node) && now.is_none()
        || now.is_some_and(|now| history.is_new_above(now, node));
    is_file || whole && (name.parent == node || history.effects.iter().any(is_given))
}
