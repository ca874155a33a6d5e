//! The parts of a result that belong to one machine, and how those of several are joined.

use super::Stamp;
use crate::gap::Missing;
use crate::lab::{OwnCost, Row};

/// Something that was measured on one machine.
pub(crate) trait Stamped {
    /// Notes on which.
    fn put_on(&mut self, stamp: &Stamp<'_>);
}

/// Something that a result has once, also where it is of several machines.
pub(crate) trait Joined {
    /// Adds the result of another machine. Parts that cannot be joined are left out, and named.
    fn join(&mut self, other: Self) -> Option<Missing>;
}

impl<C> Stamped for Row<C> {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        stamp.target(&mut self.target);
    }
}

impl Joined for OwnCost {
    fn join(&mut self, other: Self) -> Option<Missing> {
        let differs = *self != other;
        if differs {
            self.own_cost_ns = None;
        }
        differs.then_some(Missing::OwnCost)
    }
}

impl Joined for () {
    fn join(&mut self, (): Self) -> Option<Missing> {
        None
    }
}
