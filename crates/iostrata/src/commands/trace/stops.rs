//! Observed by stopping it at its calls: ptrace.

use std::time::{Duration, Instant};

use iostrata_core::environment::Backend;
use iostrata_tracer::clock::now_ns;
use iostrata_tracer::ptrace::{Outcome, Session, Stops, TraceError};

use super::ending::{self, Ending, PAUSE};
use super::{Run, itself};
use crate::cli::Trace;
use crate::error::Failure;
use crate::ui;

/// Starts the program and observes it to its end, and that of all it started.
pub(super) fn start(options: &Trace) -> Result<Run, Failure> {
    let stops = if options.every_call {
        Stops::All
    } else {
        Stops::Io
    };
    let started_ns = now_ns();
    let session = Session::start(&options.command, stops).map_err(failure)?;
    let ending = Ending::of_program(session.pid()).map_err(|error| itself(&error))?;
    let begun = Instant::now();
    while session.status().is_none() {
        let enough = options.time.is_some_and(|limit| begun.elapsed() >= limit);
        if enough || session.alive() == 0 {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    ending.program_has_ended();
    if session.status().is_some() {
        ending::wait_for_others(&ending, || Ok(session.alive()))?;
    }
    finish(session, ending, started_ns)
}

/// Observes a process that runs already.
pub(super) fn adopt(pid: u32, limit: Option<Duration>) -> Result<Run, Failure> {
    ending::check_adoptable(pid)?;
    let ending = Ending::of_adopted().map_err(|error| itself(&error))?;
    let started_ns = now_ns();
    let session = Session::adopt(pid).map_err(failure)?;
    ending::wait_until_enough(&ending, limit, || Ok(session.alive()))?;
    finish(session, ending, started_ns)
}

fn finish(session: Session, ending: Ending, started_ns: u64) -> Result<Run, Failure> {
    let stopped_ns = now_ns();
    let (outcome, rest) = session.stop().map_err(failure)?;
    ending.program_has_ended();
    let run = run_of(outcome, ending, started_ns, stopped_ns);
    if !rest.is_empty() {
        ui::say(
            "the observation has ended; iostrata stays until the program ends, which could not make its calls without it",
        );
        rest.wait().map_err(failure)?;
    }
    Ok(run)
}

/// The threads' own times are exact; ours are those of looking at them from time to time.
fn run_of(outcome: Outcome, ending: Ending, started_ns: u64, stopped_ns: u64) -> Run {
    let tasks = outcome
        .observation
        .seen
        .as_ref()
        .map(|seen| &seen.tasks[..]);
    let tasks = tasks.unwrap_or(&[]);
    let all_ended = tasks.iter().all(|task| task.ended_ns.is_some());
    let last_ns = tasks.iter().filter_map(|task| task.ended_ns).max();
    let first_ns = tasks.iter().map(|task| task.started_ns).min();
    Run {
        backend: Backend::Ptrace,
        lower: Some(outcome.lower),
        recorded: None,
        ending,
        status: outcome.status,
        started_ns: first_ns.unwrap_or(started_ns).max(started_ns),
        ended_ns: last_ns.filter(|_| all_ended).unwrap_or(stopped_ns),
        observation: outcome.observation,
    }
}

fn failure(error: TraceError) -> Failure {
    match error {
        TraceError::Start(error) => error.into(),
        other => itself(&other),
    }
}
