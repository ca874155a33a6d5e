//! The child's side.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt as _;
use std::process;

use serde::de::DeserializeOwned;

use super::{Command, ExecJob, Failure, Job, Message, Report};
use crate::atime::ReadLoopTask;
use crate::buffering::{NullTask, ReadTask, StepsTask, WriteTask};
use crate::copy::{CopyTask, YardstickTask};
use crate::page_cache::ReadFileTask;
use crate::replay::ReplayTask;
use crate::sync::{DirectTask, SyncTask};

/// Exit code of a child whose input made no sense, as `EX_SOFTWARE` in sysexits.h.
const EXIT_PROTOCOL: i32 = 70;

/// Exit code of a program that could not be executed, as env(1) gives it.
const EXIT_CANNOT_EXECUTE: i32 = 127;

/// A prepared job.
enum Task {
    Write(WriteTask),
    Null(NullTask),
    Steps(StepsTask),
    Read(ReadTask),
    ReadFile(Box<ReadFileTask>),
    ReadLoop(ReadLoopTask),
    Copy(CopyTask),
    Yardstick(YardstickTask),
    Exec(ExecJob),
    Sync(SyncTask),
    Direct(DirectTask),
    Replay(ReplayTask),
}

impl Task {
    fn prepare(job: Job) -> Result<Self, Failure> {
        Ok(match job {
            Job::Write(job) => Self::Write(WriteTask::prepare(job)?),
            Job::Null(job) => Self::Null(NullTask::prepare(job)?),
            Job::Steps(job) => Self::Steps(StepsTask::prepare(job)?),
            Job::Read(job) => Self::Read(ReadTask::prepare(job)?),
            Job::ReadFile(job) => Self::ReadFile(Box::new(ReadFileTask::prepare(job)?)),
            Job::ReadLoop(job) => Self::ReadLoop(ReadLoopTask::prepare(job)?),
            Job::Copy(job) => Self::Copy(CopyTask::prepare(job)),
            Job::Yardstick(job) => Self::Yardstick(YardstickTask::prepare(job)?),
            Job::Exec(job) => Self::Exec(job),
            Job::Sync(job) => Self::Sync(SyncTask::prepare(&job)?),
            Job::Direct(job) => Self::Direct(DirectTask::prepare(job)?),
            Job::Replay(job) => Self::Replay(ReplayTask::prepare(&job)?),
        })
    }

    fn go(&mut self) -> Result<Report, Failure> {
        match self {
            Self::Write(task) => task.go().map(Report::Work),
            Self::Null(task) => task.go().map(Report::Work),
            Self::Steps(task) => task.go().map(Report::Step),
            Self::Read(task) => task.go().map(Report::Read),
            Self::ReadFile(task) => task.go().map(Report::ReadFile),
            Self::ReadLoop(task) => task.go().map(Report::Loop),
            Self::Copy(task) => task.go().map(Report::Work),
            Self::Yardstick(task) => task.go().map(Report::Work),
            Self::Exec(job) => Err(become_program(job)),
            Self::Sync(task) => task.go().map(Report::Sync),
            Self::Direct(task) => task.go().map(Report::Direct),
            Self::Replay(task) => task.go().map(Report::Replay),
        }
    }
}

/// The whole life of a workload process; returns its exit code.
///
/// The binary calls this from a hidden subcommand and does nothing else. The
/// process ends with its parent: at the end of its input, or, in the middle of
/// the work, by the signal its parent asked the kernel for.
pub fn child_main() -> i32 {
    match serve(&mut io::stdin().lock(), &mut io::stdout().lock()) {
        Ok(()) => 0,
        Err(_) => EXIT_PROTOCOL,
    }
}

fn serve(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    let Some(job) = receive::<Job>(input)? else {
        return Ok(());
    };
    let mut task = match Task::prepare(job) {
        Ok(task) => task,
        Err(failure) => return send(output, &Message::Failed(failure)),
    };
    send(output, &Message::Ready)?;
    while let Some(Command::Go) = receive(input)? {
        match task.go() {
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

fn send(output: &mut impl Write, message: &Message) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

/// Replaces this process; returns only if that failed before anything was replaced.
fn become_program(job: &ExecJob) -> Failure {
    let Some((program, arguments)) = job.argv.split_first() else {
        return Failure::job("no program was given");
    };
    let stderr = match File::create(&job.stderr) {
        Ok(file) => file,
        Err(error) => return Failure::from_io(&format!("create {}", shown(&job.stderr)), &error),
    };
    let error = process::Command::new(program)
        .args(arguments)
        .envs(job.environment.iter().map(|(name, value)| (name, value)))
        .stdin(process::Stdio::null())
        .stdout(process::Stdio::null())
        .stderr(stderr)
        .exec();
    // A failed exec has already replaced the standard streams, so the pipe to the
    // parent is gone: the reason goes where the program's own errors would.
    drop(writeln!(
        io::stderr(),
        "cannot execute {}: {error}",
        shown(program)
    ));
    exit_cannot_execute()
}

#[expect(
    clippy::exit,
    reason = "the pipe to the parent is gone, so no failure can be returned"
)]
fn exit_cannot_execute() -> ! {
    process::exit(EXIT_CANNOT_EXECUTE)
}

fn shown(path: &OsString) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use iostrata_core::buffering::{Case, Mode};

    use super::*;
    use crate::engine::{FailureKind, WriteJob};

    fn talk(lines: &str) -> Vec<Message> {
        let mut output = Vec::new();
        serve(&mut lines.as_bytes(), &mut output).unwrap();
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
        serde_json::to_string(&Job::Write(WriteJob {
            case,
            path: path.into(),
        }))
        .unwrap()
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
        assert!(matches!(
            answers[..],
            [Message::Ready, Message::Done(Report::Work(_))]
        ));
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
        assert!(serve(&mut "nonsense\n".as_bytes(), &mut Vec::new()).is_err());
        assert!(talk("").is_empty());
    }
}
