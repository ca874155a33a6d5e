//! The jobs of a workload process, and how it does them.
//!
//! Paths are sent as `OsString`: they are bytes, and need not be UTF-8.

use std::io::{self, BufRead, Write};

use iostrata_core::timing::Sample;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Command, Failure, Message};

/// Exit code of a child with invalid input, as `EX_SOFTWARE` in sysexits.h.
const EXIT_PROTOCOL: i32 = 70;

#[derive(Deserialize)]
struct Named {
    name: String,
    job: Value,
}

/// The life of a workload process that can do these jobs; returns its exit code.
pub(crate) fn child_main(kinds: &[Kind]) -> i32 {
    match serve(kinds, &mut io::stdin().lock(), &mut io::stdout().lock()) {
        Ok(()) => 0,
        Err(_) => EXIT_PROTOCOL,
    }
}

fn serve(kinds: &[Kind], input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    let Some(Named { name, job }) = receive(input)? else {
        return Ok(());
    };
    let kind = kinds.iter().find(|kind| kind.name == name);
    let kind = kind.ok_or(io::ErrorKind::InvalidData)?;
    let mut task = match (kind.prepare)(job)? {
        Ok(task) => task,
        Err(failure) => return send(output, &Message::Failed(failure)),
    };
    send(output, &Message::Ready)?;
    while let Some(Command::Go) = receive(input)? {
        match task.step()? {
            Ok(report) => send(output, &Message::Done(report))?,
            Err(failure) => return send(output, &Message::Failed(failure)),
        }
    }
    Ok(())
}

fn receive<T: DeserializeOwned>(input: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_str(&line)?))
}

fn send(output: &mut impl Write, message: &Message<Value>) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

/// Work that a child does for its parent, in one step or several.
pub trait Job: Serialize + DeserializeOwned {
    /// The name by which the child finds it.
    const NAME: &'static str;
    type Report: Serialize + DeserializeOwned;
}

/// The child's side of a job, after preparation.
pub(crate) trait Task: Sized + 'static {
    type Job: Job;

    /// Prepares, which is not measured.
    fn prepare(job: Self::Job) -> Result<Self, Failure>;

    fn go(&mut self) -> Result<<Self::Job as Job>::Report, Failure>;
}

/// A task as the child finds it: under its job's name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    prepare: fn(Value) -> io::Result<Prepared>,
}

type Prepared = Result<Box<dyn Steps>, Failure>;

impl Kind {
    pub(crate) const fn of<T: Task>() -> Self {
        Self {
            name: T::Job::NAME,
            prepare: |job| {
                let task = T::prepare(serde_json::from_value(job)?);
                Ok(task.map(|task| Box::new(task) as Box<dyn Steps>))
            },
        }
    }
}

/// A [`Task`] whose reports are serialised.
trait Steps {
    fn step(&mut self) -> io::Result<Result<Value, Failure>>;
}

impl<T: Task> Steps for T {
    fn step(&mut self) -> io::Result<Result<Value, Failure>> {
        match self.go() {
            Ok(report) => Ok(Ok(serde_json::to_value(report)?)),
            Err(failure) => Ok(Err(failure)),
        }
    }
}

/// Times and faults of the work alone, without its preparation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// `CLOCK_MONOTONIC` and `getrusage(2)` around the work.
    pub sample: Sample,
    pub minor_faults: u64,
    pub major_faults: u64,
}

impl Work {
    /// The sum of this work and another after it.
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self {
            sample: Sample {
                real_s: self.sample.real_s + other.sample.real_s,
                user_s: self.sample.user_s + other.sample.user_s,
                system_s: self.sample.system_s + other.sample.system_s,
            },
            minor_faults: self.minor_faults + other.minor_faults,
            major_faults: self.major_faults + other.major_faults,
        }
    }
}

#[cfg(test)]
mod tests {
    use iostrata_core::buffering::{Case, Mode};

    use super::*;
    use crate::buffering::{WriteJob, WriteTask};
    use crate::engine::FailureKind;

    const KINDS: [Kind; 1] = [Kind::of::<WriteTask>()];

    fn talk(lines: &str) -> Vec<Message<Work>> {
        let mut output = Vec::new();
        serve(&KINDS, &mut lines.as_bytes(), &mut output).unwrap();
        output
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    fn job(path: &std::path::Path) -> String {
        let case = Case {
            mode: Mode::Flush,
            size_bytes: 10,
            count: 3,
        };
        let job = WriteJob {
            case,
            path: Some(path.into()),
        };
        serde_json::json!({"name": WriteJob::NAME, "job": job}).to_string()
    }

    #[test]
    fn works_only_after_go() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        assert_eq!(talk(&format!("{}\n", job(&path))), [Message::Ready]);
        assert_eq!(
            std::fs::metadata(&path).unwrap().len(),
            0,
            "prepared, not written"
        );

        std::fs::remove_file(&path).unwrap();
        let answers = talk(&format!("{}\n\"go\"\n\"exit\"\n", job(&path)));
        assert!(matches!(answers[..], [Message::Ready, Message::Done(_)]));
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 30);
    }

    #[test]
    fn a_preparation_that_fails_is_told() {
        let answers = talk(&format!(
            "{}\n",
            job(std::path::Path::new("/nonexistent/dir/f"))
        ));
        let [Message::Failed(failure)] = &answers[..] else {
            panic!("{answers:?}")
        };
        assert_eq!((failure.kind, failure.errno), (FailureKind::Io, Some(2)));
        assert!(
            failure.message.contains("/nonexistent/dir/f"),
            "{}",
            failure.message
        );
    }

    #[test]
    fn nonsense_ends_the_child_and_no_input_is_no_error() {
        assert!(serve(&KINDS, &mut "nonsense\n".as_bytes(), &mut Vec::new()).is_err());
        assert!(talk("").is_empty());
    }
}
