//! The loops, as the workload process runs them.

use std::ffi::{CString, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use iostrata_core::atime::Reading;
use rustix::fs::{Mode, OFlags, open, syncfs};
use rustix::io::read;
use serde::{Deserialize, Serialize};

use super::moments::{HOUR_S, now_s, set};
use super::settings::FILE_BYTES;
use crate::engine::{Failure, Job, Stopwatch, Task, Work};

/// Longer than a tick of the clock of access times, at 100 ticks a second: a read in the same tick
/// as the change would not be newer than it.
const TICK: Duration = Duration::from_millis(20);

/// Reads files in a loop and syncs their file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadLoopJob {
    pub directory: OsString,
    /// Files, named by their numbers from 0.
    pub files: u64,
    /// Opens, reads and closes in total; after the last file it starts again with the first.
    pub reads: u64,
    /// Whether they are read once before the measurement.
    pub reading: Reading,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LoopReport {
    pub reading: Work,
    /// The `syncfs` after it.
    pub sync: Work,
}

/// Files whose access times are due, or were updated by one read.
pub(crate) struct ReadLoopTask {
    directory: PathBuf,
    paths: Vec<CString>,
    reads: u64,
}

impl Job for ReadLoopJob {
    const NAME: &'static str = "read_loop";
    type Report = LoopReport;
}

impl Task for ReadLoopTask {
    type Job = ReadLoopJob;

    /// Sets all times so that an update is due, and for the second reading reads once.
    fn prepare(job: ReadLoopJob) -> Result<Self, Failure> {
        let directory = PathBuf::from(job.directory);
        let mut task = Self {
            paths: Vec::new(),
            reads: job.reads,
            directory,
        };
        let modified_s = now_s() - 2 * HOUR_S;
        for number in 0..job.files {
            let path = task.directory.join(file_name(number));
            // A read moves an access time that is older than the contents.
            set(&path, modified_s - HOUR_S, modified_s)
                .map_err(Failure::at("set the times of", &path))?;
            let path = CString::new(path.into_os_string().into_vec())
                .map_err(|error| Failure::job(format!("a path cannot be used: {error}")))?;
            task.paths.push(path);
        }
        if job.reading == Reading::Second {
            thread::sleep(TICK);
            for path in &task.paths {
                read_whole(path)?;
            }
        }
        thread::sleep(TICK);
        Ok(task)
    }

    /// Opens, reads and closes, and then syncs the file system; both are timed.
    fn go(&mut self) -> Result<LoopReport, Failure> {
        let directory =
            File::open(&self.directory).map_err(Failure::at("open", &self.directory))?;
        let watch = Stopwatch::start()?;
        for (path, _) in self.paths.iter().cycle().zip(0..self.reads) {
            read_whole(path)?;
        }
        let reading = watch.stop()?;
        let watch = Stopwatch::start()?;
        syncfs(&directory).map_err(Failure::at("sync the file system of", &self.directory))?;
        let sync = watch.stop()?;
        Ok(LoopReport { reading, sync })
    }
}

fn read_whole(path: &CString) -> Result<(), Failure> {
    let mut buffer = [0; FILE_BYTES];
    let count = open(
        path.as_c_str(),
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .and_then(|file| read(&file, &mut buffer));
    match count {
        Ok(FILE_BYTES) => Ok(()),
        Ok(count) => Err(Failure::job(format!(
            "{} has only {count} of {FILE_BYTES} bytes",
            path.to_string_lossy()
        ))),
        Err(errno) => Err(Failure::at("read", Path::new(&*path.to_string_lossy()))(
            errno,
        )),
    }
}

pub(super) fn file_name(number: u64) -> String {
    format!("{number:05}")
}
