//! `iostrata trace`.

mod attaching;
mod ending;
mod failed;
mod findings;
mod kernel;
#[cfg(debug_assertions)]
mod planted;
mod recording;
mod result;
mod runs;
mod stops;

use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{ExitCode, ExitStatus};
use std::{io, iter};

use iostrata_core::environment::{Backend, Way};
use iostrata_core::gap::{Gap, Missing, Reason, Stratum};
use iostrata_core::halves::at_once;
use iostrata_core::observe::Observation;
use iostrata_core::record::Limits;
use iostrata_core::trace::{Lower, TraceResult};
use iostrata_report::html::Drawn;
use iostrata_report::{markdown, terminal, words};
use iostrata_tracer::ebpf::EbpfObserver;
use iostrata_tracer::failure::{self, survive};
use iostrata_tracer::memory;
use iostrata_tracer::permission::{caller, filtered};
use iostrata_tracer::program::StartError;
use iostrata_tracer::ptrace::Rest;
use iostrata_tracer::ptrace::front::{self, Answer, Behind, Side};
use iostrata_tracer::record::Unfinished;
use iostrata_tracer::signals::Held;

use self::attaching::Attachment;
use self::ending::Ending;
use self::findings::Measuring;
use self::runs::{Before, Streams};
use super::report::read::{self, Saved};
use super::report::viewers;
use super::written::{Markdown, Page, Viewers};
use super::{check_proc, json};
use crate::cli::{Purpose, Trace, TraceBackend};
use crate::destination::Destination;
use crate::error::Failure;
use crate::outputs::{self, Named};
use crate::results;
use crate::ui::{self, Canvas};

/// The exit code after Ctrl-C, where the program does not end at it.
const LEFT: u8 = 130;

struct Run {
    observation: Observation,
    backend: Backend,
    ways: Vec<Way>,
    /// The lower strata as seen from outside, where their events were not observed.
    lower: Option<Lower>,
    /// `None` if the program is still running.
    status: Option<ExitStatus>,
    started_ns: u64,
    ended_ns: u64,
    ending: Ending,
    recorded: Option<Unfinished>,
    /// Those that run on and need this process.
    rest: Option<Rest>,
}

enum Watcher {
    Kernel(Box<EbpfObserver>),
    /// ptrace, and what is missing for that reason.
    Stops(Option<Gap>),
}

pub(crate) fn run(options: &Trace) -> Result<ExitCode, Failure> {
    // The codes of other commands, and that of a defect, may be the program's own.
    let traced = catch_unwind(AssertUnwindSafe(|| trace(options)));
    let traced = traced.unwrap_or_else(|panic| Err(failed::nothing_saved(&*panic)));
    traced.map_err(|failure| match failure {
        Failure::Cannot(message) => itself(message),
        other => other,
    })
}

fn trace(options: &Trace) -> Result<ExitCode, Failure> {
    check_proc()?;
    let outputs = [
        Named::output("--json", options.json.as_deref()),
        Page::named(&options.html),
        Markdown::named(&options.markdown),
        Named::output("--record", options.record.as_deref()),
    ];
    let viewers = Viewers::named(&options.viewers);
    outputs::check(outputs.into_iter().flatten().chain(viewers))?;
    runs::check(options)?;
    // Other programs may want it.
    let mut target = attaching::target(options)?;
    let held = Held::begin().map_err(itself)?;
    let watcher = choose(options);
    // Loading ends early then, and its outcome says nothing.
    let held = ending::unless_arrived(held)?;
    let watcher = watcher?;
    check_filter(&watcher)?;
    let behind = match stand_behind(options, &watcher)? {
        Some(Side::Front(told)) => {
            // A later signal would change how the program ended.
            held.keep();
            return match told {
                Answer::Code(code) => Ok(ExitCode::from(code)),
                Answer::Killed(signal) => Err(failed::killed_behind(signal)),
            };
        }
        Some(Side::Behind(behind)) => Some(behind),
        None => None,
    };
    let page = Page::open(&options.html)?;
    let viewed = Viewed::open(options)?;
    let destination = Destination::open_for("-o", options.json.as_deref())?;
    let (watcher, before) = match run_before(options, watcher, &held) {
        Ok(done) => done,
        Err(failure) => {
            // A pending signal would end this process before it can say so.
            held.keep();
            return Err(failure);
        }
    };
    let streams = streams(options, before.as_ref())?;
    let (mut run, gap) = observe(options, &streams, watcher, target.as_mut(), held)?;
    let (recorded, rest) = (run.recorded.take(), run.rest.take());
    let ending = run.ending.clone();
    let is_left = target.is_none() && ending.is_asked_for();
    // A program that is still running has no code.
    let code = match run.status {
        Some(status) => number_of(status),
        None if is_left => LEFT,
        None => 0,
    };
    // One with a rest may not end.
    let ends_at_once = rest.is_none();
    let left = StillTraced { rest, behind };
    ending.is_over(ends_at_once);
    let hides_calls = run.observation.raw.losses.hide_calls();
    let mut failed = std::mem::take(&mut run.observation.failed);
    let mut result = result::assemble(options, run, target.as_ref(), &mut failed)?;
    result.missing.extend(gap);
    result.missing.extend(held_back(options, result.backend));
    let recorded = recording::told(options, recorded, &mut result);
    if let Some(before) = before {
        before.tell(&mut result);
    }
    failed.extend(ending.failed());
    ending.is_over(false);
    look(options, &mut result, &ending, &mut failed);
    ending.is_over(ends_at_once);
    // The kernel frees all memory at once at exit.
    let result = ManuallyDrop::new(result);
    // A killed iostrata prints no text.
    let alone = left.behind.as_ref().is_some_and(Behind::is_alone);
    let json_instead = destination
        .as_ref()
        .is_some_and(Destination::is_standard_output);
    let page_instead = page.as_ref().is_some_and(Page::is_standard_output);
    let save = || destination.map_or(Ok(()), |destination| destination.save_json(&*result));
    let as_text = !(alone || json_instead || page_instead || viewed.is_standard_output());
    let (drawn, saved) = at_once(|| draw(options, &result, as_text, page), save);
    let viewed = viewed.save(options, &result);
    keep(options, &result);
    saved?;
    drawn?;
    viewed?;
    recorded?;
    failed::told(&failed)?;
    failed::judge(&result, &options.checks, code.into(), hides_calls)
}

/// What the program needs that runs on. When this ends, the user has the shell back.
struct StillTraced {
    rest: Option<Rest>,
    behind: Option<Behind>,
}

impl Drop for StillTraced {
    fn drop(&mut self) {
        if let (Some(rest), Some(behind)) = (self.rest.take(), self.behind.take()) {
            behind.release(LEFT);
            // It has nothing more to tell.
            drop(rest.wait());
        }
    }
}

/// For `iostrata report` without a file. Making the text of more files takes longer than all else
/// at the end, and it is too large to be kept.
fn keep(options: &Trace, result: &TraceResult) {
    const MOST_FILES: usize = 4000;
    if !options.no_save
        && result.files.len() <= MOST_FILES
        && let Ok(text) = json(result)
    {
        results::keep(results::Kind::Trace, &text);
    }
}

/// Privileges that a started program does not get, when iostrata has its own privileges from its
/// file.
fn held_back(options: &Trace, backend: Backend) -> Option<Gap> {
    let is_started = !options.attach.is_asked() && backend == Backend::Ebpf;
    (is_started && caller::must_hold_back())
        .then(|| Gap::new(Missing::EarlierPrivileges, Reason::FileCapabilities))
}

/// Findings of the whole run, or none: those of a part of it could be wrong.
fn look(options: &Trace, result: &mut TraceResult, ending: &Ending, failed: &mut Vec<Gap>) {
    if let Some(law) = result.broken_law(Stratum::Syscalls) {
        let gap = Gap::new(Missing::Findings, Reason::BrokenLaw(law));
        result.missing.push(gap);
    } else if failed.is_empty() {
        survive(Missing::Findings, failed, || {
            failure::stage("main.findings");
            let stop = || ending.is_wanted();
            findings::find(
                result,
                &options.checks.ignore,
                Measuring::of(&options.savings),
                &stop,
            );
        });
    } else {
        failed.push(Gap::new(Missing::Findings, Reason::NotFullyObserved));
    }
    if !failed.is_empty() {
        // What was not seen for that is not counted, and is at least one event. The program is
        // one process in any case.
        result.processes = result.processes.max(1);
        result.threads = result.threads.max(1);
        result.lost_events = result.lost_events.max(1);
        result.evidence.lost_events = result.evidence.lost_events.max(1);
    }
    result.missing.extend(failed.iter().cloned());
}

/// eBPF where it is permitted, otherwise ptrace, and the reason.
fn choose(options: &Trace) -> Result<Watcher, Failure> {
    if let Some(TraceBackend::Ptrace) = options.backend {
        return Ok(Watcher::Stops(None));
    }
    match EbpfObserver::with_limits(recording::limits(options)) {
        Ok(observer) => Ok(Watcher::Kernel(Box::new(observer))),
        Err(error) if options.backend.is_some() => Err(itself(error)),
        Err(error) => {
            let why = Reason::Error(error.to_string());
            let gap = Gap::new(Missing::CacheAndDevice, why);
            Ok(Watcher::Stops(Some(gap)))
        }
    }
}

/// A filter may end the tracing process in the middle of it: then nothing is started.
fn check_filter(watcher: &Watcher) -> Result<(), Failure> {
    let Watcher::Stops(instead) = watcher else {
        return Ok(());
    };
    let Some(call) = filtered::ends_at_tracing() else {
        return Ok(());
    };
    let instead = instead
        .as_ref()
        .map(|gap| format!("; eBPF instead: {}", words::reason(&gap.why)));
    Err(itself(format!(
        "a seccomp filter kills every process that calls {call}, which ptrace needs; give a \
         systemd unit SystemCallFilter=@debug kcmp seccomp, or a container --security-opt \
         seccomp=unconfined{}",
        instead.unwrap_or_default()
    )))
}

/// A program behind a seccomp filter dies with the process that traces it. That process is not
/// the one that the user sees and may kill. Called before there are threads.
fn stand_behind(options: &Trace, watcher: &Watcher) -> Result<Option<Side>, Failure> {
    let is_filtered = !options.attach.is_asked() && !options.every_call;
    match watcher {
        Watcher::Stops(_) if is_filtered => front::split()
            .map(Some)
            .map_err(|error| StartError::NoProcess(error).into()),
        Watcher::Kernel(_) | Watcher::Stops(_) => Ok(None),
    }
}

/// The runs before the observed one, if requested. The observer in the kernel is not even
/// loaded meanwhile.
fn run_before(
    options: &Trace,
    watcher: Watcher,
    held: &Held,
) -> Result<(Watcher, Option<Before>), Failure> {
    if !options.runs.are_several() {
        return Ok((watcher, None));
    }
    let stops = match watcher {
        Watcher::Kernel(observer) => {
            drop(observer);
            memory::give_back();
            None
        }
        stops @ Watcher::Stops(_) => Some(stops),
    };
    let mut before = runs::before(options, held)?;
    let watcher = stops.map_or_else(|| choose(options), Ok)?;
    before.prepare(held)?;
    Ok((watcher, Some(before)))
}

/// Those of the observed run.
fn streams(options: &Trace, before: Option<&Before>) -> Result<Streams, Failure> {
    match before {
        Some(before) => before.streams.again(),
        None if options.runs.purpose == Some(Purpose::Learn) => Streams::discarded(),
        None => Ok(Streams::default()),
    }
    .map_err(itself)
}

fn observe(
    options: &Trace,
    streams: &Streams,
    watcher: Watcher,
    target: Option<&mut Attachment>,
    held: Held,
) -> Result<(Run, Option<Gap>), Failure> {
    Ok(match (watcher, target) {
        (Watcher::Kernel(mut observer), Some(target)) => (
            kernel::adopt(target, options.time, &mut observer, held)?,
            None,
        ),
        (Watcher::Kernel(mut observer), None) => {
            let (recording, held) = recording::begin(options, held)?;
            if let Some(recording) = recording {
                observer.record(recording);
            }
            let started = kernel::start(options, streams, &mut observer, held);
            let mut run = started.inspect_err(|_| recording::discard(options))?;
            run.recorded = observer.recorded();
            if let Some(recorded) = &mut run.recorded {
                recorded.lacks(&run.observation.failed);
            }
            (run, None)
        }
        (Watcher::Stops(gap), Some(target)) => {
            target.follows_nobody()?;
            (stops::adopt(target, options.time, held)?, gap)
        }
        (Watcher::Stops(gap), None) => {
            let (recording, held) = recording::begin(options, held)?;
            let started = stops::start(options, streams, recording, held);
            (started.inspect_err(|_| recording::discard(options))?, gap)
        }
    })
}

/// The program's own code; 128 + N as shells say it when signal N ended it.
fn number_of(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt as _;
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(125)
}

/// iostrata's own failure, before or after the program's.
fn itself(error: impl std::fmt::Display) -> Failure {
    Failure::Program {
        message: error.to_string(),
        code: 125,
    }
}

fn not_said(error: &io::Error) -> Failure {
    itself(format!(
        "cannot write the result to standard error: {error}"
    ))
}

fn draw(
    options: &Trace,
    saved: &TraceResult,
    as_text: bool,
    page: Option<Page>,
) -> Result<(), Failure> {
    let text = |canvas: Canvas| {
        let style = options.shown.style(canvas.colour());
        terminal::trace::draw(saved, canvas.width(), &style)
    };
    let printed = if !as_text || options.runs.purpose == Some(Purpose::Record) {
        Ok(())
    } else if options.attach.is_asked() {
        ui::print(&text(Canvas::Output))
    } else {
        // A program that was started has standard output for itself.
        ui::say_drawn(&text(Canvas::Error)).map_err(|error| not_said(&error))
    };
    let json = options.json.as_deref();
    let written = page.map_or(Ok(()), |page| page.save_one(Drawn::Trace(saved), json));
    printed.and(written)
}

/// The requested files. They are checked to be writable before the program is started.
struct Viewed {
    issue: Markdown,
    viewers: Viewers,
}

impl Viewed {
    fn open(options: &Trace) -> Result<Self, Failure> {
        Ok(Self {
            issue: Markdown::open(&options.markdown)?,
            viewers: Viewers::open(&options.viewers)?,
        })
    }

    fn is_standard_output(&self) -> bool {
        self.issue.is_standard_output() || self.viewers.is_standard_output()
    }

    /// Writes all of them, even if one of them fails.
    fn save(self, options: &Trace, result: &TraceResult) -> Result<(), Failure> {
        let style = options.shown.style(false);
        let written = self.issue.save(|| markdown::trace(result, &style));
        let exported = export(options, self.viewers, result);
        written.and(exported)
    }
}

/// With the calls of the operation log, where one was written.
fn export(options: &Trace, to: Viewers, result: &TraceResult) -> Result<(), Failure> {
    let recorded = options.record.as_deref();
    match recorded.filter(|_| options.viewers.perfetto.is_some()) {
        None => to.save(Some(result), &mut iter::empty()),
        Some(path) => match read::saved(path)? {
            Saved::Log(log) => {
                let reading = log.read(1, Limits::default())?;
                viewers::save(to, Some(result), &log, reading)
            }
            _ => Err(Failure::Input(format!(
                "{} is not an operation log",
                path.display()
            ))),
        },
    }
}
