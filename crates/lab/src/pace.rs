//! Estimates the duration of a run before it begins.
//!
//! A sample of each kind of work is timed on each target, and every experiment computes its
//! duration from that. The estimate is right within a factor of about two: files grow, disks slow
//! down, and the number of runs that a case needs is known only at the end.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::time::Instant;

use crate::engine::StoppingRule;
use crate::error::LabError;
use crate::target::Target;

const CALLS: u32 = 2000;
const SYNCS: u32 = 30;
const RECORD_BYTES: usize = 1024;
const BULK_BYTES: usize = 16 << 20;

/// Assumed cost of starting a workload process, its preparation and its end, seconds: some
/// milliseconds on most machines, and little compared with the work.
pub(crate) const START_S: f64 = 0.01;

/// The speed of a target and of this machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// A system call on cached data, seconds.
    pub call_s: f64,
    /// An append of 1 KiB and its fsync, seconds.
    pub sync_s: f64,
    /// Seconds per byte, written and synced.
    pub stored_byte_s: f64,
    /// Seconds per byte, copied into new memory.
    pub copied_byte_s: f64,
}

impl Pace {
    /// Measures with files in the target's directory, which it removes afterwards.
    pub fn measure(target: &Target) -> Result<Self, LabError> {
        let path = target.dir.join("pace");
        let measured = time_files(&path);
        let removed = std::fs::remove_file(&path);
        let failed = |error| LabError::at("time", &path, error);
        let pace = measured.map_err(failed)?;
        removed.map_err(failed)?;
        Ok(pace)
    }
}

fn time_files(path: &Path) -> io::Result<Pace> {
    let mut file = File::create_new(path)?;
    let syncing = Instant::now();
    for _ in 0..SYNCS {
        file.write_all(&[1; RECORD_BYTES])?;
        file.sync_all()?;
    }
    let sync_s = syncing.elapsed().as_secs_f64() / f64::from(SYNCS);
    let copying = Instant::now();
    let contents = vec![2_u8; BULK_BYTES];
    let copied_byte_s = copying.elapsed().as_secs_f64() / BULK_BYTES as f64;
    let storing = Instant::now();
    file.write_all(&contents)?;
    file.sync_all()?;
    let stored_byte_s = storing.elapsed().as_secs_f64() / BULK_BYTES as f64;
    let mut file = File::open(path)?;
    let calling = Instant::now();
    for _ in 0..CALLS {
        file.rewind()?;
        file.read_exact(&mut [0])?;
    }
    let call_s = calling.elapsed().as_secs_f64() / f64::from(CALLS) / 2.0;
    Ok(Pace {
        call_s,
        sync_s,
        stored_byte_s,
        copied_byte_s,
    })
}

/// Estimated seconds, minimum and maximum.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Expected {
    /// With the minimum number of runs of a case.
    pub least_s: f64,
    /// With the maximum.
    pub most_s: f64,
}

impl Expected {
    /// Work that is done once.
    pub fn once(seconds: f64) -> Self {
        Self {
            least_s: seconds,
            most_s: seconds,
        }
    }

    /// A case: a warm-up, its timing runs, and one observed run. `run_s` is measured in a run and
    /// counts towards the budget; `around_s` is added to each run and does not.
    pub fn case(stopping: &StoppingRule, run_s: f64, around_s: f64) -> Self {
        let in_budget = (stopping.budget_s / run_s.max(1e-9)).ceil() - 1.0;
        let all = |runs: usize| {
            let runs = (runs as f64).min(in_budget.max(1.0));
            (runs + 2.0) * (run_s + around_s)
        };
        Self {
            least_s: all(stopping.min_runs),
            most_s: all(stopping.max_runs),
        }
    }
}

impl std::iter::Sum for Expected {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            least_s: sum.least_s + one.least_s,
            most_s: sum.most_s + one.most_s,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: StoppingRule = StoppingRule {
        min_runs: 5,
        max_runs: 9,
        target_width: 0.1,
        budget_s: 20.0,
    };

    fn near(got: Expected, least_s: f64, most_s: f64) {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(
            close(got.least_s, least_s) && close(got.most_s, most_s),
            "{got:?}"
        );
    }

    #[test]
    fn a_case_has_a_warm_up_its_runs_and_one_that_is_observed() {
        near(Expected::case(&RULES, 1.0, 0.5), 7.0 * 1.5, 11.0 * 1.5);
    }

    #[test]
    fn the_budget_ends_a_slow_case_but_not_before_one_run() {
        // The warm-up is part of the budget: 4 s, 8, 12, 16, 20.
        near(Expected::case(&RULES, 4.0, 0.0), 24.0, 24.0);
        near(Expected::case(&RULES, 100.0, 0.0), 300.0, 300.0);
    }

    #[test]
    fn cases_add_up() {
        let cases = [Expected::once(2.0), Expected::case(&RULES, 1.0, 0.0)];
        near(cases.into_iter().sum(), 9.0, 13.0);
    }
}
