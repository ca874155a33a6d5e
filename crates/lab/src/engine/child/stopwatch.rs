//! Elapsed time, CPU time and faults of one piece of work.

use iostrata_core::timing::Sample;
use nix::sys::resource::{Usage, UsageWho, getrusage};
use rustix::time::{ClockId, clock_gettime};

use super::{Failure, Work};
use crate::engine::noise::seconds;

/// Started before the work and read after it.
pub(crate) struct Stopwatch {
    usage: Usage,
    started_ns: u64,
}

impl Stopwatch {
    /// Starts. The clock is read last, so that no time of the stopwatch itself is in the sample.
    pub(crate) fn start() -> Result<Self, Failure> {
        let usage = usage()?;
        Ok(Self {
            usage,
            started_ns: monotonic_ns(),
        })
    }

    /// What passed since the start. The clock is read first.
    pub(crate) fn stop(self) -> Result<Work, Failure> {
        let ended_ns = monotonic_ns();
        let usage = usage()?;
        let cpu = |time: fn(&Usage) -> f64| (time(&usage) - time(&self.usage)).max(0.0);
        let count = |faults: fn(&Usage) -> i64| {
            u64::try_from(faults(&usage) - faults(&self.usage)).unwrap_or(0)
        };
        Ok(Work {
            sample: Sample {
                real_s: ended_ns.saturating_sub(self.started_ns) as f64 / 1e9,
                user_s: cpu(|usage| seconds(usage.user_time())),
                system_s: cpu(|usage| seconds(usage.system_time())),
            },
            minor_faults: count(Usage::minor_page_faults),
            major_faults: count(Usage::major_page_faults),
        })
    }
}

fn usage() -> Result<Usage, Failure> {
    getrusage(UsageWho::RUSAGE_SELF)
        .map_err(|errno| Failure::from_io("read the process's resource usage", &errno.into()))
}

/// `CLOCK_MONOTONIC`, the clock of the observer's events, in nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    part(now.tv_sec) * 1_000_000_000 + part(now.tv_nsec)
}
