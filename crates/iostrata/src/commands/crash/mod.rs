//! `iostrata crash`: the states that a power failure could leave of a program's files.

mod again;
mod block;
mod calibrate;
mod checks;
mod explore;
mod keep;
mod look;
mod merge;
mod named;
mod place;

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use iostrata_core::crash::{BLOCK_BYTES, Looked, Model, Settings, Verdict};
use iostrata_lab::crash::{Log, LogError, SharedLog, attended_main, starter_main};
use iostrata_lab::engine::Launcher;
use iostrata_lab::interrupt::{Interrupt, Interrupted};
use iostrata_lab::scratch::{Guard, Scratch};
use iostrata_report::html::Drawn;
use iostrata_report::{printable, terminal};

use self::block::{Ground, Runs};
use self::checks::Checks;
use self::explore::{Explored, Task, budget};
use self::look::{Judge, locked};
use self::named::{Named as Checker, There};
use self::place::Recorded;
use super::mark;
use super::written::Page;
use crate::GUARD;
use crate::cli::{Crash, CrashMode, Only};
use crate::destination::Destination;
use crate::error::Failure;
use crate::outputs::{self, Named};
use crate::signals;
use crate::ui::{self, Canvas};

pub(crate) use self::merge::merge;

/// When a checker has to accept a directory: at both ends of a run without a crash.
const ENDS: [&str; 2] = [
    "before the program ran",
    "after the program had ended without a crash",
];

pub(crate) fn run(options: &Crash) -> Result<ExitCode, Failure> {
    let json = Named::output("--json", options.json.as_deref());
    outputs::check(json.into_iter().chain(Page::named(&options.html)))?;
    mark::reserve().map_err(cannot("open /dev/null"))?;
    if options.calibrate {
        return calibrate::run(options);
    }
    let named = named(options)?;
    let page = Page::open(&options.html)?;
    let destination = Destination::open(options.json.as_deref())?;
    let keep = options.keep.as_deref().map(keep::directory).transpose()?;
    block_options(options)?;
    let (guard, mut scratch) = scratch()?;
    let ground = match options.mode {
        CrashMode::Syscall => None,
        CrashMode::Block | CrashMode::Both => Some(Ground::prepare()?),
    };
    // Mounts are private before there are threads.
    let interrupt = signals::interrupt()?;
    if let Some(guard) = &guard {
        scratch.hurry(guard, &interrupt);
    }
    if let (Some(ground), CrashMode::Block) = (&ground, options.mode) {
        let check = command(options, named.as_ref(), |path| began_with(options, path))?;
        let place = (ground, scratch.path(), keep.as_deref());
        let runs = Runs::all(options, check.as_deref(), options.time, place, &interrupt)?;
        let explored = explore::of_runs(options, scratch.path(), runs)?;
        drop((scratch, guard));
        return deliver(
            destination,
            page,
            options.json.as_deref(),
            explored,
            options.accept_partial,
        );
    }
    let directory = scratch.path().to_owned();
    let full = |failure| place::full(failure, &directory, place::ANOTHER);
    let log = recorded(options, scratch.path(), &interrupt).map_err(full)?;
    if let Some(number) = options.state {
        let place = rebuilt(options, &log, number, keep.as_deref());
        drop((scratch, guard));
        return place;
    }
    if let Some(named) = &named {
        named.find_in(&locked(&log).history)?;
    }
    let check = command(options, named.as_ref(), |path| {
        locked(&log).history.began_with(path).map(There::from)
    })?;
    let checks = Checks::find(options, check.clone(), scratch.path(), &log).map_err(full)?;
    let judge = Judge::new(options, &checks, scratch.path(), &log).map_err(full)?;
    let settings = settings(options);
    let task = Task {
        options,
        budget: budget(&settings, options.partition, &log)?,
        settings,
        share: options.partition,
        recovering: None,
        log,
        scratch: scratch.path(),
        keep: keep.as_deref(),
        known: Vec::new(),
        formats: checks.formats,
    };
    let mut explored = explore::explore(&task, judge).map_err(full)?;
    if let Some(check) = check.as_deref().filter(|_| options.again) {
        again::join(&task, check, &mut explored).map_err(full)?;
    }
    if let Some(ground) = &ground
        && explored.result.interrupted_by.is_none()
        && explored.failed.is_none()
    {
        let place = (ground, scratch.path(), keep.as_deref());
        let left = |until: Instant| until.saturating_duration_since(Instant::now());
        let time = explored.until.map(left);
        let runs = Runs::all(options, check.as_deref(), time, place, &interrupt)?;
        explore::join(&mut explored, runs);
    }
    drop((scratch, guard));
    deliver(
        destination,
        page,
        options.json.as_deref(),
        explored,
        options.accept_partial,
    )
}

/// Prints and saves the result, and its page with the file `saved_to`; gives the exit code, 0 where what was not explored
/// is accepted.
fn deliver(
    destination: Option<Destination>,
    page: Option<Page>,
    saved_to: Option<&Path>,
    explored: Explored,
    accepts_partial: bool,
) -> Result<ExitCode, Failure> {
    let result = &explored.result;
    let is_page = page.as_ref().is_some_and(Page::is_standard_output);
    let delivered = super::deliver(destination, result, || {
        if is_page {
            return Ok(String::new());
        }
        let canvas = Canvas::Output;
        Ok(terminal::crash(result, canvas.width(), canvas.colour()))
    });
    if let Some(page) = page {
        page.save_one(Drawn::Crash(result), saved_to)?;
    }
    delivered?;
    if let Some(by) = explored.interrupted {
        return Err(Failure::Ended(by));
    }
    if let Some(failure) = explored.failed {
        return Err(failure);
    }
    Ok(ExitCode::from(match explored.result.verdict {
        Verdict::Clean => 0,
        Verdict::Partial if accepts_partial => 0,
        Verdict::Failing => 1,
        Verdict::Partial | Verdict::Incomplete => 3,
    }))
}

/// The checker with a name, if `--check` has one. Its program must be installed.
fn named(options: &Crash) -> Result<Option<Checker>, Failure> {
    let Some(check) = &options.check else {
        return Ok(None);
    };
    let named = Checker::of(OsStr::new(check))?;
    if let Some(named) = &named {
        named.find_program(options.dir.as_deref())?;
    }
    Ok(named)
}

/// What `/bin/sh` is given; `None` for the built-in checker. `began_with` says what was at a path before the program ran.
fn command(
    options: &Crash,
    named: Option<&Checker>,
    began_with: impl Fn(&Path) -> Option<There>,
) -> Result<Option<String>, Failure> {
    match named {
        Some(named) => {
            let arguments = named.arguments(named.was_there(began_with), Path::new(""))?;
            named::command(&arguments).map(Some)
        }
        None => Ok(options.checker().map(str::to_owned)),
    }
}

fn began_with(options: &Crash, path: &Path) -> Option<There> {
    let metadata = options.dir.as_deref()?.join(path).symlink_metadata();
    Some(if metadata.ok()?.is_dir() {
        There::Directory
    } else {
        There::Other
    })
}

/// What only one of the modes can do.
fn block_options(options: &Crash) -> Result<(), Failure> {
    const BLOCK: &str = "--mode block or both";
    const SYSCALL: &str = "--mode syscall";
    // clap drops a `requires` whose target something else excludes, as `--dir` does `--calibrate`.
    const CALIBRATE: &str = "--calibrate";
    let needed = match options.mode {
        CrashMode::Syscall => [CALIBRATE, BLOCK],
        CrashMode::Block | CrashMode::Both => [CALIBRATE, SYSCALL],
    };
    let given = [
        (!options.litmus.is_empty(), "--litmus", CALIBRATE),
        (options.repeats.is_some(), "--repeats", CALIBRATE),
        (!options.fs.is_empty(), "--fs", BLOCK),
        (options.pressure.is_some(), "--pressure", BLOCK),
        (options.delay.is_some(), "--delay", BLOCK),
        (options.images.is_some(), "--images", BLOCK),
        (options.from.is_some(), "--from", SYSCALL),
        (options.record.is_some(), "--record", SYSCALL),
        (options.backend.is_some(), "--backend", SYSCALL),
        (options.partition.is_some(), "--partition", SYSCALL),
        (options.state.is_some(), "--state", SYSCALL),
        (options.again, "--again", SYSCALL),
        (options.sector < BLOCK_BYTES, "--sector 512", SYSCALL),
    ];
    let is_wrong = |(is_given, _, needs): &(bool, _, &str)| *is_given && needed.contains(needs);
    if options.again && options.checker().is_none() {
        return Err(Failure::usage(
            "--again needs --check or --check-server: the built-in rules recover nothing",
        ));
    }
    match given.into_iter().find(is_wrong) {
        Some((_, option, needs)) => Err(Failure::Usage(format!("{option} needs {needs}"))),
        None => Ok(()),
    }
}

/// A directory for the copy and the checkers, and the process that removes it if this one is killed.
fn scratch() -> Result<(Option<Guard>, Scratch), Failure> {
    let directory = std::env::temp_dir();
    if !directory.is_dir() {
        return Err(Failure::Cannot(format!(
            "no directory for the copy and the states: TMPDIR is {}, which is none; {}",
            directory.display(),
            place::ANOTHER
        )));
    }
    // Without it the next run in the same directory removes what is left.
    let mut guard = Guard::start(&Launcher::this_program(GUARD), &directory).ok();
    let scratch = Scratch::create_guarded(&directory, 0, guard.as_mut())?;
    Ok((guard, scratch))
}

/// The log of a program that is run now, or was before.
fn recorded(options: &Crash, scratch: &Path, interrupt: &Interrupt) -> Result<SharedLog, Failure> {
    let recorded = match &options.from {
        Some(directory) => place::kept(directory)?,
        None => place::record(options, scratch, interrupt)?,
    };
    log_of(recorded, options, interrupt.clone())
}

fn log_of(recorded: Recorded, options: &Crash, interrupt: Interrupt) -> Result<SharedLog, Failure> {
    let ignored = &options.ignore;
    let original = recorded.original.as_deref();
    let mut log = Log::read(&recorded.log, recorded.stacks, ignored, original, interrupt)?;
    log.ended(recorded.exit_code);
    log.cut_by = recorded.ended_by.map(Interrupted::name);
    if let Some(printed) = &recorded.printed {
        log.keep_printed(printed)?;
    }
    if options.model.contains(&Model::Ext4Journal) {
        log.history.grow_by_pages();
    }
    if options.sector < BLOCK_BYTES {
        log.history.tear_at(options.sector);
    }
    if options.only == Some(Only::Damage) {
        log.history.no_reports();
    }
    Ok(Arc::new(Mutex::new(log)))
}

fn settings(options: &Crash) -> Settings {
    Settings {
        models: match options.mode {
            CrashMode::Block => Vec::new(),
            CrashMode::Syscall | CrashMode::Both => options.model.to_vec(),
        },
        runs: match options.mode {
            CrashMode::Syscall => Vec::new(),
            CrashMode::Block | CrashMode::Both => block::on(options).collect(),
        },
        states: options.states,
        seed: options.seed,
        every: options.every,
        after: options.after.clone(),
        sector_bytes: options.sector,
        time_s: options.time.map(|time| time.as_secs_f64()),
        check_timeout_s: options.check_timeout,
    }
}

/// Rebuilds one state, and says where.
fn rebuilt(
    options: &Crash,
    log: &SharedLog,
    number: u64,
    keep: Option<&Path>,
) -> Result<ExitCode, Failure> {
    let settings = settings(options);
    let budget = budget(&settings, None, log)?;
    let mut log = locked(log);
    let history = log.history.clone();
    let is_one = |own, _: &Looked<'_>| own == number;
    let found = keep::first(&history, &settings.models, budget, &log, is_one)?;
    let found = found.map_err(|all| {
        Failure::Usage(format!(
            "--state {number}: there are {all} states with these options; numbers are of the same \
             recording, --model, --states and --seed"
        ))
    })?;
    let name = format!("crash-state-{number}");
    let here = || std::env::current_dir().map_err(cannot("find this directory"));
    let place = match keep {
        Some(into) => into.join(number.to_string()),
        None => here()?.join(name),
    };
    keep::state(&mut log, &found.tree, found.told, &place)?;
    ui::print(&format!(
        "State {number}, which {} allows, is in {}: tree, and what had been printed.\n",
        found.model.as_str(),
        printable(&place.to_string_lossy())
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// The process between this one and the program that it records.
pub(crate) fn attended() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(2).collect();
    match attended_main(&arguments) {
        Ok(code) => u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from),
        Err(error) => Failure::Cannot(format!("cannot run the program: {error}")).report(),
    }
}

/// The process that starts checkers.
pub(crate) fn starter() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(2).collect();
    // The reader sees that it is gone.
    starter_main(&arguments).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

/// The process that looks at files of crashed trees.
pub(crate) fn check() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(2).collect();
    named::serve(&arguments).map_or_else(Failure::report, |()| ExitCode::SUCCESS)
}

/// The failure of an operation, in words that follow `cannot`.
fn cannot(what: impl Display) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::Cannot(format!("cannot {what}: {error}"))
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Interrupted(by) => by.into(),
            other => Self::Cannot(other.to_string()),
        }
    }
}
