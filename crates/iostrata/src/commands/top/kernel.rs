//! Intervals as the kernel side counts them.

use iostrata_core::top::{Interval, assemble};
use iostrata_tracer::ebpf::{Limits, OpenError};
use iostrata_tracer::top::Machine;

use super::source::Source;
use crate::error::Failure;

pub(super) struct Kernel(Machine);

impl Kernel {
    pub(super) fn open() -> Result<Self, OpenError> {
        let limits = Limits {
            without: super::super::without(),
            ..Limits::top()
        };
        Machine::open(&limits).map(Self)
    }

    pub(super) fn begin(&mut self) -> Result<(), Failure> {
        Ok(self.0.begin()?)
    }
}

impl Source for Kernel {
    fn look(&mut self) {
        self.0.take_names();
    }

    fn turn(&mut self) -> Result<Interval, Failure> {
        Ok(assemble(&self.0.turn()?))
    }
}
