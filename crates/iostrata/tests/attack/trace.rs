//! `trace`, killed: the program keeps running, no process stays stopped or traced, and what says that it went
//! well has the right figures.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::ending::any_signal;
use crate::log;
use crate::marked::{Marked, Process};
use crate::seeded::Seeded;
use crate::traced::workload;
use crate::trials::{Failure, Fault, Outcome, holds};

/// How a program is observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Kernel,
    KernelRecord,
    KernelAdopt,
    Stops,
    EveryStop,
    StopsRecord,
    StopsAdopt,
}

impl Way {
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Kernel | Self::KernelAdopt => &["--backend", "ebpf"],
            Self::KernelRecord => &["--backend", "ebpf", "--record", "LOG"],
            Self::Stops | Self::StopsAdopt => &["--backend", "ptrace"],
            Self::EveryStop => &["--backend", "ptrace", "--every-call"],
            Self::StopsRecord => &["--backend", "ptrace", "--record", "LOG"],
        }
    }

    /// The program cannot go on without the process that traces it.
    fn is_filtered(self) -> bool {
        matches!(self, Self::Stops | Self::StopsRecord)
    }
}

/// Which process of iostrata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    /// The one that was started.
    Seen,
    /// The one that traces behind it.
    Behind,
    /// The one that waits for the end of the others.
    Waiting,
}

/// The processes that may be killed: not one that is about to become the program.
fn victims(marked: &Marked, seen: i32, is_filtered: bool) -> Vec<(Role, i32)> {
    let role = |process: &Process| match process {
        _ if !process.is_iostrata => None,
        _ if process.pid == seen => Some(Role::Seen),
        _ if process.session == process.pid || process.descriptors == 1 => Some(Role::Waiting),
        _ if is_filtered && process.parent == seen => Some(Role::Behind),
        _ => None,
    };
    let own = marked.processes();
    let mut found: Vec<_> = own
        .iter()
        .filter_map(|process| Some((role(process)?, process.pid)))
        .collect();
    found.sort_unstable();
    found
}

/// Until a random moment: of the start in one of four, else of the program.
fn wait(marked: &Marked, ended: &mut impl FnMut() -> bool, seeded: &mut Seeded) {
    if seeded.is_rare(4) {
        return sleep(seeded.shorter_than(Duration::from_millis(1500)));
    }
    while !marked.has_begun() && !ended() {
        sleep(Duration::from_micros(200));
    }
    let longest = *seeded.one_of(&[30, 400]);
    sleep(seeded.shorter_than(Duration::from_millis(longest)));
}

/// Ends one process at a random moment; `None` when the run was over before.
fn kill_one(
    marked: &Marked,
    (seen, way): (i32, Way),
    ended: &mut impl FnMut() -> bool,
    seeded: &mut Seeded,
) -> Option<(Role, Signal)> {
    wait(marked, ended, seeded);
    if ended() {
        return None;
    }
    let mut victims = victims(marked, seen, way.is_filtered());
    let signal = any_signal(seeded);
    // Signals that ask are for the one that the user sees.
    victims.retain(|(role, _)| signal == Signal::KILL || *role == Role::Seen);
    if victims.is_empty() {
        return None;
    }
    let (role, pid) = *seeded.one_of(&victims);
    kill_process(Pid::from_raw(pid).unwrap(), signal).ok()?;
    Some((role, signal))
}

/// One trial.
pub(crate) fn killed(way: Way, seeded: &mut Seeded) -> Outcome {
    if matches!(way, Way::KernelAdopt | Way::StopsAdopt) {
        return adopting_is_killed(way, seeded);
    }
    let marked = Marked::new();
    let mut command = marked.command(way.options());
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let seen = i32::try_from(child.id()).unwrap();
    let mut ended = || child.try_wait().unwrap().is_some();
    let killed = kill_one(&marked, (seen, way), &mut ended, seeded);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let what = || format!("{killed:?}, {:?}: {said}", output.status);
    all_end(&marked, &what)?;
    let is_bug = said.contains("panicked at") || said.contains("bug in iostrata");
    holds(!is_bug, Fault::Other, what)?;
    if way == Way::KernelRecord || way == Way::StopsRecord {
        log::check(&marked.path("log"), killed.is_some(), &what)?;
    }
    // Behind a filter a program cannot go on without its tracer.
    let may_end = match killed {
        None => false,
        Some((role, signal)) => role == Role::Behind || signal != Signal::KILL,
    };
    let is_done = marked.is_done() || !marked.has_begun() || may_end;
    holds(is_done, Fault::Other, || {
        format!("it did not go on: {}", what())
    })?;
    let code = output.status.code();
    match (code, killed) {
        (Some(0), _) => {
            is_right(&marked, &what)?;
            holds(marked.is_done(), Fault::Code, what)?;
            Ok(if killed.is_some() {
                "ended well"
            } else {
                "not reached"
            })
        }
        (Some(125), Some((role, _))) if role != Role::Seen => {
            holds(said.contains("error: "), Fault::Code, what)?;
            Ok("failed aloud")
        }
        (Some(code), Some((_, signal))) if code == 128 + signal.as_raw() => {
            asked_to_end(&marked, &said, &what)
        }
        (None, Some((Role::Seen, Signal::KILL))) => {
            check_result(&marked, &what)?;
            Ok("killed")
        }
        // The first milliseconds, which are the loader's and the arguments'.
        (None, Some((Role::Seen, _))) if !marked.has_begun() && said.is_empty() => {
            Ok("before it caught signals")
        }
        _ => Err(Failure::new(Fault::Code, what())),
    }
}

/// A signal that iostrata took for itself before the program began, or passed on to it.
fn asked_to_end(marked: &Marked, said: &str, what: &dyn Fn() -> String) -> Outcome {
    if !marked.has_begun() && said.contains("before the observation began") {
        let has_log = marked.path("log").exists();
        holds(!has_log, Fault::Left, || {
            format!("a log is left: {}", what())
        })?;
        return Ok("interrupted");
    }
    // After the observation, as docs/trace.md says.
    if said.starts_with("interrupted by")
        && marked.is_done()
        && !marked.path("result.json").exists()
    {
        return Ok("interrupted");
    }
    is_right(marked, what)?;
    Ok("passed on")
}

/// The result is whole, and says of both children what they did. They go on when the program is
/// ended: their files tell how far they came.
fn is_right(marked: &Marked, what: &dyn Fn() -> String) -> Result<(), Failure> {
    let Some(result) = check_result(marked, what)? else {
        return Err(Failure::new(Fault::Code, format!("no result: {}", what())));
    };
    holds(result.lost_events == 0, Fault::Code, || {
        format!("events lost: {}", what())
    })?;
    for child in ["f0", "f1"] {
        let bytes = fs::metadata(marked.path(&format!("work/{child}")));
        let Some(bytes) = bytes.map(|file| file.len()).ok().filter(|bytes| *bytes > 0) else {
            continue;
        };
        let ends = format!("work/{child}");
        let row = result.files.iter().find(|file| file.path.ends_with(&ends));
        let seen = row.map(|row| (row.writes.count, row.writes.bytes));
        holds(seen == Some((bytes / 300, bytes)), Fault::Code, || {
            format!(
                "{child} has {bytes} bytes, and {seen:?} were seen: {}",
                what()
            )
        })?;
    }
    Ok(())
}

/// Half a result is a fault, however the run ended.
fn check_result(
    marked: &Marked,
    what: &dyn Fn() -> String,
) -> Result<Option<iostrata_core::trace::TraceResult>, Failure> {
    let Ok(text) = fs::read(marked.path("result.json")) else {
        return Ok(None);
    };
    match serde_json::from_slice(&text) {
        Ok(result) => Ok(Some(result)),
        Err(error) => Err(Failure::new(
            Fault::Half,
            format!("{} B of a result, {error}: {}", text.len(), what()),
        )),
    }
}

/// One that is stopped would stay.
fn all_end(marked: &Marked, what: &dyn Fn() -> String) -> Result<(), Failure> {
    let begun = Instant::now();
    loop {
        let left = marked.processes();
        if left.is_empty() {
            return Ok(());
        }
        if begun.elapsed() > Duration::from_mins(1) {
            for process in &left {
                _ = kill_process(Pid::from_raw(process.pid).unwrap(), Signal::KILL);
            }
            return Err(Failure::new(Fault::Left, format!("{left:?}: {}", what())));
        }
        sleep(Duration::from_millis(10));
    }
}

/// A program that runs already goes on whatever happens to who looks at it.
fn adopting_is_killed(way: Way, seeded: &mut Seeded) -> Outcome {
    let marked = Marked::new();
    let mut program = Command::new(workload("busy"));
    program.arg(marked.path("work")).arg("60000");
    marked.mark(&mut program);
    let mut program = program.spawn().unwrap();
    while !marked.has_begun() {
        sleep(Duration::from_millis(1));
    }
    let mut adopt = Command::new(env!("CARGO_BIN_EXE_iostrata"));
    adopt.arg("trace").args(way.options()).arg("-o");
    adopt.arg(marked.path("result.json")).arg("-p");
    adopt.arg(program.id().to_string());
    adopt.stderr(Stdio::piped()).stdout(Stdio::null());
    let mut iostrata = adopt.spawn().unwrap();
    sleep(seeded.shorter_than(Duration::from_millis(1800)));
    let signal = any_signal(seeded);
    // Not after its end: then the number may be another's.
    let is_sent = iostrata.try_wait().unwrap().is_none()
        && kill_process(Pid::from_child(&iostrata), signal).is_ok();
    let output = iostrata.wait_with_output().unwrap();
    let went_on = program.wait().unwrap().success() && marked.is_done();
    let said = String::from_utf8_lossy(&output.stderr);
    let what = || format!("{signal:?} {is_sent}, {:?}: {said}", output.status);
    all_end(&marked, &what)?;
    holds(went_on, Fault::Other, || {
        format!("the program did not go on: {}", what())
    })?;
    let result = check_result(&marked, &what)?;
    match output.status.code() {
        Some(0) => {
            holds(result.is_some(), Fault::Code, what)?;
            Ok(if is_sent { "ended well" } else { "not reached" })
        }
        Some(125)
            if ["has exited", "has ended", "No such process"]
                .iter()
                .any(|ended| said.contains(ended)) =>
        {
            Ok("not reached")
        }
        Some(code) if is_sent && code == 128 + signal.as_raw() => {
            holds(said.contains("interrupted by"), Fault::Code, what)?;
            Ok("interrupted")
        }
        None if is_sent && signal == Signal::KILL => Ok("killed"),
        None if is_sent && said.is_empty() => Ok("before it caught signals"),
        _ => Err(Failure::new(Fault::Code, what())),
    }
}
