//! Timings of one case: every sample, its median and interval.

use serde::{Deserialize, Serialize};

use crate::stats::{self, Ends};

pub fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// The times of one run of a case.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Sample {
    /// Elapsed time, seconds.
    pub real_s: f64,
    /// CPU time in user mode, seconds.
    pub user_s: f64,
    /// CPU time in the kernel on behalf of the run, seconds.
    pub system_s: f64,
}

/// All timing runs of one case. No probe was attached during any of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Timing {
    /// Elapsed seconds of each run, in the order of the runs.
    pub samples_s: Vec<f64>,
    pub median_s: f64,
    /// Lower end of the 95 % bootstrap interval of the median.
    pub low_s: f64,
    /// Upper end of the 95 % bootstrap interval of the median.
    pub high_s: f64,
    /// Median user-mode CPU seconds.
    pub user_s: f64,
    /// Median kernel-mode CPU seconds.
    pub system_s: f64,
}

impl Timing {
    /// The meaning of `low_s` and `high_s`.
    pub fn ends(&self) -> Ends {
        Ends::of(self.samples_s.len())
    }

    /// Summarises runs; `None` without runs.
    pub fn from_samples(samples: &[Sample]) -> Option<Self> {
        let real: Vec<f64> = samples.iter().map(|s| s.real_s).collect();
        let user: Vec<f64> = samples.iter().map(|s| s.user_s).collect();
        let system: Vec<f64> = samples.iter().map(|s| s.system_s).collect();
        let interval = stats::median_interval(&real)?;
        Some(Self {
            median_s: interval.median,
            low_s: interval.low,
            high_s: interval.high,
            user_s: stats::median(&user)?,
            system_s: stats::median(&system)?,
            samples_s: real,
        })
    }

    /// Width of the interval as a share of the median, which the engine's stopping rule uses.
    pub fn relative_width(&self) -> f64 {
        if self.median_s > 0.0 {
            (self.high_s - self.low_s) / self.median_s
        } else {
            0.0
        }
    }
}
