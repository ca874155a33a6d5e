//! Writes a few records one by one, and reads back what is visible: the two processes of a
//! visibility timeline.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

use iostrata_core::buffering::Mode;
use serde::{Deserialize, Serialize};

use super::records::Records;
use super::writer::Writer;
use crate::engine::{Failure, Job, Task, monotonic_ns};

/// Writes a few records, one for each `go`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepsJob {
    pub mode: Mode,
    /// Bytes per record.
    pub size_bytes: u64,
    pub count: u64,
    /// File to create. It must not exist.
    pub path: OsString,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepReport {
    /// The step: `open`, `write 1`, `close` ...
    pub action: String,
    pub written_bytes: u64,
    /// `CLOCK_MONOTONIC` at the end of the step, nanoseconds.
    pub ended_ns: u64,
    pub last: bool,
}

/// Reads a file of records and reports how many of its bytes are right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReadJob {
    /// Bytes per record of the writer.
    pub size_bytes: u64,
    pub path: OsString,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadReport {
    /// Bytes from the start of the file up to the first wrong one.
    pub right_bytes: u64,
    pub length_bytes: u64,
}

/// Writes one record for each `go`, after an `open` and before a `close`.
pub(crate) struct StepsTask {
    mode: Mode,
    count: u64,
    path: PathBuf,
    records: Records,
    state: State,
}

/// The next step.
enum State {
    Open,
    /// The number of the record.
    Write(u64, Writer),
    Finish(Writer),
    Close(Writer),
    Closed,
}

impl StepsTask {
    fn after(&self, number: u64, writer: Writer) -> State {
        if number < self.count {
            State::Write(number + 1, writer)
        } else if matches!(self.mode, Mode::FinalFsync | Mode::GroupFsync) {
            State::Finish(writer)
        } else {
            State::Close(writer)
        }
    }
}

impl Job for StepsJob {
    const NAME: &'static str = "steps";
    type Report = StepReport;
}

impl Task for StepsTask {
    type Job = StepsJob;

    /// Generates the records; the first step creates the file.
    fn prepare(job: StepsJob) -> Result<Self, Failure> {
        Ok(Self {
            mode: job.mode,
            count: job.count,
            path: PathBuf::from(job.path),
            records: Records::new(job.size_bytes)?,
            state: State::Open,
        })
    }

    fn go(&mut self) -> Result<StepReport, Failure> {
        let (action, written_bytes) = match std::mem::replace(&mut self.state, State::Closed) {
            State::Open => {
                let writer = Writer::create(&self.path, self.mode)
                    .map_err(Failure::at("open", &self.path))?;
                self.state = self.after(0, writer);
                ("open".to_owned(), 0)
            }
            State::Write(number, mut writer) => {
                let action = format!("write {number}");
                writer
                    .write(self.records.next())
                    .map_err(Failure::at(&action, &self.path))?;
                let written = writer.offset();
                self.state = self.after(number, writer);
                (action, written)
            }
            State::Finish(mut writer) => {
                writer.finish().map_err(Failure::at("fsync", &self.path))?;
                let written = writer.offset();
                self.state = State::Close(writer);
                ("fsync".to_owned(), written)
            }
            State::Close(mut writer) => {
                // Twice is harmless: after `Finish` the buffer is empty.
                writer.flush().map_err(Failure::at("close", &self.path))?;
                ("close".to_owned(), writer.offset())
            }
            State::Closed => {
                return Err(Failure::job(
                    "the file is closed: there are no further steps",
                ));
            }
        };
        let last = matches!(self.state, State::Closed);
        Ok(StepReport {
            action,
            written_bytes,
            ended_ns: monotonic_ns(),
            last,
        })
    }
}

pub(crate) struct ReadTask {
    path: PathBuf,
    records: Records,
}

impl ReadTask {
    fn right_bytes(&mut self, mut found: &[u8]) -> u64 {
        let mut right = 0;
        while !found.is_empty() {
            let record = self.records.next();
            let same = record.iter().zip(found).take_while(|(a, b)| a == b).count();
            right += same as u64;
            if same < record.len() {
                break;
            }
            found = &found[same..];
        }
        right
    }
}

impl Job for ReadJob {
    const NAME: &'static str = "read";
    type Report = ReadReport;
}

impl Task for ReadTask {
    type Job = ReadJob;

    /// Generates the records to compare with.
    fn prepare(job: ReadJob) -> Result<Self, Failure> {
        Ok(Self {
            path: PathBuf::from(job.path),
            records: Records::new(job.size_bytes)?,
        })
    }

    fn go(&mut self) -> Result<ReadReport, Failure> {
        let mut found = Vec::new();
        File::open(&self.path)
            .and_then(|mut file| file.read_to_end(&mut found))
            .map_err(Failure::at("read", &self.path))?;
        Ok(ReadReport {
            right_bytes: self.right_bytes(&found),
            length_bytes: found.len() as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(path: &std::path::Path) -> ReadTask {
        ReadTask::prepare(ReadJob {
            size_bytes: 3000,
            path: path.into(),
        })
        .unwrap()
    }

    fn steps(mode: Mode, path: &std::path::Path) -> Vec<(String, u64, u64)> {
        let job = StepsJob {
            mode,
            size_bytes: 3000,
            count: 4,
            path: path.into(),
        };
        let mut task = StepsTask::prepare(job).unwrap();
        let mut seen = Vec::new();
        loop {
            let step = task.go().unwrap();
            let visible = reader(path).go().unwrap();
            assert_eq!(visible.right_bytes, visible.length_bytes);
            seen.push((step.action, step.written_bytes, visible.right_bytes));
            if step.last {
                assert!(task.go().is_err(), "no step after the last");
                return seen;
            }
        }
    }

    fn row(action: &str, written: u64, visible: u64) -> (String, u64, u64) {
        (action.to_owned(), written, visible)
    }

    #[test]
    fn a_buffer_is_visible_when_it_overflows_and_at_close() {
        let dir = tempfile::tempdir().unwrap();
        let expected = [
            row("open", 0, 0),
            row("write 1", 3000, 0),
            row("write 2", 6000, 0),
            row("write 3", 9000, 6000),
            row("write 4", 12_000, 6000),
            row("close", 12_000, 12_000),
        ];
        assert_eq!(steps(Mode::Buffered, &dir.path().join("f")), expected);
    }

    #[test]
    fn a_flush_makes_each_record_visible() {
        let dir = tempfile::tempdir().unwrap();
        for mode in [Mode::Flush, Mode::Fsync, Mode::ODsync, Mode::RwfDsync] {
            let seen = steps(mode, &dir.path().join(mode.as_str()));
            assert!(
                seen.iter().all(|(_, written, visible)| written == visible),
                "{seen:?}"
            );
            assert_eq!(seen.len(), 6);
        }
    }

    #[test]
    fn a_final_sync_is_a_step_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let seen = steps(Mode::FinalFsync, &dir.path().join("f"));
        assert_eq!(seen[5], row("fsync", 12_000, 12_000));
        assert_eq!(seen[6], row("close", 12_000, 12_000));
    }

    #[test]
    fn wrong_bytes_are_not_visible() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        steps(Mode::Flush, &path);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[7000] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let report = reader(&path).go().unwrap();
        assert_eq!((report.right_bytes, report.length_bytes), (7000, 12_000));
    }
}
