//! xfs with its defaults: one log, delayed allocation.
//!
//! - All metadata is in one order, that of the log.
//! - The length on disk grows when the data is written (`xfs_setfilesize`, `fs/xfs/xfs_aops.c`): it never
//!   reaches over data that is not there. A file that was created, renamed or cut to nothing may
//!   be empty.
//! - Data is overwritten in place, block by block, at any time.

use super::super::effect::{Effect, Growth, Piece};
use super::covers;

pub(super) fn waits(later: &Effect, earlier: &Effect) -> bool {
    match &later.piece {
        Piece::Size {
            cause: Growth::InLastBlock | Growth::Allocating,
            ..
        } => covers(later, earlier),
        _ => false,
    }
}
