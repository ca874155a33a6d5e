//! The parts of a merged result that belong to one machine.

use super::{AtimeRow, Rules};
use crate::gap::Missing;
use crate::lab::{Joined, Stamp, Stamped};

impl Stamped for AtimeRow {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        match self {
            Self::Touch(row) => row.row.put_on(stamp),
            Self::Loop(row) => row.row.put_on(stamp),
        }
    }
}

impl Stamped for Rules {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        for probe in &mut self.relatime {
            stamp.machine(&mut probe.machine);
        }
        for comparison in &mut self.comparisons {
            stamp.target(&mut comparison.target);
            for row in &mut comparison.rows {
                stamp.number(row);
            }
        }
    }
}

impl Joined for Rules {
    fn join(&mut self, other: Self) -> Option<Missing> {
        self.relatime.extend(other.relatime);
        self.comparisons.extend(other.comparisons);
        None
    }
}
