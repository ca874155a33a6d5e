//! The work of a replay, as the workload process does it.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use iostrata_core::timing::Sample;
use iostrata_core::trace::Remedy;
use rustix::fs::{CWD, Mode, OFlags, openat};
use serde::{Deserialize, Serialize};

use super::perform::{Done, perform, reset};
use super::plan::{Plan, Way};
use crate::engine::{
    Failure, Job, StoppingRule, Stopwatch, Task, XorShift, measure, monotonic_ns, residency,
};

/// Runs a piece of work in both variants, interleaved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayJob {
    pub remedy: Remedy,
    pub file: ReplayFile,
    /// `CLOCK_MONOTONIC` time after which no run starts, nanoseconds.
    pub deadline_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplayFile {
    /// In this directory, without a name from the start: nothing of it remains, whichever process
    /// is killed.
    Nameless { directory: OsString },
    /// With a name, for file systems that sync nameless files differently. It must not exist.
    Named { path: OsString },
}

/// The work of one variant in every run, and its times.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WayReport {
    /// Elapsed times of the runs, seconds. Empty when the time was too short for one.
    pub samples_s: Vec<f64>,
    /// Reads or writes of one run.
    pub transfers: u64,
    /// Syncs of one run.
    pub syncs: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplayReport {
    /// Pieces of one run.
    pub pieces: u64,
    /// Pieces of the whole program.
    pub all_pieces: u64,
    pub now: WayReport,
    pub better: WayReport,
}

/// Three pairs give a median that one disturbance does not change; more than nine are not worth the
/// wait. The deadline limits the time, instead of a budget for each variant.
const RULES: StoppingRule = StoppingRule {
    min_runs: 3,
    max_runs: 9,
    target_width: 0.1,
    budget_s: f64::INFINITY,
};

/// Share of the time for one run: one run determines how much can be done, and each variant has one
/// run that does not count, and three that do.
const RUNS: u64 = 10;

/// File contents that no file system stores as a hole or compresses.
const CONTENT_SEED: u64 = 0x5_e91a;

pub(crate) struct ReplayTask {
    plan: Plan,
    file: File,
    path: PathBuf,
    piece: Vec<u8>,
    filled_bytes: u64,
    deadline_ns: u64,
}

impl ReplayTask {
    fn run(&mut self, way: Way, pieces: u64, deadline_ns: u64) -> Result<(Done, Sample), Failure> {
        let doing = match way {
            Way::Transferred { write: false, .. } => "read",
            _ => "write",
        };
        reset(&mut self.file, way).map_err(Failure::at(doing, &self.path))?;
        let watch = Stopwatch::start()?;
        let done = perform(
            &self.file,
            way,
            &mut self.piece,
            pieces,
            self.filled_bytes,
            deadline_ns,
        )
        .map_err(Failure::at(doing, &self.path))?;
        Ok((done, watch.stop()?.sample))
    }
}

impl Job for ReplayJob {
    const NAME: &'static str = "replay";
    type Report = ReplayReport;
}

impl Task for ReplayTask {
    type Job = ReplayJob;

    fn prepare(job: ReplayJob) -> Result<Self, Failure> {
        let plan = Plan::new(&job.remedy)?;
        let path = match &job.file {
            ReplayFile::Nameless { directory } => Path::new(directory),
            ReplayFile::Named { path } => Path::new(path),
        }
        .to_owned();
        let mut piece = vec![0; usize::try_from(plan.piece_bytes).unwrap_or_default()];
        XorShift::new(CONTENT_SEED).fill(&mut piece);
        let file = create(&job.file, matches!(plan.now, Way::Transferred { .. }))
            .and_then(|file| fill(file, &plan, &piece))
            .map_err(Failure::at("make", &path))?;
        if let Way::Transferred { write: false, .. } = plan.now {
            check_warm(&file)?;
        }
        Ok(Self {
            filled_bytes: plan.filled_bytes(),
            plan,
            file,
            path,
            piece,
            deadline_ns: job.deadline_ns,
        })
    }

    /// Determines how much can be done in the available time, and does it in both variants,
    /// interleaved.
    fn go(&mut self) -> Result<ReplayReport, Failure> {
        let mut report = ReplayReport {
            pieces: 0,
            all_pieces: self.plan.pieces,
            now: WayReport::default(),
            better: WayReport::default(),
        };
        let begun = monotonic_ns();
        let share_ns = self.deadline_ns.saturating_sub(begun) / RUNS;
        let (first, _) = self.run(self.plan.now, self.plan.most_pieces(), begun + share_ns)?;
        let Some(pieces) = self.plan.scaled(first.pieces) else {
            return Ok(report);
        };
        report.pieces = pieces;
        let deadline_ns = self.deadline_ns;
        let is_over = || monotonic_ns() >= deadline_ns;
        let measured = measure(
            2,
            &RULES,
            |case, _| {
                let way = [self.plan.now, self.plan.better][case];
                let (done, sample) = self.run(way, pieces, deadline_ns)?;
                if done.pieces < pieces {
                    // `measure` treats it as the interruption that it is.
                    return Err(Failure::job("the time is up"));
                }
                let counted = if case == 0 {
                    &mut report.now
                } else {
                    &mut report.better
                };
                counted.transfers = done.transfers;
                counted.syncs = done.syncs;
                Ok(sample)
            },
            &is_over,
        )?;
        let [now, better] = [0, 1].map(|case: usize| {
            let samples = measured.samples[case].iter();
            samples.map(|sample| sample.real_s).collect()
        });
        report.now.samples_s = now;
        report.better.samples_s = better;
        Ok(report)
    }
}

/// A new file that only this user may read. One that needs no name is unlinked before anything is
/// written to it.
fn create(file: &ReplayFile, is_unlinked: bool) -> io::Result<File> {
    match file {
        ReplayFile::Nameless { directory } => {
            let flags = OFlags::TMPFILE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
            let mode = Mode::RUSR | Mode::WUSR;
            Ok(openat(CWD, directory, flags, mode)?.into())
        }
        ReplayFile::Named { path } => {
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create_new(true).open(path)?;
            if is_unlinked {
                fs::remove_file(path)?;
            }
            Ok(file)
        }
    }
}

/// The file with the contents that are read or overwritten.
fn fill(mut file: File, plan: &Plan, piece: &[u8]) -> io::Result<File> {
    let mut filled_bytes = 0;
    while filled_bytes < plan.filled_bytes() {
        file.write_all(piece)?;
        filled_bytes += piece.len() as u64;
    }
    if matches!(plan.now, Way::Synced(_)) {
        file.sync_all()?;
    }
    Ok(file)
}

/// Freshly written data is in the page cache, unless memory is short or the file system has none.
/// Where the kernel does not report it (before 6.5), it is assumed to be there.
fn check_warm(file: &File) -> Result<(), Failure> {
    // Its only name.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    match residency(Path::new(&path)) {
        Ok(found) if !found.is_warm() => Err(Failure::job(
            "the file being read did not stay in the page cache",
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::plan::MOST_BYTES;
    use crate::replay::plan::tests::{fewer, larger};

    /// More than any of these needs.
    const AMPLE_NS: u64 = 60_000_000_000;

    fn task(dir: &Path, remedy: Remedy, given_ns: u64) -> Result<ReplayTask, Failure> {
        ReplayTask::prepare(ReplayJob {
            remedy,
            file: ReplayFile::Named {
                path: dir.join("f").into(),
            },
            deadline_ns: monotonic_ns() + given_ns,
        })
    }

    fn replayed(dir: &Path, remedy: Remedy) -> ReplayReport {
        task(dir, remedy, AMPLE_NS).unwrap().go().unwrap()
    }

    fn places() -> [tempfile::TempDir; 2] {
        ["/dev/shm", "/var/tmp"].map(|place| tempfile::tempdir_in(place).unwrap())
    }

    #[test]
    fn the_same_bytes_go_in_fewer_transfers() {
        for write in [true, false] {
            for dir in places() {
                let report = replayed(dir.path(), larger(write, 100, 10_000));
                assert_eq!((report.pieces, report.all_pieces), (10_000, 10_000));
                assert_eq!((report.now.transfers, report.now.syncs), (10_000, 0));
                // A million bytes: writes take 655 pieces each, since a piece that does not fit
                // waits for the next; reads fill the buffer to its end.
                assert_eq!(report.better.transfers, 16);
                for way in [&report.now, &report.better] {
                    assert!((3..=9).contains(&way.samples_s.len()));
                    assert!(way.samples_s.iter().all(|sample| *sample > 0.0));
                }
                assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "unlinked");
            }
        }
    }

    #[test]
    fn syncs_are_shared_and_the_last_part_is_synced_too() {
        for dir in places() {
            let report = replayed(dir.path(), fewer(3, 7, 2));
            assert_eq!((report.now.transfers, report.now.syncs), (21, 7));
            assert_eq!((report.better.transfers, report.better.syncs), (21, 4));
            assert_eq!(fs::metadata(dir.path().join("f")).unwrap().len(), 2100);
        }
    }

    #[test]
    fn overwriting_keeps_the_length_and_preallocating_is_as_long_as_writing() {
        for (append, preallocate) in [(false, false), (true, true)] {
            for dir in places() {
                let remedy = Remedy::FewerSyncs {
                    piece_bytes: 4096,
                    writes_per_sync: 1,
                    syncs: 8,
                    group: 1,
                    data_only_now: false,
                    data_only_better: true,
                    append,
                    preallocate,
                };
                let report = replayed(dir.path(), remedy);
                assert_eq!((report.now.syncs, report.better.syncs), (8, 8));
                assert_eq!(fs::metadata(dir.path().join("f")).unwrap().len(), 8 * 4096);
            }
        }
    }

    #[test]
    fn what_has_no_time_is_done_in_part_or_not_at_all() {
        let [dir, _] = places();
        let endless = larger(true, 1, u64::MAX);
        let mut task = task(dir.path(), endless, 100_000_000).unwrap();
        let report = task.go().unwrap();
        assert!(report.pieces <= MOST_BYTES);
        assert_eq!(report.now.transfers, report.pieces);
        task.deadline_ns = monotonic_ns();
        let report = task.go().unwrap();
        assert_eq!((report.pieces, report.now.samples_s.len()), (0, 0));
    }

    #[test]
    fn a_file_that_is_there_is_not_touched() {
        let [dir, _] = places();
        let path = dir.path().join("f");
        fs::write(&path, "mine").unwrap();
        for remedy in [larger(true, 1, 1), fewer(1, 1, 1)] {
            let failure = task(dir.path(), remedy, AMPLE_NS).err().unwrap();
            assert_eq!(failure.errno, Some(17), "{failure}");
            assert_eq!(fs::read(&path).unwrap(), b"mine");
        }
    }
}
