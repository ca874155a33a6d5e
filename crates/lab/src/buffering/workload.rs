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
    /// File to create. It must not exist. `None` for writes that do nothing: the cost of measuring itself.
    pub path: Option<OsString>,
}

/// A case ready to be written: file open, records in memory.
pub(crate) struct WriteTask {
    /// The target of its writes, for errors.
    name: String,
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

    /// Creates the file and generates the records.
    fn prepare(job: WriteJob) -> Result<Self, Failure> {
        let path = job.path.as_deref().map(Path::new);
        let records = Records::new(job.case.size_bytes)?;
        let writer = match path {
            Some(path) => {
                Writer::create(path, job.case.mode).map_err(Failure::at("create", path))?
            }
            None => Writer::nothing(),
        };
        Ok(Self {
            name: path.unwrap_or(Path::new("nothing")).display().to_string(),
            count: job.case.count,
            records,
            writer,
        })
    }

    /// Writes all records, timed up to and including what a close would write out. The file stays
    /// open.
    fn go(&mut self) -> Result<Work, Failure> {
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
