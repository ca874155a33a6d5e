//! The timed work of a case, as the workload process does it.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::{PoisonError, RwLock, mpsc};
use std::thread;

use iostrata_core::sync::{Bucket, Case};
use serde::{Deserialize, Serialize};

use super::writer::{Limit, Stretch, Writer};
use crate::engine::{Failure, Job, Stopwatch, Task, Work};

/// Writes and syncs, one stretch for each `go`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SyncJob {
    pub case: Case,
    /// The files to create, one for each writer. None may exist.
    pub paths: Vec<OsString>,
    /// Maximum bytes of each file.
    pub file_bytes: u64,
    /// Of each writer and stretch.
    pub limit: Limit,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SyncReport {
    /// Times of the stretch, all writers together.
    pub work: Work,
    /// Syncs, all writers together.
    pub syncs: u64,
    /// Latencies, from the end of one sync to the end of the next.
    pub latencies: Vec<Bucket>,
    /// The maximum latency, nanoseconds.
    pub max_ns: u64,
    /// Whether a writer has reached the end of its file and can do no more.
    pub full: bool,
    /// How the files differed from the case's name before the first write.
    pub not_as_asked: Option<String>,
}

pub(crate) struct SyncTask {
    writers: Vec<Writer>,
    limit: Limit,
    not_as_asked: Option<String>,
}

impl Job for SyncJob {
    const NAME: &'static str = "sync";
    type Report = SyncReport;
}

impl Task for SyncTask {
    type Job = SyncJob;

    fn prepare(job: SyncJob) -> Result<Self, Failure> {
        let mut writers = Vec::new();
        let mut not_as_asked = None;
        for path in &job.paths {
            let writer = Writer::create(Path::new(path), &job.case, job.file_bytes)?;
            not_as_asked = not_as_asked.or(writer.not_as_asked(job.case.write)?);
            writers.push(writer);
        }
        Ok(Self {
            writers,
            limit: job.limit,
            not_as_asked,
        })
    }

    /// One stretch: every writer writes and syncs up to the job's limit.
    fn go(&mut self) -> Result<SyncReport, Failure> {
        let limit = self.limit;
        let (watch, stretches) = match self.writers.as_mut_slice() {
            [only] => (Stopwatch::start()?, vec![only.work(limit)?]),
            several => together(several, limit)?,
        };
        let work = watch.stop()?;
        let mut latencies: Vec<Bucket> = Vec::new();
        let mut max_ns = 0;
        for stretch in &stretches {
            let (buckets, longest) = stretch.latencies();
            latencies.extend(buckets);
            max_ns = max_ns.max(longest);
        }
        Ok(SyncReport {
            work,
            syncs: stretches.iter().map(|stretch| stretch.syncs).sum(),
            latencies,
            max_ns,
            full: stretches.iter().any(|stretch| stretch.full),
            not_as_asked: self.not_as_asked.clone(),
        })
    }
}

/// Each writer in its own thread; the clock starts when all of them are ready.
fn together(writers: &mut [Writer], limit: Limit) -> Result<(Stopwatch, Vec<Stretch>), Failure> {
    // Whether they may start; held until all are ready, or one has failed.
    let gate = &RwLock::new(false);
    let mut closed = gate.write().unwrap_or_else(PoisonError::into_inner);
    let (arrived, arrivals) = mpsc::channel();
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for writer in writers {
            let arrived = arrived.clone();
            let work = move || {
                arrived.send(()).ok();
                let is_open = *gate.read().unwrap_or_else(PoisonError::into_inner);
                is_open.then(|| writer.work(limit))
            };
            let started = thread::Builder::new().spawn_scoped(scope, work);
            threads.push(started.map_err(|error| no_thread(&error))?);
        }
        for _ in &threads {
            arrivals.recv().ok();
        }
        let watch = Stopwatch::start();
        *closed = true;
        drop(closed);
        let ended = threads.into_iter().map(|thread| match thread.join() {
            Ok(Some(outcome)) => outcome,
            Ok(None) | Err(_) => Err(Failure::job("a writer thread failed")),
        });
        let stretches: Result<Vec<_>, _> = ended.collect();
        Ok((watch?, stretches?))
    })
}

fn no_thread(error: &io::Error) -> Failure {
    Failure::job(format!(
        "cannot start a thread for each writer: {error}; use fewer (--writers), or raise the \
         limit (ulimit -u)"
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use iostrata_core::sync::{SyncCall, Write};

    use super::*;

    fn task(dir: &Path, case: Case, syncs: u64) -> SyncTask {
        let paths = (0..case.writers).map(|number| dir.join(number.to_string()).into());
        SyncTask::prepare(SyncJob {
            case,
            paths: paths.collect(),
            file_bytes: 64 << 10,
            limit: Limit {
                syncs,
                duration_ns: u64::MAX,
            },
        })
        .unwrap()
    }

    fn scratch() -> tempfile::TempDir {
        tempfile::tempdir_in("/var/tmp").unwrap()
    }

    #[test]
    fn each_call_and_way_of_writing_does_its_syncs() {
        for call in SyncCall::ALL
            .into_iter()
            .filter(|call| *call != SyncCall::Sync)
        {
            for write in Write::ALL {
                let dir = scratch();
                let case = Case {
                    call,
                    write,
                    ..Case::ARTICLE
                };
                let mut task = task(dir.path(), case, 5);
                let before = fs::metadata(dir.path().join("0")).unwrap().len();
                let report = task.go().unwrap();
                assert_eq!((report.syncs, report.full), (5, false), "{case:?}");
                assert_eq!(report.not_as_asked, None, "{case:?}");
                let timed: u64 = report.latencies.iter().map(|bucket| bucket.count).sum();
                assert_eq!(timed, 5);
                assert!(report.latencies.iter().all(|bucket| bucket.upto_ns > 0));
                let after = fs::metadata(dir.path().join("0")).unwrap().len();
                let grown = if write == Write::Append { 5 * 1024 } else { 0 };
                assert_eq!(after - before, grown, "{case:?}");
            }
        }
    }

    #[test]
    fn a_file_that_is_full_ends_the_stretch_unless_it_is_overwritten() {
        for (write, syncs, full) in [
            (Write::Append, 64, true),
            (Write::Preallocated, 64, true),
            (Write::Overwrite, 100, false),
        ] {
            let dir = scratch();
            let case = Case {
                call: SyncCall::Fdatasync,
                write,
                ..Case::ARTICLE
            };
            let mut task = task(dir.path(), case, 100);
            let report = task.go().unwrap();
            assert_eq!((report.syncs, report.full), (syncs, full), "{write:?}");
            let length = fs::metadata(dir.path().join("0")).unwrap().len();
            assert_eq!(length, 64 << 10);
        }
    }

    #[test]
    fn several_writers_have_a_file_each() {
        let dir = scratch();
        let case = Case {
            writers: 3,
            ..Case::ARTICLE
        };
        let mut task = task(dir.path(), case, 4);
        assert_eq!(task.go().unwrap().syncs, 12);
        assert_eq!(task.go().unwrap().syncs, 12, "a second interval continues");
        for number in ["0", "1", "2"] {
            let length = fs::metadata(dir.path().join(number)).unwrap().len();
            assert_eq!(length, 8 * 1024);
        }
    }

    #[test]
    fn what_is_overwritten_changes() {
        let dir = scratch();
        let case = Case {
            write: Write::Overwrite,
            ..Case::ARTICLE
        };
        let mut task = task(dir.path(), case, 64);
        let path = dir.path().join("0");
        let before = fs::read(&path).unwrap();
        task.go().unwrap();
        let after = fs::read(&path).unwrap();
        let same = before.chunks(1024).zip(after.chunks(1024));
        assert!(same.clone().all(|(old, new)| old != new));
        task.go().unwrap();
        let again = fs::read(&path).unwrap();
        assert!(
            after
                .chunks(1024)
                .zip(again.chunks(1024))
                .all(|(old, new)| old != new)
        );
    }

    #[test]
    fn a_time_limit_ends_the_stretch_after_the_sync_that_passed_it() {
        let dir = scratch();
        let mut task = task(dir.path(), Case::ARTICLE, 60);
        task.limit.duration_ns = 1;
        assert_eq!(task.go().unwrap().syncs, 1);
    }

    #[test]
    fn a_file_that_exists_is_not_touched() {
        let dir = scratch();
        let path = dir.path().join("f");
        fs::write(&path, "mine").unwrap();
        let refused = SyncTask::prepare(SyncJob {
            case: Case::ARTICLE,
            paths: vec![path.clone().into()],
            file_bytes: 4096,
            limit: Limit {
                syncs: 1,
                duration_ns: 1,
            },
        });
        assert!(refused.err().unwrap().message.starts_with("cannot create "));
        assert_eq!(fs::read(&path).unwrap(), b"mine");
    }
}
