//! The cost of one write and one flush on a target: direct writes of 4 KiB, with and without a sync
//! after each, interleaved.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use iostrata_core::stats;
use iostrata_core::sync::{Calibration, calibrated};
use iostrata_core::timing::seconds;
use iostrata_tracer::kernel::AlignedBuffer;
use nix::fcntl::OFlag;
use serde::{Deserialize, Serialize};

use super::settings;
use crate::engine::{EngineError, Failure, Job, Task, XorShift, monotonic_ns};
use crate::session::{RunFile, Session};
use crate::target::Target;
use crate::tool::Trouble;

/// Bytes of a write: a page, and a block of every file system created here.
const PAGE: usize = 4096;

/// Pages written cyclically.
const PAGES: u64 = 256;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DirectJob {
    /// File to create. It must not exist.
    pub path: OsString,
    /// Number of writes of each kind.
    pub writes: u64,
}

/// Median times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DirectReport {
    /// Of a direct write, seconds.
    pub write_s: f64,
    /// Of a direct write and the `fdatasync` after it, seconds.
    pub synced_s: f64,
}

pub(crate) struct DirectTask {
    path: PathBuf,
    writes: u64,
    page: AlignedBuffer,
}

impl Job for DirectJob {
    const NAME: &'static str = "direct";
    type Report = DirectReport;
}

impl Task for DirectTask {
    type Job = DirectJob;

    /// Writes the whole file, so that no later write allocates.
    fn prepare(job: DirectJob) -> Result<Self, Failure> {
        let path = PathBuf::from(job.path);
        let mut page = AlignedBuffer::touched(PAGE)
            .map_err(|error| Failure::from_io("take memory for a page", &error))?;
        XorShift::new(job.writes).fill(&mut page);
        create(&path, &page).map_err(Failure::at("write", &path))?;
        Ok(Self {
            path,
            writes: job.writes,
            page,
        })
    }

    /// Writes, with and without a sync, interleaved.
    fn go(&mut self) -> Result<DirectReport, Failure> {
        let failed = || Failure::at("write directly to", &self.path);
        let mut options = OpenOptions::new();
        let file = options
            .write(true)
            .custom_flags(OFlag::O_DIRECT.bits())
            .open(&self.path)
            .map_err(failed())?;
        let (mut alone, mut synced) = (Vec::new(), Vec::new());
        for number in 0..2 * self.writes {
            let offset = number % PAGES * PAGE as u64;
            let begun = monotonic_ns();
            file.write_all_at(&self.page, offset).map_err(failed())?;
            let times = if number % 2 == 0 {
                &mut alone
            } else {
                file.sync_data().map_err(failed())?;
                &mut synced
            };
            times.push(seconds(monotonic_ns() - begun));
        }
        let median = |times: &[f64]| {
            stats::median(times).ok_or_else(|| Failure::job("no direct write was asked for"))
        };
        Ok(DirectReport {
            write_s: median(&alone)?,
            synced_s: median(&synced)?,
        })
    }
}

fn create(path: &Path, page: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).open(path)?;
    for number in 0..PAGES {
        file.write_all_at(page, number * PAGE as u64)?;
    }
    file.sync_all()
}

/// Measures a target, unless its file system does not support direct writes.
pub(super) fn calibrate(
    session: &mut Session<'_>,
    target: &Target,
) -> Result<Calibration, Trouble> {
    session.step(&format!("timing direct writes on {}", target.name));
    let file = RunFile::new(&target.dir, "direct");
    let writes = settings::direct_writes(session.run.effort);
    let job = DirectJob {
        path: file.path().into(),
        writes,
    };
    let report = session.work(&job).map_err(|error| match error {
        EngineError::Failed(failure) => Trouble::said(failure.message),
        error => error.into(),
    })?;
    file.remove()?;
    Ok(calibrated(
        &target.name,
        report.write_s,
        report.synced_s,
        writes,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_write_is_timed() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = dir.path().join("f");
        let job = DirectJob {
            path: path.clone().into(),
            writes: 3,
        };
        let mut task = DirectTask::prepare(job).unwrap();
        let report = task.go().unwrap();
        assert!(report.write_s > 0.0 && report.synced_s > 0.0);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), PAGES * 4096);
    }
}
