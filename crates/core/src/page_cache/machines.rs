//! The parts of a merged result that belong to one machine.

use super::{PageCacheRow, Parsing};
use crate::gap::Missing;
use crate::lab::{Joined, Stamp, Stamped};

impl Stamped for PageCacheRow {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        self.row.put_on(stamp);
    }
}

impl Stamped for Parsing {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        for line in &mut self.parsing {
            stamp.target(&mut line.target);
            for row in &mut line.rows {
                stamp.number(row);
            }
        }
    }
}

impl Joined for Parsing {
    fn join(&mut self, other: Self) -> Option<Missing> {
        self.parsing.extend(other.parsing);
        None
    }
}
