//! Observation by eBPF.

use std::io;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use iostrata_core::environment::Backend;
use iostrata_core::gap::{Gap, Missing, Raised};
use iostrata_core::observe::{ObserveError, Observer as _, Stream};
use iostrata_tracer::clock::now_ns;
use iostrata_tracer::ebpf::EbpfObserver;
use iostrata_tracer::failure;
use iostrata_tracer::program::Blocked;
use iostrata_tracer::signals::Held;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::attaching::Attachment;
use super::ending::{self, Ending, PAUSE};
use super::failed::or_missing;
use super::runs::Streams;
use super::{Run, itself};
use crate::cli::Trace;
use crate::error::Failure;
use crate::ui;

/// Time between looks for Ctrl-C while the end of a program is waited for.
const LONG_PAUSE: Duration = Duration::from_millis(100);

/// Starts the program and observes it to its end, and that of all it started.
pub(super) fn start(
    options: &Trace,
    streams: &Streams,
    observer: &mut EbpfObserver,
    held: Held,
) -> Result<Run, Failure> {
    let prepared = streams.around(|| Blocked::prepare(&options.command, held.before()));
    let blocked = prepared.map_err(itself)??;
    let ending = Ending::install(Some(blocked.pid())).map_err(itself)?;
    let observed = observer.start(blocked.pid(), Stream::default());
    // The terminal's signal has ended the program too, which is no reason of its own.
    let held = ending::unless_arrived(held)?;
    observed.map_err(itself)?;
    let started_ns = now_ns();
    let mut child = blocked.go()?;
    // From now on signals go to the program.
    drop(held);
    let mut failed = Vec::new();
    or_missing(Missing::Everything, &mut failed, || was_executed(observer));
    let waited = or_missing(Missing::AfterObserver, &mut failed, || {
        wait(&mut child, &ending, options.time)
    });
    // iostrata waits for the program whatever has failed.
    let status = waited.unwrap_or_else(|| child.wait().ok());
    let mut ended_ns = now_ns();
    if status.is_some() {
        ending.program_has_ended();
        let alive = || observer.alive();
        let waited = or_missing(Missing::AfterObserver, &mut failed, || {
            ending::wait_for_others(&ending, options.others.map(Duration::from_secs), alive)
        });
        if waited == Some(true) {
            ended_ns = now_ns();
        }
    }
    Ok(finish(
        observer,
        ending,
        status,
        (started_ns, ended_ns),
        failed,
    ))
}

/// The program runs. An observer that missed its start sees nothing of it.
fn was_executed(observer: &EbpfObserver) -> Result<(), ObserveError> {
    failure::stage("main.executed");
    if observer.executed()? > 0 {
        return Ok(());
    }
    Err(ObserveError {
        doing: "observe the program".to_owned(),
        cause: "the kernel did not report its exec, its first action".to_owned(),
    })
}

fn wait(
    child: &mut Child,
    ending: &Ending,
    limit: Option<Duration>,
) -> io::Result<Option<ExitStatus>> {
    failure::stage("main.wait");
    // Without it the end is seen a little later.
    let ends = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).ok();
    let pause = limit.map_or(LONG_PAUSE, |_| PAUSE);
    let pause = Timespec::try_from(pause).map_err(io::Error::other)?;
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if limit.is_some_and(|limit| begun.elapsed() >= limit) || ending.is_asked_for() {
            return Ok(None);
        }
        ending.look();
        match &ends {
            // Looks again when it was interrupted.
            Some(ends) => drop(poll(&mut [PollFd::new(ends, PollFlags::IN)], Some(&pause))),
            None => std::thread::sleep(PAUSE),
        }
    }
}

pub(super) fn adopt(
    target: &mut Attachment,
    limit: Option<Duration>,
    observer: &mut EbpfObserver,
    held: Held,
) -> Result<Run, Failure> {
    let ending = Ending::install(None).map_err(itself)?;
    let (whom, wanted) = (target.words(), target.wanted());
    observer
        .attach(&whom, &wanted, &mut || target.find())
        .map_err(itself)?;
    drop(held);
    let started_ns = now_ns();
    let mut failed = Vec::new();
    or_missing(Missing::AfterObserver, &mut failed, || {
        ending::wait_until_enough(target, &ending, limit, || {
            observer.keep_up()?;
            observer.alive()
        })
    });
    let ended_ns = now_ns();
    let mut run = finish(observer, ending, None, (started_ns, ended_ns), failed);
    let failed = &mut run.observation.failed;
    if let Some(joined) = or_missing(Missing::Joined, failed, || observer.joined()) {
        target.joined(joined);
    }
    let missing = &run.observation.raw.missing;
    let process = target.only_process();
    if let Some(one) = process.and_then(|process| Raised::of(process, missing)) {
        ui::say(&format!(
            "the observation of process {} has ended: it executed {}, which this user may not trace",
            one.process, one.program
        ));
    }
    Ok(run)
}

/// What can no longer be read is listed as missing.
fn finish(
    observer: &mut EbpfObserver,
    ending: Ending,
    status: Option<ExitStatus>,
    (started_ns, ended_ns): (u64, u64),
    mut failed: Vec<Gap>,
) -> Run {
    ending.program_has_ended();
    or_missing(Missing::EndPosition, &mut failed, || {
        observer.program_ended()
    });
    let seen = or_missing(Missing::EverythingObserved, &mut failed, || {
        failure::stage("main.stop");
        observer.stop()
    });
    let mut observation = seen.unwrap_or_default();
    observation.failed.append(&mut failed);
    Run {
        observation,
        backend: Backend::Ebpf,
        ways: observer.ways(),
        lower: None,
        recorded: None,
        rest: None,
        ending,
        status,
        started_ns,
        ended_ns,
    }
}
