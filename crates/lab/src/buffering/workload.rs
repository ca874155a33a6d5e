//! The timed work of a case, as the workload process runs it.

use std::ffi::OsString;
use std::path::Path;

use iostrata_core::buffering::Case;
use serde::{Deserialize, Serialize};

use super::records::Records;
use super::writer::Writer;
use crate::engine::{Failure, Job, Stopwatch, Task, Work};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WriteJob {
    pub case: Case,
    /// File to create. It must not exist.
    pub path: OsString,
}

/// The loop of [`WriteJob`] around a write that does nothing: the cost of measuring itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NullJob {
    /// Bytes per record.
    pub size_bytes: u64,
    pub count: u64,
}

/// A case ready to be written: file open, records in memory.
pub(crate) struct WriteTask(Loop);

/// The loop of [`WriteTask`] around a write that does nothing.
pub(crate) struct NullTask(Loop);

struct Loop {
    /// The target of its writes, for errors.
    name: String,
    count: u64,
    records: Records,
    writer: Writer,
}

impl Loop {
    /// Writes all records, timed up to and including what a close would write out. The file stays
    /// open.
    fn work(&mut self) -> Result<Work, Failure> {
        let (name, count) = (&self.name, self.count);
        let failure = |number, error| {
            let doing = format!("write record {number} of {count} to {name}");
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

impl Job for WriteJob {
    const NAME: &'static str = "write";
    type Report = Work;
}

impl Task for WriteTask {
    type Job = WriteJob;

    /// Creates the file and generates the records.
    fn prepare(job: WriteJob) -> Result<Self, Failure> {
        let path = Path::new(&job.path);
        let records = Records::new(job.case.size_bytes)?;
        let writer = Writer::create(path, job.case.mode)
            .map_err(|error| Failure::from_io(&format!("create {}", path.display()), &error))?;
        Ok(Self(Loop {
            name: path.display().to_string(),
            count: job.case.count,
            records,
            writer,
        }))
    }

    fn go(&mut self) -> Result<Work, Failure> {
        self.0.work()
    }
}

impl Job for NullJob {
    const NAME: &'static str = "null";
    type Report = Work;
}

impl Task for NullTask {
    type Job = NullJob;

    fn prepare(job: NullJob) -> Result<Self, Failure> {
        Ok(Self(Loop {
            name: "nothing".to_owned(),
            count: job.count,
            records: Records::new(job.size_bytes)?,
            writer: Writer::nothing(),
        }))
    }

    fn go(&mut self) -> Result<Work, Failure> {
        self.0.work()
    }
}
