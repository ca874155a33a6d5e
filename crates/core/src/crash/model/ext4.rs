//! ext4 with its defaults: one journal, delayed allocation.
//!
//! - All metadata is in one order: a transaction has everything before it (jbd2).
//! - The length of a file grows in the journal when the data needs no allocation. The rest of the block
//!   that the file has already then reads as zeros until the data is there.
//! - Where blocks are to be allocated, the length grows when writeback has submitted the data, in the
//!   transaction that allocates them (`mpage_map_and_submit_extent`, fs/ext4/inode.c). The extents are unwritten
//!   until the data is on disk (`dioread_nolock`), and a commit waits for neither: a crash shows the
//!   new length and zeros. Anything that starts writeback opens this window: `sync`, the flusher, the close of a file that
//!   was cut to nothing, or a rename over another file (`ext4_alloc_da_blocks`).
//! - A rename that replaces a file has the new file's length in its transaction (`auto_da_alloc`).
//! - Data of a file is durable by a sync of this file only.

use super::super::effect::{Effect, Growth, Piece};
use super::replaces;

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

pub(super) fn waits(later: &Effect, earlier: &Effect) -> bool {
    match (&earlier.piece, replaces(later)) {
        (Piece::Size { file, .. }, Some(new)) => *file == new,
        _ => false,
    }
}
