//! Observed by eBPF.

use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use iostrata_core::environment::Backend;
use iostrata_core::observe::{Observer as _, Stream};
use iostrata_tracer::clock::now_ns;
use iostrata_tracer::ebpf::EbpfObserver;
use iostrata_tracer::program::Blocked;

use super::ending::{self, Ending, PAUSE};
use super::{Run, itself};
use crate::cli::Trace;
use crate::error::Failure;

/// Starts the program and observes it to its end, and that of all it started.
pub(super) fn start(options: &Trace, observer: &mut EbpfObserver) -> Result<Run, Failure> {
    let blocked = Blocked::prepare(&options.command)?;
    let ending = Ending::of_program(blocked.pid()).map_err(|error| itself(&error))?;
    observer
        .start(blocked.pid(), Stream::default())
        .map_err(|error| itself(&error))?;
    let started_ns = now_ns();
    let mut child = blocked.go()?;
    let status = wait(&mut child, &ending, options.time)?;
    let mut ended_ns = now_ns();
    if status.is_some() && wait_for_others(observer, &ending)? {
        ended_ns = now_ns();
    }
    finish(observer, ending, status, (started_ns, ended_ns))
}

/// Until the program has ended, or the user has seen enough of it.
fn wait(
    child: &mut Child,
    ending: &Ending,
    limit: Option<Duration>,
) -> Result<Option<ExitStatus>, Failure> {
    let Some(limit) = limit else {
        return child.wait().map(Some).map_err(|error| itself(&error));
    };
    let begun = Instant::now();
    while begun.elapsed() < limit && !ending.is_asked_for() {
        if let Some(status) = child.try_wait().map_err(|error| itself(&error))? {
            return Ok(Some(status));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(None)
}

/// What the program has started may outlive it. Returns whether anything did.
fn wait_for_others(observer: &EbpfObserver, ending: &Ending) -> Result<bool, Failure> {
    ending.program_has_ended();
    ending::wait_for_others(ending, || observer.alive().map_err(|error| itself(&error)))
}

/// Observes a process that runs already.
pub(super) fn adopt(
    pid: u32,
    limit: Option<Duration>,
    observer: &mut EbpfObserver,
) -> Result<Run, Failure> {
    ending::check_adoptable(pid)?;
    let ending = Ending::of_adopted().map_err(|error| itself(&error))?;
    observer
        .start(pid, Stream::default())
        .map_err(|error| itself(&error))?;
    let started_ns = now_ns();
    ending::wait_until_enough(&ending, limit, || {
        observer.alive().map_err(|error| itself(&error))
    })?;
    finish(observer, ending, None, (started_ns, now_ns()))
}

fn finish(
    observer: &mut EbpfObserver,
    ending: Ending,
    status: Option<ExitStatus>,
    (started_ns, ended_ns): (u64, u64),
) -> Result<Run, Failure> {
    ending.program_has_ended();
    observer.program_ended().map_err(|error| itself(&error))?;
    let observation = observer.stop().map_err(|error| itself(&error))?;
    Ok(Run {
        observation,
        backend: Backend::Ebpf,
        lower: None,
        recorded: None,
        ending,
        status,
        started_ns,
        ended_ns,
    })
}
