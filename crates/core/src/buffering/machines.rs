//! The parts of a merged result that belong to one machine.

use super::{BufferingRow, Seen};
use crate::gap::Missing;
use crate::lab::{Joined, Stamp, Stamped};

impl Stamped for BufferingRow {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        self.row.put_on(stamp);
    }
}

impl Stamped for Seen {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        for timeline in &mut self.timelines {
            stamp.target(&mut timeline.target);
        }
        for runtime in &mut self.runtimes {
            stamp.machine(&mut runtime.machine);
        }
    }
}

impl Joined for Seen {
    fn join(&mut self, other: Self) -> Option<Missing> {
        self.timelines.extend(other.timelines);
        self.runtimes.extend(other.runtimes);
        None
    }
}
