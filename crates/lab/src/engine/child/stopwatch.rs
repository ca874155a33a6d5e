//! Elapsed time, CPU time and faults of one piece of work.

use iostrata_core::timing::{self, Sample};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use rustix::time::{ClockId, clock_gettime};

use super::{Failure, Work};

/// Started before the work and read after it.
pub(crate) struct Stopwatch {
    usage: Used,
    started_ns: u64,
}

impl Stopwatch {
    /// Starts. The clock is read last, so that the sample contains no time of the stopwatch itself.
    pub(crate) fn start() -> Result<Self, Failure> {
        let usage = usage()?;
        Ok(Self {
            usage,
            started_ns: monotonic_ns(),
        })
    }

    /// Time and usage since the start. The clock is read first.
    pub(crate) fn stop(self) -> Result<Work, Failure> {
        let ended_ns = monotonic_ns();
        let usage = usage()?;
        let cpu = |time: fn(&Used) -> f64| (time(&usage) - time(&self.usage)).max(0.0);
        let count = |faults: fn(&Used) -> i64| {
            u64::try_from(faults(&usage) - faults(&self.usage)).unwrap_or(0)
        };
        Ok(Work {
            sample: Sample {
                real_s: timing::seconds(ended_ns.saturating_sub(self.started_ns)),
                user_s: cpu(|used| used.user_s),
                system_s: cpu(|used| used.system_s),
            },
            minor_faults: count(|used| used.minor_faults),
            major_faults: count(|used| used.major_faults),
        })
    }
}

/// The usage of this process, and of programs that it started and waited for.
#[derive(Default)]
pub(crate) struct Used {
    pub(crate) user_s: f64,
    pub(crate) system_s: f64,
    minor_faults: i64,
    major_faults: i64,
}

pub(crate) fn usage() -> Result<Used, Failure> {
    let mut used = Used::default();
    for who in [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN] {
        let usage = getrusage(who).map_err(|errno| {
            Failure::from_io("read the process's resource usage", &errno.into())
        })?;
        used.user_s += seconds(usage.user_time());
        used.system_s += seconds(usage.system_time());
        used.minor_faults += usage.minor_page_faults();
        used.major_faults += usage.major_page_faults();
    }
    Ok(used)
}

fn seconds(time: TimeVal) -> f64 {
    time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6
}

/// `CLOCK_MONOTONIC`, the clock of the observer's events, in nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    part(now.tv_sec) * 1_000_000_000 + part(now.tv_nsec)
}
