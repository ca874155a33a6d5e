//! The ptrace back end: for users and machines that do not permit eBPF.
//!
//! [`Session::start`] runs a program behind a seccomp filter that stops it at its I/O calls, at
//! entry and at exit; all other calls run without stops. [`Session::adopt`] attaches to a running
//! process, which cannot get a filter and stops at every call.
//!
//! # When iostrata dies
//!
//! A filter cannot be removed, and without a tracer every filtered call fails with `ENOSYS`
//! (`__seccomp_filter`, kernel/seccomp.c). The program would keep running and find its writes
//! refused for no reason. So behind a filter the kernel kills the program together with the thread
//! that traces (`PTRACE_O_EXITKILL`), and [`front::split`] puts that thread into a separate
//! process, which survives the death of the process that the user sees: if iostrata is killed, the
//! program keeps running and is traced to its end. With [`Stops::All`] there is no filter, and the
//! program keeps running whichever process is killed; each of its calls then costs two stops.
//! Errors and panics of the recording end only the recording.

mod accounting;
mod adopt;
mod aio;
mod calls;
mod clones;
mod descriptions;
mod descriptors;
mod duplicate;
mod filter;
pub mod front;
mod history;
mod identity;
mod log;
mod lower;
mod memory;
mod notes;
mod operations;
mod place;
mod record;
mod recorder;
mod request;
mod resolve;
mod sockets;
mod start;
mod tasks;
mod told;
mod tracing;
mod turns;
mod usage;
mod watch;

#[cfg(test)]
mod texts;

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use iostrata_core::gap::{Gap, Missing, Reason};
use iostrata_core::observe::Observation;
use iostrata_core::trace::Lower;

pub use calls::sees;
use log::Log;
use record::Record;
use recorder::Recorder;
use start::Program;
use tracing::{Left, Tracing};
use watch::Watch;

use crate::failure::{self, survive};
use crate::program::StartError;
use crate::record::{Recording, Unfinished};

/// Maximum number of pairs of call and file, and of named files. Calls beyond it are counted
/// without their file.
const MOST_ROWS: usize = 1 << 18;

/// The calls at which a program stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stops {
    /// I/O calls; all others run without stops. The program dies with the thread that traces it.
    Io,
    /// All calls. The program keeps running if its tracer dies.
    All,
}

#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(
        "cannot trace process {pid}: {source}; name one of your own processes that no debugger \
         traces, or run iostrata as root"
    )]
    Refused { pid: u32, source: io::Error },
    #[error(
        "cannot trace a program: {0}; run iostrata where ptrace and seccomp are permitted, in a systemd unit \
         with SystemCallFilter=@debug kcmp seccomp"
    )]
    Kernel(#[source] io::Error),
    /// A process has one tracer, which gets what it starts too (ptrace(2), `PTRACE_O_TRACEFORK`).
    #[error(
        "cannot trace a program: process {tracer} traces iostrata and what it starts, and the kernel allows one tracer; \
         start iostrata outside of it, or use --backend ebpf"
    )]
    Traced { tracer: u32 },
    /// The recording was abandoned; this did not affect the program.
    #[error("the recording was aborted ({0}); please report it")]
    GivenUp(String),
}

#[derive(Debug)]
pub struct Outcome {
    pub observation: Observation,
    pub lower: Lower,
    /// How the program ended; `None` if it is still running.
    pub status: Option<ExitStatus>,
    pub stops: u64,
    pub recorded: Option<Unfinished>,
}

/// One traced program, with a thread of its own for tracing.
#[derive(Debug)]
pub struct Session {
    pid: u32,
    stops: Stops,
    watch: Arc<Watch>,
    record: Receiver<Record>,
    thread: JoinHandle<Result<Left, TraceError>>,
}

impl Session {
    /// Runs a program: `command` is its name and its arguments.
    pub fn start(command: &[OsString], stops: Stops) -> Result<Self, TraceError> {
        Self::start_with(command, stops, None)
    }

    pub fn record(
        command: &[OsString],
        stops: Stops,
        recording: Recording,
    ) -> Result<Self, TraceError> {
        Self::start_with(command, stops, Some(recording))
    }

    fn start_with(
        command: &[OsString],
        stops: Stops,
        recording: Option<Recording>,
    ) -> Result<Self, TraceError> {
        let program = Program::find(command)?;
        let recorder = move || {
            let mut recorder = Recorder::new(MOST_ROWS, false);
            recorder.log = recording.map(Log::new);
            recorder
        };
        Self::begin(stops, move |watch, started, record| {
            run((program, stops), recorder, watch, started, record)
        })
    }

    /// Observes processes that run already, and all they have started. The first that may not be traced
    /// is an error; one that has ended is left out, if any is left.
    ///
    /// A call that its threads wait in is interrupted once, as by `SIGSTOP` and `SIGCONT`;
    /// the kernel goes on with nearly all of them by itself (signal(7), "Interruption of
    /// system calls and library functions by stop signals").
    pub fn adopt(pids: &[u32]) -> Result<Self, TraceError> {
        let pids = pids.to_vec();
        Self::begin(Stops::All, move |watch, started, record| {
            attach(&pids, watch, started, record)
        })
    }

    fn begin(
        stops: Stops,
        trace: impl FnOnce(&Arc<Watch>, &Sender<u32>, Sender<Record>) -> Result<Left, TraceError>
        + Send
        + 'static,
    ) -> Result<Self, TraceError> {
        let watch = Arc::new(Watch::default());
        let (tells, started) = mpsc::channel();
        let (sends, record) = mpsc::channel();
        let for_thread = Arc::clone(&watch);
        let thread = std::thread::Builder::new()
            .name("tracer".to_owned())
            .spawn(move || trace(&for_thread, &tells, sends))
            .map_err(StartError::NoProcess)?;
        match started.recv() {
            Ok(pid) => Ok(Self {
                pid,
                stops,
                watch,
                record,
                thread,
            }),
            Err(_ended) => Err(match thread.join() {
                Ok(Err(error)) => error,
                Ok(Ok(_)) => TraceError::GivenUp("it ended before the program began".to_owned()),
                Err(panic) => TraceError::GivenUp(failure::words(&*panic)),
            }),
        }
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// How the program ended, once it has. Its children may still be running.
    pub fn status(&self) -> Option<ExitStatus> {
        self.watch.status()
    }

    /// Threads that are observed.
    pub fn alive(&self) -> u64 {
        if self.thread.is_finished() {
            return 0;
        }
        self.watch.alive.load(Ordering::Acquire)
    }

    pub fn stops(&self) -> u64 {
        self.watch.stops.load(Ordering::Relaxed)
    }

    /// Waits until the program and all its descendants have ended.
    pub fn wait(self) -> Result<Outcome, TraceError> {
        self.conclude().map(|(outcome, _nobody)| outcome)
    }

    /// Ends the observation, including that of processes still running. Without a filter they are
    /// detached; behind one they need [`Rest::wait`].
    pub fn stop(self) -> Result<(Outcome, Rest), TraceError> {
        self.watch.ring();
        self.conclude()
    }

    fn conclude(self) -> Result<(Outcome, Rest), TraceError> {
        let Ok(record) = self.record.recv() else {
            return self.without_record();
        };
        let mut rest = Rest(Some(self.thread));
        let mut failed = Vec::new();
        if self.stops == Stops::All || self.watch.alive.load(Ordering::Acquire) == 0 {
            // When the thread ends, the kernel detaches everything it traced.
            failed.extend(rest.join().err().map(|error| given_up(&error)));
        }
        let stops = self.stops;
        let finished = survive(Missing::Recording, &mut failed, || {
            failure::stage("record.finish");
            record.finish(stops, self.watch.stops.load(Ordering::Relaxed))
        });
        let (mut observation, lower, mut recorded) = finished.unwrap_or_default();
        if let Some(recorded) = &mut recorded {
            recorded.gaps.extend(failed.iter().cloned());
        }
        observation.failed.extend(failed);
        let outcome = Outcome {
            observation,
            lower,
            status: self.watch.status(),
            stops: self.watch.stops.load(Ordering::Relaxed),
            recorded,
        };
        Ok((outcome, rest))
    }
}

impl Session {
    /// The tracing thread has ended without a result.
    fn without_record(self) -> Result<(Outcome, Rest), TraceError> {
        let error = match self.thread.join() {
            Ok(Err(error @ (TraceError::Start(_) | TraceError::Refused { .. }))) => {
                return Err(error);
            }
            Ok(Err(error)) => error,
            Ok(Ok(_)) => TraceError::GivenUp("it was lost at its end".to_owned()),
            Err(panic) => TraceError::GivenUp(failure::words(&*panic)),
        };
        let outcome = Outcome {
            observation: Observation {
                failed: vec![given_up(&error)],
                ..Observation::default()
            },
            lower: Lower::default(),
            status: self.watch.status(),
            stops: self.watch.stops.load(Ordering::Relaxed),
            recorded: None,
        };
        Ok((outcome, Rest(None)))
    }
}

fn given_up(error: &TraceError) -> Gap {
    Gap::new(Missing::Recording, Reason::Error(error.to_string()))
}

/// Processes behind a filter that are still running after the observation. They need this process
/// to answer their calls, and die with it.
#[derive(Debug)]
pub struct Rest(Option<JoinHandle<Result<Left, TraceError>>>);

impl Rest {
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(JoinHandle::is_finished)
    }

    pub fn wait(mut self) -> Result<(), TraceError> {
        self.join()
    }

    fn join(&mut self) -> Result<(), TraceError> {
        let joined = self.0.take().map(JoinHandle::join);
        match joined {
            None | Some(Ok(Ok(_))) => Ok(()),
            Some(Ok(Err(error))) => Err(error),
            Some(Err(panic)) => Err(TraceError::GivenUp(failure::words(&*panic))),
        }
    }
}

/// On the tracing thread: runs a program to its end.
fn run(
    (program, stops): (Program, Stops),
    recorder: impl FnOnce() -> Recorder,
    watch: &Arc<Watch>,
    started: &Sender<u32>,
    record: Sender<Record>,
) -> Result<Left, TraceError> {
    let filter = (stops == Stops::Io).then(filter::for_io);
    let options = request::options(match stops {
        Stops::Io => libc::PTRACE_O_TRACESECCOMP | libc::PTRACE_O_EXITKILL,
        Stops::All => 0,
    });
    let (bell, quiet) = start::bell().map_err(StartError::NoProcess)?;
    watch.hang(quiet);
    let process =
        program
            .start(filter.as_ref(), options)
            .map_err(|error| match usage::tracer() {
                Some(tracer) => TraceError::Traced { tracer },
                None => TraceError::Kernel(error),
            })?;
    let pid = process.pid;
    let mut recorder = recorder();
    recorder.adopt(pid, crate::clock::now_ns());
    watch.alive.store(1, Ordering::Release);
    // The owner may have abandoned the session; the program runs nevertheless.
    _ = started.send(pid);
    let root = (pid, HashSet::from([pid]));
    let mut tracing = Tracing::new(recorder, stops, root, bell, Arc::clone(watch), record);
    let left = tracing.run().map_err(TraceError::Kernel)?;
    match process.why_not() {
        Some(error) if !watch.executed.load(Ordering::Acquire) => Err(error.into()),
        _ => Ok(left),
    }
}

/// On the thread that traces: observes processes until their end or that of the observation.
fn attach(
    pids: &[u32],
    watch: &Arc<Watch>,
    started: &Sender<u32>,
    record: Sender<Record>,
) -> Result<Left, TraceError> {
    let (bell, quiet) = start::bell().map_err(StartError::NoProcess)?;
    watch.hang(quiet);
    let mut recorder = Recorder::new(MOST_ROWS, true);
    let seized = adopt::seize_trees(pids, &mut recorder);
    let seized = seized.map_err(|(pid, source)| TraceError::Refused { pid, source })?;
    // Of several none is the program whose end is reported.
    let pid = if let [pid] = pids { *pid } else { 0 };
    watch.alive.store(seized.len() as u64, Ordering::Release);
    watch.executed.store(true, Ordering::Release);
    _ = started.send(pid);
    let root = (pid, seized);
    let mut tracing = Tracing::new(recorder, Stops::All, root, bell, Arc::clone(watch), record);
    tracing.run().map_err(TraceError::Kernel)
}
