//! What a file system promises about a crash: which effects wait for which, and what a sync makes durable.
//!
//! A model allows a set of effects to be on disk when every effect of it that no sync forced there has
//! all that it needs there too. What a model does not order may be lost or kept independently.
//!
//! POSIX guarantees no more than this: only what was synced is on disk, everything else may be there
//! in any combination. A new file's `fsync` does not cover its name; `fsync` of the directory does
//! (fsync(2)). A rename is atomic (rename(2)), which a crash need not respect by the letter of the standard
//! and every file system here does.
//!
//! xfs has one log with its defaults, and delayed allocation:
//!
//! - All metadata is in one order, that of the log.
//! - The length on disk grows when the data is written (`xfs_setfilesize`, `fs/xfs/xfs_aops.c`): it never
//!   reaches over data that is not there. A file that was created, renamed or cut to nothing may
//!   be empty.
//! - Data is overwritten in place, block by block, at any time.

mod btrfs;
mod ext4;
mod ext4_journal;

use super::effect::{BLOCK_BYTES, Effect, Piece};
use super::history::{History, Step, Sync};
use crate::op::FileId;

// The weakest is first.
names! {
    pub enum Model {
        /// What POSIX guarantees, and nothing more: only syncs order anything.
        Posix = "posix",
        /// ext4 with its defaults: `data=ordered`, delayed allocation, `auto_da_alloc`, `dioread_nolock`.
        Ext4 = "ext4",
        /// xfs with its defaults.
        Xfs = "xfs",
        /// btrfs with its defaults.
        Btrfs = "btrfs",
        /// ext4 with `data=journal`.
        Ext4Journal = "ext4-journal",
    }
}

impl Model {
    /// POSIX, and file systems as they are mounted without options.
    pub const DEFAULTS: [Self; 4] = [Self::Posix, Self::Ext4, Self::Xfs, Self::Btrfs];

    /// What is not in the order that the model keeps otherwise.
    pub(super) fn exempt(self, history: &History) -> Exempt {
        match self {
            Self::Btrfs => btrfs::exempt(history),
            Self::Posix | Self::Ext4 | Self::Xfs | Self::Ext4Journal => {
                let none = vec![false; history.effects.len()];
                Exempt {
                    alone: none.clone(),
                    parted: none,
                }
            }
        }
    }

    /// Whether `later` reaches the disk only together with or after `earlier`. Both are places in the
    /// history's effects, `earlier` the smaller one. `exempt` is of [`Self::exempt`].
    pub(super) fn needs(
        self,
        history: &History,
        exempt: &Exempt,
        later: usize,
        earlier: usize,
    ) -> bool {
        let (one, other) = (&history.effects[later], &history.effects[earlier]);
        self.orders(history, later, earlier)
            || self.chained(one)
                && !exempt.alone[later]
                && self.chained(other)
                && history.precedes(other, one)
    }

    /// The same without the one order of all metadata.
    pub(super) fn orders(self, history: &History, later: usize, earlier: usize) -> bool {
        let (one, other) = (&history.effects[later], &history.effects[earlier]);
        if one.shares(other, self.unit_bytes(history))
            || same_group(one, other)
            || empties(one, other)
            || self.is_one_block(history, one, other)
        {
            return true;
        }
        match self {
            Self::Posix => false,
            _ if in_new_blocks(one, other) => true,
            Self::Ext4Journal => false,
            Self::Ext4 => ext4::waits(one, other),
            Self::Xfs => covers(one, other),
            Self::Btrfs => btrfs::waits(one, other),
        }
    }

    /// Whether the length on disk grows when the data is there.
    pub(super) fn waits_for_data(self) -> bool {
        matches!(self, Self::Xfs | Self::Btrfs)
    }

    /// Whether `earlier` is on disk only together with `later`.
    pub(super) fn inseparable(
        self,
        history: &History,
        exempt: &Exempt,
        later: usize,
        earlier: usize,
    ) -> bool {
        let (one, other) = (&history.effects[later], &history.effects[earlier]);
        same_group(one, other) && !exempt.parted[earlier]
            || self.is_one_block(history, one, other)
            || self == Self::Btrfs && btrfs::one_extent(one, other)
    }

    /// What of a file reaches the disk whole or not at all: btrfs writes data to new blocks, and refers to them once all of
    /// it is there; a journal with data has checksums of it.
    pub(super) fn unit_bytes(self, history: &History) -> u64 {
        match self {
            Self::Btrfs | Self::Ext4Journal => BLOCK_BYTES,
            Self::Posix | Self::Ext4 | Self::Xfs => history.sector_bytes,
        }
    }

    /// Whether two pieces of one write are in a block that is not torn. One that the write allocates is unwritten until
    /// all of it is there (`ext4_end_io_end`, fs/ext4/page-io.c; `xfs_end_ioend`, `fs/xfs/xfs_aops.c`).
    fn is_one_block(self, history: &History, one: &Effect, other: &Effect) -> bool {
        let is_written_whole = || match self {
            Self::Posix | Self::Btrfs | Self::Ext4Journal => false,
            Self::Ext4 | Self::Xfs => history.allocates(one),
        };
        one.step == other.step
            && one.block().is_some()
            && one.block() == other.block()
            && is_written_whole()
    }

    /// Whether the effect is in the one order of metadata that the journal, log or transaction keeps.
    pub(super) fn chained(self, effect: &Effect) -> bool {
        match self {
            Self::Posix => false,
            Self::Ext4 => ext4::is_chained(effect),
            Self::Ext4Journal => ext4_journal::is_chained(effect),
            Self::Xfs | Self::Btrfs => effect.is_journaled(),
        }
    }

    /// Whether what a sync makes durable comes with all that it needs. btrfs logs one file and leaves what
    /// was before it to the transaction.
    pub(super) fn syncs_all_before(self) -> bool {
        self != Self::Btrfs
    }

    /// Whether a sync makes an effect durable that was complete before it began. `forced` is of [`Self::forced`].
    pub(super) fn syncs(self, history: &History, by: Sync, forced: &Forced, at: usize) -> bool {
        let effect = &history.effects[at];
        let (node, whole) = match by {
            Sync::All => return true,
            // The length is with it that its data needs (msync(3posix), synchronized I/O data integrity completion).
            Sync::Range {
                file,
                offset,
                bytes,
            } => match effect.data_range() {
                // Pages are written whole (`filemap_fdatawrite_range`, mm/filemap.c).
                Some(data) => {
                    let end = offset.saturating_add(bytes).div_ceil(BLOCK_BYTES);
                    let is_within = effect.node() == file
                        && (offset / BLOCK_BYTES..end).contains(&(data.start / BLOCK_BYTES));
                    if is_within || !self.chained(effect) {
                        return is_within;
                    }
                    (file, false)
                }
                None => (file, false),
            },
            Sync::File(node) => (node, true),
            Sync::Data(node) => (node, false),
        };
        match self {
            Self::Posix => of_directory(effect, node, whole) || of_file(effect, node, whole),
            Self::Ext4 | Self::Xfs | Self::Ext4Journal => {
                let is_forced = |last: usize| {
                    let end = &history.effects[last];
                    at == last
                        || same_group(effect, end)
                        || at < last && history.precedes(effect, end)
                };
                of_file(effect, node, whole)
                    || self.chained(effect) && forced.through.is_some_and(is_forced)
            }
            Self::Btrfs => btrfs::syncs(history, at, node, whole, &forced.with),
        }
    }

    /// What a sync brings besides its file, of what was complete before it began and is not durable.
    pub(super) fn forced(self, history: &History, by: Sync, done: &[usize]) -> Forced {
        let (node, whole) = match by {
            Sync::File(node) => (node, true),
            Sync::Data(node) | Sync::Range { file: node, .. } => (node, false),
            Sync::All => return Forced::default(),
        };
        let commits_all = || self == Self::Ext4Journal && history.is_directory(node);
        let is_change = |at: &&usize| {
            let effect = &history.effects[**at];
            let is_data = || effect.block().is_some_and(|(file, _)| file == node);
            let is_known = changes_inode(effect, node, whole);
            is_known || self.chained(effect) && (is_data() || commits_all())
        };
        match self {
            Self::Posix => Forced::default(),
            Self::Ext4 | Self::Xfs | Self::Ext4Journal => Forced {
                through: done.iter().rev().find(is_change).copied(),
                with: Vec::new(),
            },
            Self::Btrfs => Forced {
                through: None,
                with: btrfs::conflicting(history, node, done),
            },
        }
    }
}

/// What a sync brings besides its file.
#[derive(Debug, Default)]
pub(super) struct Forced {
    /// The last change of the file: journal and log are forced through it.
    through: Option<usize>,
    /// Files whose names are logged too.
    with: Vec<FileId>,
}

/// Effects, by their places in the history, that a model does not keep in its order.
#[derive(Debug)]
pub(super) struct Exempt {
    /// On disk without the metadata that was changed before.
    pub(super) alone: Vec<bool>,
    /// On disk without what the same operation changes after it.
    pub(super) parted: Vec<bool>,
}

/// ext4 waits for the transaction, and xfs forces the log, that has the inode's last change: all
/// metadata before it is durable too (`ext4_fsync_journal`, fs/ext4/fsync.c; `xfs_fsync_flush_log`,
/// `fs/xfs/xfs_file.c`). Nothing after it is: writeback may have cleaned the inode before the sync.
fn changes_inode(effect: &Effect, node: FileId, whole: bool) -> bool {
    match &effect.piece {
        Piece::Data { .. } => false,
        // A new inode waits for its transaction whatever is in it (`i_datasync_tid` in `__ext4_new_inode`,
        // fs/ext4/ialloc.c; `ili_fsync_fields` in `xfs_fsync_seq`, `fs/xfs/xfs_file.c`). Else its link count or its time
        // of change, or that of the directory itself.
        Piece::Entry {
            name,
            node: now,
            before,
            is_new,
        } => {
            *is_new && *now == Some(node)
                || whole && (name.parent == node || *now == Some(node) || *before == Some(node))
        }
        _ => of_file(effect, node, whole),
    }
}

/// Data and length of a file; with `whole` its attributes too.
fn of_file(effect: &Effect, node: FileId, whole: bool) -> bool {
    match &effect.piece {
        Piece::Entry { .. } => false,
        Piece::Attribute { .. } => whole && effect.node() == node,
        _ => effect.node() == node,
    }
}

/// A name in a directory, which a sync of its data alone leaves out.
fn of_directory(effect: &Effect, node: FileId, whole: bool) -> bool {
    matches!(&effect.piece, Piece::Entry { name, .. } if whole && name.parent == node)
}

pub(super) fn same_group(one: &Effect, other: &Effect) -> bool {
    one.group.is_some() && one.group == other.group
}

/// A directory is removed when it is empty: after the names in it.
fn empties(later: &Effect, earlier: &Effect) -> bool {
    match (&later.piece, &earlier.piece) {
        (Piece::Entry { before, .. }, Piece::Entry { name, .. }) => *before == Some(name.parent),
        _ => false,
    }
}

/// Whether `data` lies where `cut` took the blocks away: it got new ones, which the file does not have as
/// long as it has the old ones.
fn in_new_blocks(data: &Effect, cut: &Effect) -> bool {
    match (data.block(), &cut.piece) {
        (
            Some((file, block)),
            Piece::Size {
                file: of,
                from_bytes,
                to_bytes,
                ..
            },
        ) => file == *of && to_bytes < from_bytes && block >= to_bytes.div_ceil(BLOCK_BYTES),
        _ => false,
    }
}

/// Whether `size` is the length of a write, which lies behind the begin of `data`.
fn covers(size: &Effect, data: &Effect) -> bool {
    match (&size.piece, &data.piece) {
        (
            Piece::Size { file, to_bytes, .. },
            Piece::Data {
                file: of, offset, ..
            },
        ) => !size.is_journaled() && file == of && offset < to_bytes,
        _ => false,
    }
}

/// A file that gets a name which another file had.
fn replaces(effect: &Effect) -> Option<FileId> {
    match &effect.piece {
        Piece::Entry {
            node: Some(node),
            before: Some(before),
            ..
        } if effect.group.is_some() && node != before => Some(*node),
        _ => None,
    }
}

impl History {
    /// Whether one operation ended before the other began: what overlaps has no order.
    pub(super) fn precedes(&self, earlier: &Effect, later: &Effect) -> bool {
        let (one, other) = (&self.steps[earlier.step], &self.steps[later.step]);
        earlier.step == later.step || ended_before(one, other)
    }
}

pub(super) fn ended_before(one: &Step, other: &Step) -> bool {
    one.end < other.begin
}
