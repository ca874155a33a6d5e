//! What a block device would hold after a power failure, from the requests that it got.
//!
//! A device may keep or lose any request that no completed flush covers. The requests between two
//! flushes are an [`Epoch`]; a crash leaves everything of the epochs before, and any subset of the
//! blocks of the one under way. Which subsets are tried is decided here ([`subsets`]); images are made
//! and recovered elsewhere.

mod content;
mod epoch;
mod finding;
mod journal;
mod subset;

#[cfg(test)]
mod tests;

use super::Model;

pub use content::{Content, ContentHash};
pub use epoch::{Action, Block, Epoch, Request, epochs};
pub use finding::{Failure, On, REAL_RECOVERY, block_findings, join};
pub use journal::{JOURNAL_HEADER_BYTES, Journal, Place};
pub use subset::{SubsetBudget, Subsets, subsets};

impl Pressure {
    /// Of these, those that a file system tells apart; a single one is what was asked for.
    pub fn on(asked: &[Self], filesystem: Model) -> impl Iterator<Item = Self> {
        let is_single = asked.len() == 1;
        let is_own = move |one: &Self| *one != Self::Commit || filesystem == Model::Btrfs;
        let asked = asked.iter().copied();
        asked.filter(move |one| is_single || is_own(one))
    }
}

// The one that finds most is first.
names! {
    /// What a crash can leave depends on when the file system commits, and that on others too.
    pub enum Pressure {
        /// Another file of the file system is synced after each change.
        Fsync = "fsync",
        /// The same on a btrfs that commits a transaction at each sync; on ext4 and xfs no other than `fsync`.
        Commit = "commit",
        /// The file system commits every second.
        Timer = "timer",
        /// Nobody, until everything is written after the end of the program.
        None = "none",
    }
}
