//! The timed work of a case, as the workload process does it.

use std::path::PathBuf;

use super::job::{NullJob, WriteJob};
use super::records::Records;
use super::writer::Writer;
use crate::engine::{Failure, Job, Stopwatch, Task, Work};

/// A case that is ready to be written: file open, records in memory.
pub(crate) struct WriteTask {
    path: PathBuf,
    count: u64,
    records: Records,
    writer: Writer,
}

impl Job for WriteJob {
    const NAME: &'static str = "write";
    type Report = Work;
}

impl Task for WriteTask {
    type Job = WriteJob;

    /// Creates the file and the records.
    fn prepare(job: WriteJob) -> Result<Self, Failure> {
        let path = PathBuf::from(job.path);
        let records = Records::new(job.case.size_bytes)?;
        let writer = Writer::create(&path, job.case.mode)
            .map_err(|error| Failure::from_io(&format!("create {}", path.display()), &error))?;
        Ok(Self {
            path,
            count: job.case.count,
            records,
            writer,
        })
    }

    /// Writes all records, timed up to and including what a close would flush.
    /// The file stays open.
    fn go(&mut self) -> Result<Work, Failure> {
        let (path, count) = (&self.path, self.count);
        let failure = |number, error| {
            let doing = format!("write record {number} of {count} to {}", path.display());
            Failure::from_io(&doing, &error)
        };
        let watch = Stopwatch::start()?;
        for number in 1..=count {
            self.writer
                .write(self.records.next())
                .map_err(|error| failure(number, error))?;
        }
        self.writer
            .finish()
            .map_err(|error| failure(count, error))?;
        watch.stop()
    }
}

/// The loop of [`WriteTask`] around a write that does nothing.
pub(crate) struct NullTask {
    count: u64,
    records: Records,
}

impl Job for NullJob {
    const NAME: &'static str = "null";
    type Report = Work;
}

impl Task for NullTask {
    type Job = NullJob;

    /// Makes the records.
    fn prepare(job: NullJob) -> Result<Self, Failure> {
        Ok(Self {
            count: job.count,
            records: Records::new(job.size_bytes)?,
        })
    }

    /// Runs the loop.
    fn go(&mut self) -> Result<Work, Failure> {
        let mut writer = Writer::nothing();
        let failure = |error| Failure::from_io("write nothing", &error);
        let watch = Stopwatch::start()?;
        for _ in 0..self.count {
            writer.write(self.records.next()).map_err(failure)?;
        }
        writer.finish().map_err(failure)?;
        watch.stop()
    }
}
