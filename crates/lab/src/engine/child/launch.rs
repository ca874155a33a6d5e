//! The parent's side.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::marker::PhantomData;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{self, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use super::{Command, EngineError, ExecJob, Job, Message};
use crate::engine::Process;

/// Interval at which a waiting parent checks for an interruption.
const INTERRUPT_CHECK: Duration = Duration::from_millis(50);

/// How workload processes are started.
#[derive(Debug, Clone)]
pub struct Launcher {
    program: PathBuf,
    arguments: Vec<OsString>,
}

impl Launcher {
    /// This program itself, with the hidden subcommand that calls
    /// [`child_main`](crate::child_main).
    pub fn this_program(subcommand: &str) -> Self {
        Self::program("/proc/self/exe", [subcommand])
    }

    /// Any program that calls [`child_main`](crate::child_main).
    pub fn program(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
        }
    }

    pub(crate) fn command(&self) -> process::Command {
        let mut command = process::Command::new(&self.program);
        command.args(&self.arguments);
        command
    }

    /// Starts a process and waits until it has prepared `job`.
    pub fn start<J: Job>(
        &self,
        job: &J,
        stop: &dyn Fn() -> bool,
    ) -> Result<Workload<J>, EngineError> {
        start_as(self.command(), job, stop)
    }

    /// The same with exactly this directory as working directory, wherever its path leads by now.
    pub fn start_in<J: Job>(
        &self,
        directory: BorrowedFd<'_>,
        job: &J,
        stop: &dyn Fn() -> bool,
    ) -> Result<Workload<J>, EngineError> {
        let mut command = self.command();
        // The child changes to it before its exec: it still has the descriptor.
        command.current_dir(format!("/proc/self/fd/{}", directory.as_raw_fd()));
        start_as(command, job, stop)
    }
}

fn start_as<J: Job>(
    mut command: process::Command,
    job: &J,
    stop: &dyn Fn() -> bool,
) -> Result<Workload<J>, EngineError> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = Process::start(&mut command).map_err(|source| EngineError::Start {
        program: command.get_program().display().to_string(),
        source,
    })?;
    let (stdin, stdout) = (process.child().stdin.take(), process.child().stdout.take());
    let mut workload = Workload {
        process,
        stdin,
        stdout: stdout.map(BufReader::new),
        job: PhantomData,
    };
    let named = Named { name: J::NAME, job };
    workload.send(&named, "take its job")?;
    match workload.receive("prepare", stop)? {
        Message::Ready => Ok(workload),
        other => Err(unexpected(other)),
    }
}

#[derive(Serialize)]
struct Named<'a, J> {
    name: &'static str,
    job: &'a J,
}

/// A prepared workload process. Killed and reaped when dropped.
#[derive(Debug)]
pub struct Workload<J> {
    process: Process,
    /// `None` once `exit` was sent.
    stdin: Option<ChildStdin>,
    stdout: Option<BufReader<ChildStdout>>,
    job: PhantomData<fn(J)>,
}

impl<J: Job> Workload<J> {
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Starts its next step and waits for the report.
    pub fn go(&mut self, stop: &dyn Fn() -> bool) -> Result<J::Report, EngineError> {
        self.send(&Command::Go, "work")?;
        match self.receive("work", stop)? {
            Message::Done(report) => Ok(report),
            other => Err(unexpected(other)),
        }
    }

    /// Lets it end and waits for that.
    pub fn exit(mut self) -> Result<(), EngineError> {
        self.send(&Command::Exit, "end")?;
        drop(self.stdin.take());
        let status = self.process.child().wait()?;
        if status.success() {
            Ok(())
        } else {
            Err(ended(status, "end"))
        }
    }

    fn send(&mut self, message: &impl Serialize, doing: &'static str) -> Result<(), EngineError> {
        let mut line = serde_json::to_vec(message)
            .map_err(|error| EngineError::Protocol(error.to_string()))?;
        line.push(b'\n');
        let Some(stdin) = self.stdin.as_mut() else {
            return Err(EngineError::Protocol(
                "it has already been asked to end".to_owned(),
            ));
        };
        match stdin.write_all(&line) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(self.why_gone(doing)),
            Err(error) => Err(error.into()),
        }
    }

    fn receive(
        &mut self,
        doing: &'static str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Message<J::Report>, EngineError> {
        let Some(stdout) = self.stdout.as_mut() else {
            return Err(self.why_gone(doing));
        };
        while !is_readable(stdout)? {
            if stop() {
                return Err(EngineError::Interrupted);
            }
        }
        let mut line = String::new();
        if stdout.read_line(&mut line)? == 0 {
            return Err(self.why_gone(doing));
        }
        serde_json::from_str(&line)
            .map_err(|error| EngineError::Protocol(format!("{} ({error})", line.trim_end())))
    }

    /// Waits for a process that closed its pipe and reports how it ended.
    fn why_gone(&mut self, doing: &'static str) -> EngineError {
        self.process
            .child()
            .wait()
            .map_or_else(EngineError::from, |status| ended(status, doing))
    }
}

impl Workload<ExecJob> {
    /// Lets it execute the program of its job and waits for the end of the program; `None` when it
    /// still runs after `longest`. It is killed when this value is dropped.
    pub fn go_exec(
        &mut self,
        longest: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<ExitStatus>, EngineError> {
        self.send(&Command::Go, "execute a program")?;
        self.process.wait(longest, stop)
    }
}

fn is_readable(stdout: &BufReader<ChildStdout>) -> io::Result<bool> {
    if !stdout.buffer().is_empty() {
        return Ok(true);
    }
    let fd = stdout.get_ref().as_fd();
    let timeout = Timespec::try_from(INTERRUPT_CHECK).map_err(io::Error::other)?;
    match poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

fn ended(status: ExitStatus, doing: &'static str) -> EngineError {
    match (status.signal(), status.code()) {
        (Some(signal), _) => EngineError::Killed { signal, doing },
        (None, code) => EngineError::Ended {
            code: code.unwrap_or(0),
            doing,
        },
    }
}

fn unexpected<R>(message: Message<R>) -> EngineError {
    match message {
        Message::Failed(failure) => EngineError::Failed(failure),
        Message::Ready => EngineError::Protocol("ready".to_owned()),
        Message::Done(_) => EngineError::Protocol("done".to_owned()),
    }
}
