//! ext4 with `data=journal`: contents of regular files go through the journal, as all metadata does.
//!
//! - A write is a handle for each page: its block, its data, and the length up to its end (`ext4_write_begin`,
//!   `ext4_journalled_write_end`, fs/ext4/inode.c). Handles are in one order, and a transaction has all before it (jbd2), so a
//!   crash leaves a prefix of the operations, with a write cut between two pages. The journal's checksums tear none.
//! - There is no delayed allocation, and `O_DIRECT` writes go through the page cache (`ext4_dio_alignment`,
//!   fs/ext4/inode.c), which keeps the pages of one with `RWF_ATOMIC` no more together than others.
//! - Stores to mappings are in no order with all this. The page is journalled at its first fault (`ext4_page_mkwrite`) and at
//!   write-back (`mpage_journal_page_buffers`), but stores go on until the commit makes it read-only
//!   (`ext4_journalled_submit_inode_data_buffers`, fs/ext4/super.c), when the next transaction may have begun.
//! - A sync waits for the last transaction with data or length of the file (`i_datasync_tid`), or with any change of it
//!   (`i_sync_tid`; `ext4_fsync_journal`, fs/ext4/fsync.c): all before that is durable too, also data of other files.
//!   Stores that were not journalled yet are then. A sync of a directory commits all there is (`ext4_force_commit`, there).
//! - Blocks that are freed are not given away before the commit (`ext4_mb_clear_bb`, fs/ext4/mballoc.c).

use std::cell::Cell;
use std::collections::HashMap;

use super::super::effect::{Effect, Growth, Piece};
use super::super::history::History;

pub(super) fn is_chained(effect: &Effect) -> bool {
    !matches!(effect.piece, Piece::Data { mapped: true, .. })
}

impl History {
    /// From now on each page that a write changes is on disk whole, with the length up to its end.
    /// Comes before [`Self::tear_at`].
    pub fn grow_by_pages(&mut self) {
        let grown_from = |effect: &Effect| match effect.piece {
            Piece::Size {
                from_bytes,
                cause: Growth::InLastBlock | Growth::Allocating,
                ..
            } => Some((effect.step, from_bytes)),
            _ => None,
        };
        // The first length of a step counts.
        let lengths = self.effects.iter().rev().filter_map(grown_from);
        let lengths: HashMap<usize, u64> = lengths.collect();
        let groups = self.effects.iter().filter_map(|effect| effect.group);
        let next_group = Cell::new(groups.max().map_or(0, |last| last + 1));
        self.change_each(|effect| {
            let Some((range, (file, _))) = effect.data_range().zip(effect.block()) else {
                return if grown_from(&effect).is_some() {
                    Vec::new()
                } else {
                    vec![effect]
                };
            };
            let group = Some(next_group.get());
            next_group.set(next_group.get() + 1);
            let step = effect.step;
            let length = lengths.get(&step).filter(|length| **length < range.end);
            let size = length.map(|length| Effect {
                step,
                piece: Piece::Size {
                    file,
                    from_bytes: range.start.max(*length),
                    to_bytes: range.end,
                    cause: Growth::Allocating,
                },
                group,
            });
            let data = Effect { group, ..effect };
            std::iter::once(data).chain(size).collect()
        });
    }
}
