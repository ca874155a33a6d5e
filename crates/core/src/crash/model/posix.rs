//! What POSIX guarantees and no more: only what was synced is on disk, everything else may be there
//! in any combination. A new file's `fsync` does not cover its name; `fsync` of the directory does
//! (fsync(2)). A rename is atomic (rename(2)), which a crash need not respect by the letter of the standard
//! and every file system here does.

use super::super::effect::{Effect, Piece};
use super::of_file;
use crate::op::FileId;

pub(super) fn syncs(effect: &Effect, node: FileId, whole: bool) -> bool {
    match &effect.piece {
        Piece::Entry { name, .. } => whole && name.parent == node,
        _ => of_file(effect, node, whole),
    }
}
