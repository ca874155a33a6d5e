//! One run of the program on a recorded file system, and what its recoveries come to.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use iostrata_core::crash::block::{On, block_findings};
use iostrata_core::crash::{
    BlockRow, Builtin, Finding, FormatRow, Hashes, History, ModeRow, Sandbox, States, files_between,
};
use iostrata_core::gap::{Gap, Missing};
use iostrata_core::record::Contents;
use iostrata_lab::crash::SharedLog;
use iostrata_lab::crash::block::{
    BlockError, Checking, ExploreBudget, Explored, Foundation, Recording, Recovered, Room, Setting,
    Site, explore, record,
};
use iostrata_lab::device::Server;
use iostrata_lab::engine::{Progress as _, Step};
use iostrata_lab::interrupt::Interrupted;

use super::super::checks::Checks;
use super::super::explore::{marked, refuses};
use super::super::look::{Hashed, checker, locked, rules};
use super::super::place::{self, Press};
use super::super::{self as crash, ENDS, cannot, keep};
use super::{budget, delay};
use crate::cli::Crash;
use crate::error::Failure;
use crate::progress::Bar;
use crate::ui;

pub(super) struct Run<'a> {
    pub(super) options: &'a Crash,
    /// For `/bin/sh`; `None` for the built-in checker.
    pub(super) check: Option<&'a str>,
    pub(super) site: Site<'a>,
    pub(super) on: On,
    pub(super) directory: PathBuf,
    /// Where a state of each finding is kept.
    pub(super) keep: Option<&'a Path>,
    /// Whether the program's output is passed on.
    pub(super) is_first: bool,
}

/// Where runs are recorded, by whom, and what they begin with.
pub(super) type With<'w> = (&'w Room<'w>, &'w Server, &'w Foundation);

/// A run that was recorded, and is to be explored.
pub(super) struct Made<'a> {
    run: Run<'a>,
    recording: Recording,
    log: SharedLog,
    look: Look,
    took: Duration,
    /// Who ended the program from the keyboard: what was recorded is explored, and nothing more is run.
    pub(super) ended_by: Option<Interrupted>,
}

pub(super) struct Ran {
    pub(super) row: ModeRow,
    pub(super) findings: Vec<Finding>,
    pub(super) kept_in: Option<Sandbox>,
    pub(super) interrupted: Option<Interrupted>,
    pub(super) explored_in: Duration,
}

/// What was explored, and who ended that before its end.
struct Came {
    explored: Explored,
    interrupted: Option<Interrupted>,
}

/// Recordings that take longer, or hold more, are explored at once: a user who ends the next one wants to see what there is,
/// and their bytes are in memory.
const SHORT: Duration = Duration::from_secs(10);
const SMALL_BYTES: u64 = 64 << 20;

impl Made<'_> {
    /// Whether it may wait for the next one.
    pub(super) fn is_short(&self) -> bool {
        let blocks = self.recording.epochs.iter().flat_map(|epoch| &epoch.blocks);
        let bytes: u64 = blocks.map(|block| block.bytes).sum();
        self.took < SHORT && bytes < SMALL_BYTES
    }

    /// Explores it for so long, or to the end.
    pub(super) fn explore(self, time: Option<Duration>) -> Result<Ran, Failure> {
        let on = self.run.on;
        let ran = self.explored(time);
        if let Err(Failure::Interrupted { by, .. }) = &ran {
            ui::say(&format!(
                "warning: {by} before anything was explored of the run on {}, pressure {}: the result lacks it",
                on.filesystem.as_str(),
                on.pressure.as_str()
            ));
        }
        ran
    }

    fn explored(self, time: Option<Duration>) -> Result<Ran, Failure> {
        let begun = Instant::now();
        let (run, recording, log) = (&self.run, &self.recording, &self.log);
        let (history, directory) = {
            let log = locked(log);
            (log.history.clone(), log.directory.clone())
        };
        let until = time.map(|time| begun + time);
        let came = run.explore(recording, log, &self.look, until);
        let mut came = came.map_err(|failure| match (failure, self.ended_by) {
            // Of a program that was ended, which could not come to it.
            (Failure::Usage(_), Some(by)) => by.into(),
            (failure, _) => failure,
        })?;
        if let Some(into) = run.keep
            // What was found is worth more than a copy of it.
            && let Err(Failure::Cannot(why)) = run.keep(into, recording, &mut came.explored, log)
        {
            ui::say(&format!("warning: not all states are kept: {why}"));
        }
        tell_files(&mut came.explored, &history, log)?;
        let failures = &came.explored.failures;
        let findings = block_findings(&history, failures, run.on, &directory);
        keep::stories(&findings);
        let explored_in = begun.elapsed();
        let seconds = (self.took + explored_in).as_secs_f64();
        Ok(Ran {
            explored_in,
            row: row((run, &self.look), recording, &came, log, seconds),
            findings,
            kept_in: self.look.kept_in,
            interrupted: came.interrupted.or(self.ended_by),
        })
    }
}

impl<'a> Run<'a> {
    /// Records it. An earlier one is explored meanwhile, for so long: when the program has ended, and nothing is measured
    /// any more.
    pub(super) fn make(
        self,
        with: With<'_>,
        earlier: Option<Made<'_>>,
        time: Option<Duration>,
    ) -> (Result<Made<'a>, Failure>, Option<Result<Ran, Failure>>) {
        let begun = Instant::now();
        let (recorded, took, earlier) = thread::scope(|scope| {
            let mut earlier = earlier;
            let mut exploring = None;
            let recorded = self.record(with, || {
                exploring = (earlier.take()).map(|made| scope.spawn(move || made.explore(time)));
            });
            let took = begun.elapsed();
            let explored = exploring.map(|thread| match thread.join() {
                Ok(ran) => ran,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            // The program may not have come to its end.
            let explored = explored.or_else(|| earlier.map(|made| made.explore(time)));
            (recorded, took, explored)
        });
        let made = recorded.and_then(|(recording, log, ended_by)| {
            let look = Look::start(&self, &log)?;
            Ok(Made {
                run: self,
                recording,
                log,
                look,
                took,
                ended_by,
            })
        });
        (made, earlier)
    }

    /// The program on the recorded device, and the log of its operations.
    /// `ended` is called when the program has ended, and what it did is waited for.
    fn record(
        &self,
        with: With<'_>,
        ended: impl FnOnce(),
    ) -> Result<(Recording, SharedLog, Option<Interrupted>), Failure> {
        fs::create_dir(&self.directory).map_err(cannot("make a directory"))?;
        let setting = Setting {
            pressure: self.on.pressure,
            delay: delay(self.options),
        };
        let (room, server, foundation) = with;
        let mut recorded = None;
        let recording = record(room, server, foundation, setting, |work, press| {
            let press = Press {
                file: press,
                shows: self.is_first,
                // It stops at its calls anyway, and its changes are on disk by then.
                has_stacks: press.is_some(),
            };
            let program = place::run(self.options, work, &self.directory, press, room.interrupt);
            recorded = Some(program?);
            ended();
            Ok::<(), Refused>(())
        });
        let recording = recording.map_err(|Refused(failure)| failure)?;
        let not_run = || Failure::Cannot("the program did not run".to_owned());
        let recorded = recorded.ok_or_else(not_run)?;
        let ended_by = recorded.ended_by;
        let log = crash::log_of(recorded, self.options, room.interrupt.clone())?;
        Ok((recording, log, ended_by))
    }

    fn explore(
        &self,
        recording: &Recording,
        log: &SharedLog,
        look: &Look,
        until: Option<Instant>,
    ) -> Result<Came, Failure> {
        let told_at = told_at(&locked(log).history);
        let after = self.options.after.as_ref();
        let budget = ExploreBudget {
            after_ns: after.map(|name| marked_ns(name, log)).transpose()?,
            until,
            beside: match (self.check, until) {
                (Some(_), Some(_)) => 2 * self.options.jobs(),
                _ => usize::MAX,
            },
            ..budget(self.options)
        };
        let bar = Mutex::new(Bar::counting("crash", "images"));
        let label = format!(
            "recovering {}, pressure {}",
            self.on.filesystem.as_str(),
            self.on.pressure.as_str()
        );
        let begun = Instant::now();
        let progress = |recovered: u64| {
            let each_s = recovered as f64 / begun.elapsed().as_secs_f64().max(0.001);
            let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
            bar.step(&Step {
                done: usize::try_from(recovered).unwrap_or(usize::MAX),
                total: 0,
                label: &format!("{label}: {each_s:.0} images/s"),
            });
        };
        let look_at = |recovered: Recovered<'_>, told| look.at(recovered, told);
        let (explored, ended) = explore(self.site, recording, budget, told_at, look_at, progress);
        let mut bar = bar.into_inner().unwrap_or_else(PoisonError::into_inner);
        bar.finished();
        let interrupted = match ended {
            Ok(()) => None,
            Err(Refused(Failure::Interrupted { by, .. })) if explored.states > 0 => Some(by),
            Err(Refused(failure)) => return Err(failure),
        };
        let refused = [&explored.refused_before, &explored.refused_after];
        for (message, when) in refused.into_iter().zip(ENDS) {
            if let Some(message) = message {
                return Err(refuses(self.options, message, when));
            }
        }
        Ok(Came {
            explored,
            interrupted,
        })
    }

    /// An example of each failure, with what had been printed.
    fn keep(
        &self,
        into: &Path,
        recording: &Recording,
        explored: &mut Explored,
        log: &SharedLog,
    ) -> Result<(), Failure> {
        let examples = explored.failures.iter_mut().zip(&explored.examples);
        for (number, (failure, image)) in examples.enumerate() {
            let (filesystem, pressure) = (self.on.filesystem.as_str(), self.on.pressure.as_str());
            let place = into.join(format!("{filesystem}-{pressure}-{}", number + 1));
            fs::create_dir(&place).map_err(cannot("make a directory"))?;
            let printed = locked(log).printed(failure.told)?;
            let written = fs::write(place.join("printed"), printed);
            written.map_err(cannot("write printed"))?;
            let kept = iostrata_lab::crash::block::keep(self.site, recording, image, &place)?;
            failure.proof = Some(kept.to_string_lossy().into_owned());
        }
        Ok(())
    }
}

/// Says of each failure what became of the files.
fn tell_files(explored: &mut Explored, history: &History, log: &SharedLog) -> Result<(), Failure> {
    let Some((before, after)) = &explored.ends else {
        return Ok(());
    };
    let mut ended = Ok(());
    let mut hashes = Hashes::new(|contents: &Contents| locked(log).digest(contents));
    for (failure, at) in explored.failures.iter_mut().zip(&explored.observed) {
        // What cannot be read is not missing.
        let Some(at) = at.as_ref().filter(|at| at.unreadable.is_none()) else {
            continue;
        };
        let (before, at, after) = (&before.files, &at.files, &after.files);
        failure.files = files_between(before, at, after, |path, bytes| {
            let mut versions = history.versions(path).into_iter();
            versions.any(|version| match hashes.of(&version) {
                Ok(digest) => digest == *bytes,
                Err(error) => {
                    ended = Err(error.into());
                    false
                }
            })
        });
    }
    ended
}

/// When the program had made the mark.
fn marked_ns(name: &str, log: &SharedLog) -> Result<u64, Failure> {
    let operation = marked(name, log)?;
    let log = locked(log);
    let mut steps = log.history.steps.iter();
    let step = steps.find(|step| step.operation == operation);
    Ok(step.map_or(0, |step| step.ended_ns))
}

/// Number of acknowledgements of a history at a time.
fn told_at(history: &History) -> impl Fn(u64) -> usize + use<> {
    let printed = history.steps.iter().filter(|step| step.printed.is_some());
    let mut ends: Vec<u64> = printed.map(|step| step.ended_ns).collect();
    ends.sort_unstable();
    move |now_ns| ends.partition_point(|end| *end <= now_ns)
}

fn row(
    (run, look): (&Run<'_>, &Look),
    recording: &Recording,
    came: &Came,
    log: &SharedLog,
    seconds: f64,
) -> ModeRow {
    let explored = &came.explored;
    let log = locked(log);
    let mut incomplete_because = log.incomplete_because.clone();
    if let Some(cut) = recording.cut {
        incomplete_because.push(Gap::new(Missing::DeviceLog, cut.reason()));
    }
    ModeRow {
        mode: "block".to_owned(),
        model: None,
        filesystem: Some(run.on.filesystem),
        recording: Some(BlockRow {
            pressure: run.on.pressure,
            delay_s: recording.setting.delay.as_secs_f64(),
            mount_options: recording.mount_options.clone(),
            stands_in: recording.stands_in.map(str::to_owned),
            images: explored.images,
            epochs: explored.epochs,
            journal_epochs: explored.journal_epochs,
            quiet_epochs: explored.quiet_epochs,
            sampled_epochs: explored.sampled_epochs,
            skipped_epochs: explored.skipped_epochs,
        }),
        exit_code: log.exit_code(),
        operations: log.operations,
        changes: log.history.changes(),
        states: States {
            time_over: explored.time_over,
            explored: explored.states,
            distinct: explored.distinct,
            failing: explored.failing,
            points: explored.points - explored.skipped_epochs,
            sampled_points: explored.sampled_epochs,
            points_not_explored: explored.skipped_epochs,
            limit_reached: explored.limit_reached,
        },
        complete: incomplete_because.is_empty(),
        incomplete_because,
        rebuilt: log.history.rebuilt(),
        formats: look.formats.clone(),
        seconds,
    }
}

/// Says of each recovered tree what is broken in it.
struct Look {
    rules: Option<Mutex<Builtin<Hashed>>>,
    command: Option<Checking>,
    log: SharedLog,
    on: On,
    kept_in: Option<Sandbox>,
    /// Files that the built-in rules do not know.
    formats: Vec<FormatRow>,
}

impl Look {
    /// Started while nothing is mounted, neither of this run nor of another one: the checkers' own mounts would keep it.
    fn start(run: &Run<'_>, log: &SharedLog) -> Result<Self, Failure> {
        let command = run.check.map(str::to_owned);
        let checks = Checks::find(run.options, command, &run.directory, log)?;
        let mut kept_in = None;
        let mut start = |command: &String| {
            let (checker, sandbox) = checker(run.options, &checks, command, &run.directory)?;
            kept_in = Some(sandbox);
            let limits = (locked(log).tree_bytes(), run.site.interrupt);
            let checking = Checking::start(run.options.jobs(), &checker, &run.directory, limits);
            Ok::<_, Failure>(checking?)
        };
        Ok(Self {
            rules: rules(&checks, log)?.map(Mutex::new),
            command: checks.command.as_ref().map(&mut start).transpose()?,
            log: SharedLog::clone(log),
            on: run.on,
            kept_in,
            formats: checks.formats,
        })
    }

    fn at(&self, recovered: Recovered<'_>, told: usize) -> Result<Option<String>, Refused> {
        if let Some(rules) = &self.rules {
            let rules = rules.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(broken) = rules.check_files(&recovered.observed.files, told) {
                return Ok(Some(broken));
            }
        }
        let Some(checking) = &self.command else {
            return Ok(None);
        };
        let printed = locked(&self.log).printed(told)?;
        let said = checking.check(recovered.work, printed);
        said.map_err(|error| match error {
            BlockError::Unreliable(why) => {
                let filesystem = self.on.filesystem.as_str();
                let why =
                    format!("a state that {filesystem} recovered, after {told} reports: {why}");
                Refused(Failure::Cannot(why))
            }
            other => other.into(),
        })
    }
}

/// A failure of this command that goes through what the lab does.
struct Refused(Failure);

impl<E: Into<Failure>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}
