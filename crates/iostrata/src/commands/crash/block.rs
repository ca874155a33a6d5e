//! Block mode: the program runs on real file systems, and what they recover is looked at.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use iostrata_core::crash::block::{On, SubsetBudget, block_findings};
use iostrata_core::crash::{BlockRow, Builtin, Finding, History, ModeRow, Model, States};
use iostrata_core::op::Gap;
use iostrata_lab::crash::block::{
    BlockError, Checking, ExploreBudget, Explored, Foundation, Recording, Recovered, Room, Setting,
    explore, record,
};
use iostrata_lab::crash::{Checker, Log, SharedLog, sandbox};
use iostrata_lab::device::Server;
use iostrata_lab::engine::{Launcher, Progress as _, Step};
use iostrata_lab::interrupt::{Interrupt, Interrupted};
use iostrata_lab::scratch::{ImageKind, isolate};
use iostrata_tracer::kernel::PrivateMounts;

use super::keep;
use super::look::{Hashed, locked};
use super::place::{self, Press};
use super::{cannot, failure};
use crate::DEVICE;
use crate::cli::{Crash, PressureName, RealName};
use crate::error::Failure;
use crate::progress::Bar;
use crate::ui;

/// Images of one run at most, unless told otherwise.
const IMAGES: u64 = 600;

/// Time that a request takes, unless told otherwise, milliseconds: a busy machine commits within it. Data that is on its
/// way when the metadata is committed is what many programs lose.
const DELAY_MS: f64 = 2.0;

/// Subsets of one epoch where it has many blocks.
const SUBSETS: usize = 40;

/// How much is tried of each run.
pub(super) fn budget(options: &Crash) -> ExploreBudget {
    ExploreBudget {
        images: options.images.unwrap_or(IMAGES),
        subsets: SubsetBudget {
            sampled: SUBSETS,
            seed: options.seed,
            ..SubsetBudget::default()
        },
    }
}

/// Time that a request takes.
pub(super) fn delay(options: &Crash) -> Duration {
    Duration::from_secs_f64(options.delay.unwrap_or(DELAY_MS) / 1_000.0)
}

/// What block mode needs from before the first thread is started.
pub(super) struct Ground {
    pub(super) server: Server,
    pub(super) mounts: PrivateMounts,
}

impl Ground {
    pub(super) fn prepare() -> Result<Self, Failure> {
        if !rustix::process::geteuid().is_root() {
            return Err(Failure::Cannot(
                "block mode needs root: it mounts file systems and attaches loop devices; run iostrata as root, \
                 or use --mode syscall"
                    .to_owned(),
            ));
        }
        let server = Server::start(&Launcher::this_program(DEVICE));
        Ok(Self {
            server: server
                .map_err(|error| cannot("start the process that serves devices", &error))?,
            mounts: isolate()?,
        })
    }
}

/// What came of all runs.
#[derive(Default)]
pub(super) struct Runs {
    pub(super) modes: Vec<ModeRow>,
    pub(super) findings: Vec<Finding>,
    pub(super) kept_in: Option<&'static str>,
    pub(super) interrupted: Option<Interrupted>,
}

/// What came of a recording, and who ended that before its end.
struct Came {
    explored: Explored,
    kept_in: Option<&'static str>,
    interrupted: Option<Interrupted>,
}

/// One run, to be made.
struct Run<'a> {
    options: &'a Crash,
    /// For `/bin/sh`; `None` for the built-in checker.
    check: Option<&'a str>,
    ground: &'a Ground,
    room: &'a Room<'a>,
    on: On,
    directory: PathBuf,
    /// Where a state of each finding is kept.
    keep: Option<&'a Path>,
    /// Whether the program's output is passed on.
    is_first: bool,
}

impl Runs {
    /// Runs the program on each file system under each pressure.
    pub(super) fn all(
        options: &Crash,
        check: Option<&str>,
        (ground, scratch, keep): (&Ground, &Path, Option<&Path>),
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        if let Some(dir) = &options.dir {
            place::is_directory(dir)?;
        }
        let mut runs = Self::default();
        let filesystems = options.fs.unwrap_or(RealName::All).filesystems();
        let pressures = options.pressure.unwrap_or(PressureName::All).pressures();
        let room = Room {
            directory: scratch,
            mounts: &ground.mounts,
            interrupt,
        };
        for filesystem in filesystems {
            let foundation =
                Foundation::make(&room, kind(*filesystem), options.dir.as_deref(), |work| {
                    prepare(options, work)
                });
            let foundation = foundation.map_err(block_failure)?;
            for pressure in pressures {
                let name = format!("{}-{}", filesystem.as_str(), pressure.as_str());
                let run = Run {
                    options,
                    check,
                    ground,
                    room: &room,
                    on: On {
                        filesystem: *filesystem,
                        pressure: *pressure,
                    },
                    directory: scratch.join(name),
                    keep,
                    is_first: runs.modes.is_empty() && options.mode == crate::cli::CrashMode::Block,
                };
                match runs.add(&run, &foundation) {
                    Ok(()) if runs.interrupted.is_none() => {}
                    Ok(()) => return Ok(runs),
                    Err(Failure::Interrupted { by, .. }) if !runs.modes.is_empty() => {
                        runs.interrupted = Some(by);
                        return Ok(runs);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(runs)
    }

    fn add(&mut self, run: &Run<'_>, foundation: &Foundation) -> Result<(), Failure> {
        let begun = Instant::now();
        let (recording, log) = run.record(foundation)?;
        let (history, directory) = {
            let log = locked(&log);
            (log.history.clone(), log.directory.clone())
        };
        let mut came = run.explore(&recording, &log)?;
        self.kept_in = came.kept_in;
        self.interrupted = came.interrupted;
        if let Some(into) = run.keep
            // What was found is worth more than a copy of it.
            && let Err(Failure::Cannot(why)) = run.keep(into, &recording, &mut came.explored, &log)
        {
            ui::say(&format!("warning: not all states are kept: {why}"));
        }
        let failures = &came.explored.failures;
        let findings = block_findings(&history, failures, run.on, &directory);
        keep::stories(&findings);
        iostrata_core::crash::block::join(&mut self.findings, findings);
        let seconds = begun.elapsed().as_secs_f64();
        self.modes.push(row(run, &recording, &came, &log, seconds));
        Ok(())
    }
}

impl Run<'_> {
    /// The program on the recorded device, and the log of its operations.
    fn record(&self, foundation: &Foundation) -> Result<(Recording, SharedLog), Failure> {
        fs::create_dir(&self.directory).map_err(|error| cannot("make a directory", &error))?;
        let setting = Setting {
            pressure: self.on.pressure,
            delay: delay(self.options),
        };
        let mut recorded = None;
        let (room, server) = (self.room, &self.ground.server);
        let recording = record(room, server, foundation, setting, |work, press| {
            let press = Press {
                file: press,
                shows: self.is_first,
                has_stacks: false,
            };
            let program = place::run(self.options, work, &self.directory, press, room.interrupt);
            recorded = Some(program.map_err(Refused)?);
            Ok::<(), Refused>(())
        });
        let recording = recording.map_err(|Refused(failure)| failure)?;
        let not_run = || Failure::Cannot("the program did not run".to_owned());
        let recorded = recorded.ok_or_else(not_run)?;
        let mut log =
            Log::read(&recorded.log, recorded.stacks, room.interrupt.clone()).map_err(failure)?;
        log.ended(recorded.exit_code);
        if let Some(printed) = &recorded.printed {
            log.keep_printed(printed).map_err(failure)?;
        }
        Ok((recording, Arc::new(Mutex::new(log))))
    }

    fn explore(&self, recording: &Recording, log: &SharedLog) -> Result<Came, Failure> {
        let (told_at, bytes) = {
            let log = locked(log);
            (told_at(&log.history), log.tree_bytes())
        };
        let look = self.look(log, bytes)?;
        let kept_in = look.kept_in;
        let budget = budget(self.options);
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
        let (explored, ended) = explore(self.room, recording, budget, told_at, look_at, progress);
        let mut bar = bar.into_inner().unwrap_or_else(PoisonError::into_inner);
        bar.finished();
        let interrupted = match ended {
            Ok(()) => None,
            Err(Refused(Failure::Interrupted { by, .. })) if explored.states > 0 => Some(by),
            Err(Refused(failure)) => return Err(failure),
        };
        let refused = [
            (&explored.refused_before, "before the program runs"),
            (
                &explored.refused_after,
                "after the program has ended without a crash",
            ),
        ];
        for (message, when) in refused {
            if let Some(message) = message {
                return Err(Failure::Usage(super::explore::refuses(message, when)));
            }
        }
        Ok(Came {
            explored,
            kept_in,
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
            fs::create_dir(&place).map_err(|error| cannot("make a directory", &error))?;
            let printed = locked(log).printed(failure.told).map_err(super::failure)?;
            let written = fs::write(place.join("printed"), printed);
            written.map_err(|error| cannot("write printed", &error))?;
            let kept = iostrata_lab::crash::block::keep(self.room, recording, image, &place);
            let kept = kept.map_err(block_failure)?;
            failure.proof = Some(kept.to_string_lossy().into_owned());
        }
        Ok(())
    }

    fn look(&self, log: &SharedLog, bytes: u64) -> Result<Look, Failure> {
        let Some(command) = self.check else {
            let history = locked(log).history.clone();
            let hashes = SharedLog::clone(log);
            let hashed: Hashed = Box::new(move |contents| locked(&hashes).digest(contents));
            return Ok(Look {
                by: By::Builtin(Box::new(Mutex::new(
                    Builtin::new(&history, hashed).map_err(failure)?,
                ))),
                log: SharedLog::clone(log),
                kept_in: None,
            });
        };
        let sandbox = sandbox(&self.directory);
        let sandbox = sandbox.map_err(|error| cannot("make a directory", &error))?;
        let checker = Checker {
            command: command.to_owned(),
            patience: Duration::from_secs_f64(self.options.check_timeout),
            sandbox,
        };
        let limits = (bytes, self.room.interrupt);
        let checking = Checking::start(self.options.jobs(), &checker, &self.directory, limits);
        Ok(Look {
            by: By::Command(checking.map_err(block_failure)?),
            log: SharedLog::clone(log),
            kept_in: Some(sandbox.as_str()),
        })
    }
}

/// Who looks at a recovered tree.
enum By {
    Command(Checking),
    Builtin(Box<Mutex<Builtin<Hashed>>>),
}

struct Look {
    by: By,
    log: SharedLog,
    kept_in: Option<&'static str>,
}

impl Look {
    fn at(&self, recovered: Recovered<'_>, told: usize) -> Result<Option<String>, Refused> {
        match &self.by {
            By::Builtin(builtin) => {
                let builtin = builtin.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(builtin.check_files(&recovered.observed.files, told))
            }
            By::Command(checking) => {
                let printed = locked(&self.log).printed(told).map_err(failure);
                let said = checking.check(recovered.work, printed.map_err(Refused)?);
                Ok(said?)
            }
        }
    }
}

/// A failure of this command that goes through what the lab does.
struct Refused(Failure);

impl From<BlockError> for Refused {
    fn from(error: BlockError) -> Self {
        Self(block_failure(error))
    }
}

pub(super) fn block_failure(error: BlockError) -> Failure {
    match error {
        BlockError::Interrupted(by) => Failure::Interrupted { by, rows: 0 },
        other => Failure::Cannot(other.to_string()),
    }
}

pub(super) fn kind(filesystem: Model) -> ImageKind {
    match filesystem {
        Model::Xfs => ImageKind::Xfs,
        Model::Btrfs => ImageKind::Btrfs,
        Model::Ext4 | Model::Posix => ImageKind::Ext4,
    }
}

fn prepare(options: &Crash, work: &Path) -> Result<(), BlockError> {
    let Some(init) = &options.init else {
        return Ok(());
    };
    let status = Command::new("/bin/sh")
        .args(["-c", init])
        .current_dir(work)
        .status();
    let status = status.map_err(BlockError::io("run --init"))?;
    if status.success() {
        return Ok(());
    }
    let ended = std::io::Error::other(format!("it ended with {status}"));
    Err(BlockError::io("prepare the copy with --init")(ended))
}

/// How many steps of a history had told somebody something at a time.
fn told_at(history: &History) -> impl Fn(u64) -> usize + use<> {
    let printed = history.steps.iter().filter(|step| step.printed.is_some());
    let mut ends: Vec<u64> = printed.map(|step| step.ended_ns).collect();
    ends.sort_unstable();
    move |now_ns| ends.partition_point(|end| *end <= now_ns)
}

fn row(
    run: &Run<'_>,
    recording: &Recording,
    came: &Came,
    log: &SharedLog,
    seconds: f64,
) -> ModeRow {
    let explored = &came.explored;
    let log = locked(log);
    let mut incomplete_because = log.incomplete_because.clone();
    if let Some(cut) = recording.cut {
        incomplete_because.push(Gap::new("requests of the device", cut.as_str()));
    }
    if came.interrupted.is_some() {
        incomplete_because.push(Gap::new("states", "the exploration was ended"));
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
        states: States {
            explored: explored.states,
            distinct: explored.distinct,
            failing: explored.failing,
            points: explored.epochs,
            sampled_points: explored.sampled_epochs,
            points_not_explored: explored.skipped_epochs,
            limit_reached: explored.skipped_epochs > 0,
        },
        complete: incomplete_because.is_empty(),
        incomplete_because,
        seconds,
    }
}
