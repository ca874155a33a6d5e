//! The parts of a merged result that belong to one machine.

use super::{Projected, SyncRow};
use crate::gap::Missing;
use crate::lab::{Joined, Stamp, Stamped};

impl Stamped for SyncRow {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        self.row.put_on(stamp);
    }
}

impl Stamped for Projected {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        for calibration in &mut self.calibrations {
            stamp.target(&mut calibration.target);
        }
        for projection in &mut self.projections {
            stamp.number(&mut projection.row);
        }
    }
}

impl Joined for Projected {
    fn join(&mut self, other: Self) -> Option<Missing> {
        self.calibrations.extend(other.calibrations);
        self.projections.extend(other.projections);
        None
    }
}
