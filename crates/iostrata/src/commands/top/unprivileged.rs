//! Intervals of `/proc/PID/io`.

use iostrata_core::top::{Interval, Samples, of_samples};
use iostrata_tracer::top::samples;

use super::source::Source;
use crate::error::Failure;

/// The counters at the begin of the interval, and why there are no others.
pub(super) struct Unprivileged {
    before: Samples,
    why: String,
}

impl Unprivileged {
    pub(super) fn begin(why: String) -> Result<Self, Failure> {
        let before = look()?;
        Ok(Self { before, why })
    }
}

impl Source for Unprivileged {
    fn look(&mut self) {}

    fn turn(&mut self) -> Result<Interval, Failure> {
        let now = look()?;
        let interval = of_samples(&self.before, &now, &self.why);
        self.before = now;
        Ok(interval)
    }
}

fn look() -> Result<Samples, Failure> {
    samples().map_err(|error| Failure::Cannot(format!("cannot read /proc: {error}; mount it")))
}
