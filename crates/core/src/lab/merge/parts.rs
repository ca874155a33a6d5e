//! What in a result belongs to one machine, and how that of several is joined.

use super::Stamp;
use crate::atime::{AtimeRow, Rules};
use crate::buffering::{BufferingRow, Seen};
use crate::copy::{CopyRow, Verified, Yardsticks};
use crate::lab::{OwnCost, Row};
use crate::page_cache::{PageCacheRow, Parsing};
use crate::sync::{Projected, SyncRow};

/// Something that was measured on one machine.
pub(super) trait Stamped {
    /// Notes on which.
    fn put_on(&mut self, stamp: &Stamp<'_>);
}

/// Something that a result has once, also where it is of several machines.
pub(super) trait Joined {
    /// Adds that of another machine. What cannot be the same of both is left out, and named.
    fn join(&mut self, other: Self) -> Option<&'static str>;
}

impl<C> Stamped for Row<C> {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        stamp.target(&mut self.target);
    }
}

macro_rules! stamped_rows {
    ($($row:ty)*) => {
        $(impl Stamped for $row {
            fn put_on(&mut self, stamp: &Stamp<'_>) {
                self.row.put_on(stamp);
            }
        })*
    };
}

stamped_rows! { BufferingRow PageCacheRow SyncRow CopyRow }

impl Stamped for AtimeRow {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        match self {
            Self::Touch(row) => row.row.put_on(stamp),
            Self::Loop(row) => row.row.put_on(stamp),
        }
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
    fn join(&mut self, other: Self) -> Option<&'static str> {
        self.timelines.extend(other.timelines);
        self.runtimes.extend(other.runtimes);
        None
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
    fn join(&mut self, other: Self) -> Option<&'static str> {
        self.parsing.extend(other.parsing);
        None
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
    fn join(&mut self, other: Self) -> Option<&'static str> {
        self.calibrations.extend(other.calibrations);
        self.projections.extend(other.projections);
        None
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
    fn join(&mut self, other: Self) -> Option<&'static str> {
        self.relatime.extend(other.relatime);
        self.comparisons.extend(other.comparisons);
        None
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
    fn join(&mut self, other: Self) -> Option<&'static str> {
        self.yardsticks.extend(other.yardsticks);
        None
    }
}

impl Joined for Verified {
    fn join(&mut self, other: Self) -> Option<&'static str> {
        self.verified_copies = self.verified_copies.saturating_add(other.verified_copies);
        None
    }
}

impl Joined for OwnCost {
    fn join(&mut self, other: Self) -> Option<&'static str> {
        let differs = *self != other;
        if differs {
            self.own_cost_ns = None;
        }
        differs.then_some("own cost")
    }
}

impl Joined for () {
    fn join(&mut self, (): Self) -> Option<&'static str> {
        None
    }
}
