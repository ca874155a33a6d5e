//! Measured savings: the program's work, replayed in its current form and improved.
//!
//! The same bytes go to (or come from) a scratch file on the same file system, both variants
//! interleaved, after the program's end and without an observer. If the whole work would take too
//! long, a part is done and its time scaled up.

mod ground;
mod perform;
mod place;
mod plan;
mod reason;
mod task;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iostrata_core::noun::counted;
use iostrata_core::stats;
use iostrata_core::trace::{Remedy, Replayed};

pub use reason::NotReplayed;
pub(crate) use task::ReplayTask;
pub use task::{ReplayFile, ReplayJob, ReplayReport, WayReport};

use crate::engine::{EngineError, Launcher, monotonic_ns};
use crate::scratch::Leftover;
use ground::Ground;
use plan::Plan;

/// Time for all measurements of one run, when the user requests them.
pub const THOROUGH: Duration = Duration::from_secs(2);

/// The same by default, while the user waits for the summary.
pub const QUICK: Duration = Duration::from_millis(200);

const SECOND_NS: u64 = 1_000_000_000;

/// Minimum time for a measurement: starting the workload process takes some milliseconds, and ten
/// runs must fit into the rest.
const LEAST_NS: u64 = 50_000_000;

/// Maximum time for a single one: a user with only one finding can read it within a second of the
/// program's end.
const MOST_NS: u64 = 700_000_000;

/// Syncs of each way, in all its runs, below which a trial decides nothing.
const NEEDED_SYNCS: u64 = 20;

/// Reserved for removing the scratch file and directory.
const REMOVAL_NS: u64 = 5_000_000;

/// A workload process that overruns its time by this much is killed.
const PATIENCE_NS: u64 = 100_000_000;

/// A requested measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted<'a> {
    pub remedy: Remedy,
    /// Directory of the file concerned, absolute.
    pub directory: &'a Path,
    /// File system of the file, as in [`iostrata_core::FileId::device`]: nothing is measured
    /// elsewhere, and if the directory is gone, the nearest existing one above it on this file
    /// system is used. `None` accepts the directory on any file system.
    pub device: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
pub struct Programs<'a> {
    pub work: &'a Launcher,
    /// Calls [`crate::scratch::guard_main`], if there is one.
    pub guard: Option<&'a Launcher>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// Median times, of the whole work.
    pub replayed: Replayed,
    /// Runs of the variant with fewer runs.
    pub runs: usize,
    /// The part of the work that was done in each run; below 1, the times are scaled up.
    pub performed_share: f64,
    pub directory: PathBuf,
}

impl fmt::Display for Measurement {
    /// How it was measured: `replayed 5 times per variant in /x (12 % of it, scaled up): ...`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = counted(self.runs as u64, "time");
        write!(f, "replayed {times} per variant")?;
        let percent = self.performed_share * 100.0;
        if percent < 0.01 {
            f.write_str(" (less than 0.01 % of it, scaled up)")?;
        } else if percent < 99.995 {
            write!(f, " ({percent:.2} % of it, scaled up)")?;
        }
        let Replayed { now_s, better_s } = self.replayed;
        write!(
            f,
            " in {}: current {now_s:.4} s, improved {better_s:.4} s",
            self.directory.display()
        )
    }
}

/// Measurements, in the requested order, and leftovers.
#[derive(Debug, Default)]
pub struct Replays {
    /// One for each request.
    pub measured: Vec<Result<Measurement, NotReplayed>>,
    /// Files left on the disk; the next run in the same directory removes them.
    pub leftovers: Vec<Leftover>,
}

/// Makes all requested measurements within `limit`; the first ones are sure to get their time. A
/// running sync cannot be interrupted, so a disk that does not answer can exceed it.
///
/// `stop` is called all the time and ends it.
pub fn replay(
    wanted: &[Wanted<'_>],
    limit: Duration,
    programs: Programs<'_>,
    stop: &dyn Fn() -> bool,
) -> Replays {
    let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
    let end_ns = monotonic_ns().saturating_add(limit_ns);
    let limit_s = limit.as_secs_f64();
    let mut replays = Replays::default();
    for (number, one) in wanted.iter().enumerate() {
        let same = wanted[..number].iter().position(|earlier| earlier == one);
        let measured = match same {
            Some(earlier) => replays.measured[earlier].clone(),
            None if stop() => Err(NotReplayed::Interrupted),
            None => {
                let left_ns = end_ns.saturating_sub(monotonic_ns());
                match share_ns(left_ns, wanted.len() - number) {
                    Some(given_ns) => {
                        let leftovers = &mut replays.leftovers;
                        in_scratch(one, given_ns, programs, stop, leftovers)
                    }
                    None => Err(NotReplayed::NoTimeLeft { limit_s }),
                }
            }
        };
        replays.measured.push(measured);
    }
    replays
}

/// The time for the next of `waiting` measurements, ns; `None` when too little is left.
fn share_ns(left_ns: u64, waiting: usize) -> Option<u64> {
    let equal_ns = left_ns / waiting.max(1) as u64;
    (left_ns >= LEAST_NS).then_some(equal_ns.clamp(LEAST_NS, MOST_NS))
}

fn in_scratch(
    wanted: &Wanted<'_>,
    given_ns: u64,
    programs: Programs<'_>,
    stop: &dyn Fn() -> bool,
    leftovers: &mut Vec<Leftover>,
) -> Result<Measurement, NotReplayed> {
    let deadline_ns = monotonic_ns() + given_ns - REMOVAL_NS;
    let plan = Plan::new(&wanted.remedy).map_err(|error| NotReplayed::Refused(error.message))?;
    let (directory, opened) = place::find(wanted.directory, wanted.device)?;
    let ground = Ground::prepare(&directory, opened, &plan, programs.guard)
        .map_err(NotReplayed::from_scratch)?;
    let job = ReplayJob {
        remedy: wanted.remedy,
        file: ground.file(),
        deadline_ns,
    };
    let is_over = || stop() || monotonic_ns() > deadline_ns + PATIENCE_NS;
    let report = perform(&job, &ground, programs.work, &is_over);
    leftovers.extend(ground.close().err());
    let given_s = given_ns as f64 / SECOND_NS as f64;
    let report =
        report.map_err(|error| NotReplayed::from_engine(&error, &directory, stop(), given_s))?;
    let measured = scaled(&report, directory).ok_or(NotReplayed::TooSlow { given_s })?;
    check_decided(&report, given_s)?;
    Ok(measured)
}

/// Whether the two ways can be told apart: a sync takes now 0.1 and now 10 ms, and a few of them decide nothing.
fn check_decided(report: &ReplayReport, given_s: f64) -> Result<(), NotReplayed> {
    let ways = [&report.now, &report.better];
    let syncs = ways.map(|way| way.syncs.saturating_mul(way.samples_s.len() as u64));
    let fewest = syncs[0].min(syncs[1]);
    if syncs != [0, 0] && fewest < NEEDED_SYNCS {
        return Err(NotReplayed::FewSyncs {
            syncs: fewest,
            needed: NEEDED_SYNCS,
            given_s,
        });
    }
    match ways.map(|way| stats::median_interval(&way.samples_s)) {
        [Some(one), Some(other)] if one.low <= other.high && other.low <= one.high => {
            Err(NotReplayed::Overlap)
        }
        _ => Ok(()),
    }
}

fn perform(
    job: &ReplayJob,
    ground: &Ground,
    launcher: &Launcher,
    is_over: &dyn Fn() -> bool,
) -> Result<ReplayReport, EngineError> {
    let mut workload = launcher.start_in(ground.directory(), job, is_over)?;
    let report = workload.go(is_over)?;
    workload.exit()?;
    Ok(report)
}

/// The times of the whole work; `None` when a variant has no run.
fn scaled(report: &ReplayReport, directory: PathBuf) -> Option<Measurement> {
    let (now, better) = (&report.now.samples_s, &report.better.samples_s);
    let performed_share = report.pieces as f64 / report.all_pieces as f64;
    Some(Measurement {
        replayed: Replayed {
            now_s: stats::median(now)? / performed_share,
            better_s: stats::median(better)? / performed_share,
        },
        runs: now.len().min(better.len()),
        performed_share,
        directory,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_shared_and_never_too_little_or_too_much() {
        assert_eq!(share_ns(2_000_000_000, 4), Some(500_000_000));
        assert_eq!(share_ns(2_000_000_000, 2), Some(MOST_NS));
        assert_eq!(share_ns(2_000_000_000, 1000), Some(LEAST_NS));
        assert_eq!(share_ns(LEAST_NS, 3), Some(LEAST_NS));
        assert_eq!(share_ns(LEAST_NS - 1, 1), None);
    }

    fn report(pieces: u64, now: &[f64], better: &[f64]) -> ReplayReport {
        let way = |samples: &[f64]| WayReport {
            samples_s: samples.to_vec(),
            transfers: 0,
            syncs: 0,
        };
        ReplayReport {
            pieces,
            all_pieces: 1000,
            now: way(now),
            better: way(better),
        }
    }

    #[test]
    fn a_part_is_scaled_up_to_the_whole() {
        let report = report(250, &[2.0, 9.0, 1.0], &[0.5, 0.25]);
        let measured = scaled(&report, PathBuf::new()).unwrap();
        let Replayed { now_s, better_s } = measured.replayed;
        assert_eq!((now_s, better_s), (8.0, 1.5));
        assert_eq!((measured.runs, measured.performed_share), (2, 0.25));
    }

    #[test]
    fn how_it_was_measured_is_said() {
        let part = scaled(&report(250, &[2.0, 2.0], &[0.5, 0.5]), PathBuf::from("/x")).unwrap();
        assert_eq!(
            part.to_string(),
            "replayed 2 times per variant (25.00 % of it, scaled up) in /x: current 8.0000 s, \
             improved 2.0000 s"
        );
        let whole = scaled(&report(1000, &[2.0], &[0.5]), PathBuf::from("/x")).unwrap();
        assert_eq!(
            whole.to_string(),
            "replayed 1 time per variant in /x: current 2.0000 s, improved 0.5000 s"
        );
    }

    #[test]
    fn a_few_syncs_and_times_that_overlap_decide_nothing() {
        let decided = |syncs: [u64; 2], now: &[f64], better: &[f64]| {
            let mut report = report(250, now, better);
            (report.now.syncs, report.better.syncs) = (syncs[0], syncs[1]);
            check_decided(&report, 0.2)
        };
        let (slow, fast) = ([2.0, 2.5], [0.5, 0.75]);
        assert_eq!(decided([100, 10], &slow, &fast), Ok(()));
        assert_eq!(decided([0, 0], &slow, &fast), Ok(()));
        assert_eq!(
            decided([0, 0], &slow, &[0.5, 2.25]),
            Err(NotReplayed::Overlap)
        );
        let few = NotReplayed::FewSyncs {
            syncs: 18,
            needed: 20,
            given_s: 0.2,
        };
        assert_eq!(decided([9, 100], &slow, &fast), Err(few.clone()));
        assert_eq!(decided([100, 9], &slow, &fast), Err(few));
    }

    #[test]
    fn a_way_without_a_run_has_no_time() {
        assert_eq!(scaled(&report(250, &[2.0], &[]), PathBuf::new()), None);
        assert_eq!(scaled(&report(0, &[], &[]), PathBuf::new()), None);
    }
}
