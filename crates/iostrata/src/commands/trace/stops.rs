//! Observation by ptrace: the program stops at its calls.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use iostrata_core::environment::Backend;
use iostrata_core::gap::{Gap, Missing};
use iostrata_core::trace::Lived;
use iostrata_tracer::clock::now_ns;
use iostrata_tracer::failure::{self, survive};
use iostrata_tracer::ptrace::{Outcome, Session, Stops, TraceError};
use iostrata_tracer::record::Recording;
use iostrata_tracer::signals::Held;

use super::attaching::Attachment;
use super::ending::{self, Ending, PAUSE};
use super::failed::or_missing;
use super::runs::Streams;
use super::{Run, itself};
use crate::cli::Trace;
use crate::error::Failure;
use crate::ui;

pub(super) fn start(
    options: &Trace,
    streams: &Streams,
    recording: Option<Recording>,
    held: Held,
) -> Result<Run, Failure> {
    let stops = if options.every_call {
        Stops::All
    } else {
        Stops::Io
    };
    let started_ns = now_ns();
    let session = streams.around(|| match recording {
        Some(recording) => Session::record(&options.command, stops, recording),
        None => Session::start(&options.command, stops),
    });
    let session = session.map_err(itself)?;
    let session = session.map_err(failure_of)?;
    let ending = match Ending::install(Some(session.pid())) {
        Ok(ending) => ending,
        Err(error) => {
            // The program needs this process.
            drop(session.wait());
            return Err(itself(error));
        }
    };
    // From now on signals go to the program.
    drop(held);
    let mut failed = Vec::new();
    let waited = survive(Missing::AfterObserver, &mut failed, || {
        failure::stage("main.wait");
        wait(&session, &ending, options.time);
    });
    if waited.is_none() {
        wait(&session, &ending, None);
    }
    ending.program_has_ended();
    if session.status().is_some() {
        let alive = || Ok::<_, Infallible>(session.alive());
        or_missing(Missing::AfterObserver, &mut failed, || {
            ending::wait_for_others(&ending, options.others.map(Duration::from_secs), alive)
        });
    }
    let others = match options.others {
        None => Others::RunOn,
        Some(_) => Others::End,
    };
    finish(session, ending, (started_ns, failed), others)
}

/// What becomes of processes that are still running after the observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Others {
    RunOn,
    /// They die with their tracer.
    End,
}

fn wait(session: &Session, ending: &Ending, limit: Option<Duration>) {
    let begun = Instant::now();
    while session.status().is_none() && session.alive() > 0 {
        if limit.is_some_and(|limit| begun.elapsed() >= limit) || ending.is_asked_for() {
            return;
        }
        ending.look();
        std::thread::sleep(PAUSE);
    }
}

pub(super) fn adopt(
    target: &mut Attachment,
    limit: Option<Duration>,
    held: Held,
) -> Result<Run, Failure> {
    let ending = Ending::install(None).map_err(itself)?;
    let session = Session::adopt(&target.find()).map_err(failure_of)?;
    drop(held);
    // Before that, some of its threads may have made unobserved calls.
    let started_ns = now_ns();
    let mut failed = Vec::new();
    let alive = || Ok::<_, Infallible>(session.alive());
    or_missing(Missing::AfterObserver, &mut failed, || {
        ending::wait_until_enough(target, &ending, limit, alive)
    });
    finish(session, ending, (started_ns, failed), Others::RunOn)
}

fn finish(
    session: Session,
    ending: Ending,
    (started_ns, failed): (u64, Vec<Gap>),
    others: Others,
) -> Result<Run, Failure> {
    let stopped_ns = now_ns();
    let (mut outcome, rest) = session.stop().map_err(failure_of)?;
    ending.program_has_ended();
    outcome.observation.failed.extend(failed);
    let mut run = run_of(outcome, ending, started_ns, stopped_ns);
    if rest.is_empty() || others == Others::End {
        return Ok(run);
    }
    if !run.ending.is_asked_for() {
        ui::say(
            "the observation has ended; iostrata stays until the program ends, because the \
             program cannot make system calls without its tracer",
        );
        while !rest.is_empty() && !run.ending.is_asked_for() {
            std::thread::sleep(PAUSE);
        }
    }
    if rest.is_empty() {
        let failed = &mut run.observation.failed;
        or_missing(Missing::ProgramEnd, failed, || rest.wait());
    } else {
        run.rest = Some(rest);
    }
    Ok(run)
}

/// The threads' own times are exact; times by polling are not.
fn run_of(outcome: Outcome, ending: Ending, started_ns: u64, stopped_ns: u64) -> Run {
    let seen = outcome.observation.seen.as_ref();
    let lived = seen.map_or_else(Lived::default, |seen| seen.lived);
    Run {
        backend: Backend::Ptrace,
        ways: Vec::new(),
        lower: Some(outcome.lower),
        recorded: outcome.recorded,
        rest: None,
        ending,
        status: outcome.status,
        started_ns: lived.first_ns.unwrap_or(started_ns).max(started_ns),
        ended_ns: lived.last_ns.filter(|_| !lived.go_on).unwrap_or(stopped_ns),
        observation: outcome.observation,
    }
}

fn failure_of(error: TraceError) -> Failure {
    match error {
        TraceError::Start(error) => error.into(),
        other => itself(other),
    }
}
