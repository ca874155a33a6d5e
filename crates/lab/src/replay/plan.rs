//! A remedy as two variants of the same work, and how much of it is replayed.

use iostrata_core::trace::Remedy;

use crate::engine::Failure;

/// Maximum bytes of the scratch file, and of the transfers of one run: enough for some tenths of a
/// second at memory speed, little compared with the free space of any disk.
pub(super) const MOST_BYTES: u64 = 64 << 20;

/// Bytes that overwrites cycle through, as in `lab sync`.
const OVERWRITTEN_BYTES: u64 = 4 << 20;

/// How the pieces are written to the file, or read from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// In transfers of this many bytes; through a buffer when a piece is smaller.
    Transferred { write: bool, bytes: u64 },
    /// Each piece in its own write, with syncs between.
    Synced(Syncing),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Syncing {
    pub(super) writes_per_sync: u64,
    /// `fdatasync`, or `fsync`.
    pub(super) data_only: bool,
    /// Append, or overwrite.
    pub(super) append: bool,
    pub(super) preallocate: bool,
}

/// The same pieces, in both variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    /// Bytes that the program transfers at a time.
    pub(super) piece_bytes: u64,
    /// Number of these transfers.
    pub(super) pieces: u64,
    pub(super) now: Way,
    pub(super) better: Way,
}

impl Plan {
    /// Fails for work that no file of [`MOST_BYTES`] can represent.
    pub(super) fn new(remedy: &Remedy) -> Result<Self, Failure> {
        let (plan, largest_bytes) = match *remedy {
            Remedy::LargerPieces {
                write,
                piece_bytes,
                count,
                better_bytes,
            } => {
                let way = |bytes| Way::Transferred { write, bytes };
                let plan = Self {
                    piece_bytes,
                    pieces: count,
                    now: way(piece_bytes),
                    better: way(better_bytes),
                };
                (plan, piece_bytes.max(better_bytes))
            }
            Remedy::FewerSyncs {
                piece_bytes,
                writes_per_sync,
                syncs,
                group,
                data_only_now,
                data_only_better,
                append,
                preallocate,
            } => {
                let way = |writes_per_sync, data_only, preallocate| {
                    Way::Synced(Syncing {
                        writes_per_sync,
                        data_only,
                        append,
                        preallocate,
                    })
                };
                let grouped = writes_per_sync.saturating_mul(group.max(1));
                let plan = Self {
                    piece_bytes,
                    pieces: writes_per_sync.saturating_mul(syncs),
                    now: way(writes_per_sync, data_only_now, false),
                    better: way(grouped, data_only_better, preallocate),
                };
                (plan, piece_bytes)
            }
        };
        if plan.piece_bytes == 0 || plan.pieces == 0 {
            return Err(Failure::job("there is nothing to replay"));
        }
        if largest_bytes > MOST_BYTES {
            return Err(Failure::job(format!(
                "transfers of {largest_bytes} bytes exceed the size of a scratch file"
            )));
        }
        Ok(plan)
    }

    pub(super) fn most_pieces(&self) -> u64 {
        self.pieces.min((MOST_BYTES / self.piece_bytes).max(1))
    }

    /// Pieces of the measured runs, when the current variant did `done` of them in the time for a
    /// run; `None` when the time was too short for one sync.
    ///
    /// A whole number of the improved variant's groups if there is time for one, otherwise of the
    /// current variant's: then the improved variant shares its sync among fewer pieces than it
    /// could, and its saving is understated.
    pub(super) fn scaled(&self, done: u64) -> Option<u64> {
        let whole = |way| match way {
            Way::Transferred { .. } => 1,
            Way::Synced(syncing) => syncing.writes_per_sync.max(1),
        };
        let most = done.min(self.most_pieces());
        if most == self.pieces {
            return Some(most);
        }
        let (better, now) = (whole(self.better), whole(self.now));
        let pieces = if most >= better {
            most - most % better
        } else {
            most - most % now
        };
        (pieces > 0).then_some(pieces)
    }

    /// Bytes in the file before the first run.
    pub(super) fn filled_bytes(&self) -> u64 {
        let all = self.most_pieces() * self.piece_bytes;
        match self.now {
            Way::Transferred { write: false, .. } => all,
            Way::Synced(Syncing { append: false, .. }) => {
                all.min((OVERWRITTEN_BYTES / self.piece_bytes).max(1) * self.piece_bytes)
            }
            Way::Transferred { write: true, .. } | Way::Synced(Syncing { append: true, .. }) => 0,
        }
    }

    pub(super) fn most_bytes(&self) -> u64 {
        self.filled_bytes()
            .max(self.most_pieces() * self.piece_bytes)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(in crate::replay) fn larger(write: bool, piece_bytes: u64, count: u64) -> Remedy {
        Remedy::LargerPieces {
            write,
            piece_bytes,
            count,
            better_bytes: 64 << 10,
        }
    }

    pub(in crate::replay) fn fewer(writes_per_sync: u64, syncs: u64, group: u64) -> Remedy {
        Remedy::FewerSyncs {
            piece_bytes: 100,
            writes_per_sync,
            syncs,
            group,
            data_only_now: false,
            data_only_better: true,
            append: true,
            preallocate: false,
        }
    }

    #[test]
    fn both_ways_move_the_same_pieces() {
        let plan = Plan::new(&fewer(3, 20, 10)).unwrap();
        assert_eq!((plan.piece_bytes, plan.pieces), (100, 60));
        let per_sync = |way| match way {
            Way::Synced(syncing) => (syncing.writes_per_sync, syncing.data_only),
            Way::Transferred { .. } => panic!("{way:?}"),
        };
        assert_eq!(per_sync(plan.now), (3, false));
        assert_eq!(per_sync(plan.better), (30, true));
        let plan = Plan::new(&larger(true, 7, 1000)).unwrap();
        assert_eq!((plan.piece_bytes, plan.pieces), (7, 1000));
    }

    #[test]
    fn what_has_time_is_done_whole() {
        let plan = Plan::new(&fewer(3, 21, 10)).unwrap();
        assert_eq!(plan.scaled(63), Some(63));
    }

    #[test]
    fn a_part_is_whole_groups_or_else_whole_syncs() {
        let plan = Plan::new(&fewer(3, 1000, 10)).unwrap();
        assert_eq!(plan.scaled(2999), Some(2970));
        assert_eq!(plan.scaled(31), Some(30));
        assert_eq!(plan.scaled(29), Some(27));
        assert_eq!(plan.scaled(2), None);
        let plan = Plan::new(&larger(true, 1, 1_000_000)).unwrap();
        assert_eq!(plan.scaled(123_457), Some(123_457));
        assert_eq!(plan.scaled(0), None);
    }

    #[test]
    fn a_file_has_what_is_read_or_overwritten() {
        let filled = |remedy: &Remedy| Plan::new(remedy).unwrap().filled_bytes();
        assert_eq!(filled(&larger(false, 10, 100)), 1000);
        assert_eq!(filled(&larger(true, 10, 100)), 0);
        assert_eq!(filled(&larger(false, 1 << 20, 1 << 20)), MOST_BYTES);
        assert_eq!(filled(&fewer(1, 10, 1)), 0);
        let overwriting = |syncs| Remedy::FewerSyncs {
            piece_bytes: 1000,
            writes_per_sync: 1,
            syncs,
            group: 1,
            data_only_now: false,
            data_only_better: true,
            append: false,
            preallocate: false,
        };
        assert_eq!(filled(&overwriting(10)), 10_000);
        assert_eq!(filled(&overwriting(1_000_000)), 4_194_000);
    }

    #[test]
    fn what_cannot_be_shown_is_refused() {
        assert!(Plan::new(&larger(true, 0, 5)).is_err());
        assert!(Plan::new(&larger(true, 5, 0)).is_err());
        assert!(Plan::new(&fewer(0, 5, 1)).is_err());
        assert!(Plan::new(&larger(true, MOST_BYTES + 1, 1)).is_err());
        assert!(Plan::new(&larger(true, MOST_BYTES, 1)).is_ok());
    }

    proptest! {
        #[test]
        fn a_part_is_never_more_than_was_done_or_fits(
            piece_bytes in 1..1_u64 << 26,
            writes_per_sync in 1..1_u64 << 40,
            syncs in 1..1_u64 << 40,
            group in 0..1_u64 << 40,
            done in 0..1_u64 << 40,
        ) {
            let plan = Plan::new(&Remedy::FewerSyncs {
                piece_bytes,
                writes_per_sync,
                syncs,
                group,
                data_only_now: true,
                data_only_better: true,
                append: true,
                preallocate: true,
            }).unwrap();
            prop_assert!(plan.most_bytes() <= MOST_BYTES);
            if let Some(pieces) = plan.scaled(done) {
                prop_assert!(pieces > 0 && pieces <= done && pieces <= plan.pieces);
            }
        }
    }
}
