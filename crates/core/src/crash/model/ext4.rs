//! ext4 with its defaults: one journal, delayed allocation.
//!
//! - All metadata is in one order: a transaction has everything before it (jbd2).
//! - The length of a file grows in the journal when the data needs no allocation. The rest of the block
//!   that the file has already then reads as zeros until the data is there.
//! - Where blocks are to be allocated, the length follows the data (`ext4_writepages`,
//!   fs/ext4/inode.c), with two exceptions: a file that replaces another by rename, or that was
//!   cut to nothing before, is allocated at once and not waited for (`ext4_alloc_da_blocks`). Its
//!   extents are unwritten then (`dioread_nolock`), so a crash shows the new length and zeros.
//! - A rename that replaces a file has the new file's length in its transaction (`auto_da_alloc`).
//! - Data of a file is durable by a sync of this file only.

use super::super::effect::{Effect, Growth, Piece};
use super::super::history::History;
use super::{covers, replaces};

pub(super) fn is_chained(effect: &Effect) -> bool {
    effect.is_journaled()
        || matches!(
            effect.piece,
            Piece::Size {
                cause: Growth::InLastBlock,
                ..
            }
        )
}

pub(super) fn waits(history: &History, later: &Effect, earlier: &Effect) -> bool {
    match &later.piece {
        Piece::Size {
            file,
            cause: Growth::Allocating,
            ..
        } => covers(later, earlier) && !history.allocated_at_once.contains(file),
        Piece::Entry { .. } => match (&earlier.piece, replaces(later)) {
            (Piece::Size { file, .. }, Some(new)) => *file == new,
            _ => false,
        },
        _ => false,
    }
}
