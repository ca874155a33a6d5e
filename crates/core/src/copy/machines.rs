//! The parts of a merged result that belong to one machine.

use super::{CopyRow, Verified, Yardsticks};
use crate::gap::Missing;
use crate::lab::{Joined, Stamp, Stamped};

impl Stamped for CopyRow {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        self.row.put_on(stamp);
    }
}

impl Stamped for Yardsticks {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        for yardstick in &mut self.yardsticks {
            stamp.machine(&mut yardstick.machine);
            if let Some(target) = &mut yardstick.target {
                stamp.target(target);
            }
        }
    }
}

impl Joined for Yardsticks {
    fn join(&mut self, other: Self) -> Option<Missing> {
        self.yardsticks.extend(other.yardsticks);
        None
    }
}

impl Joined for Verified {
    fn join(&mut self, other: Self) -> Option<Missing> {
        self.verified_copies = self.verified_copies.saturating_add(other.verified_copies);
        None
    }
}
