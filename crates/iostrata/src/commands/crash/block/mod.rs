//! Block mode: the program runs on real file systems, and what they recover is looked at.

use std::path::Path;
use std::time::Duration;

use iostrata_core::crash::block::{On, Pressure, SubsetBudget, join};
use iostrata_core::crash::{Finding, ModeRow, Model, Sandbox};
use iostrata_lab::crash::block::{BlockError, ExploreBudget, Foundation, Room};
use iostrata_lab::device::Server;
use iostrata_lab::engine::Launcher;
use iostrata_lab::interrupt::{Interrupt, Interrupted};
use iostrata_lab::scratch::{ImageKind, isolate};
use iostrata_tracer::kernel::PrivateMounts;

use super::{cannot, place};
use crate::DEVICE;
use crate::cli::{Crash, CrashMode};
use crate::error::Failure;

mod run;

use run::{Ran, Run, With};

/// Images of one run at most, unless told otherwise.
const IMAGES: u64 = 600;

/// Time that a request takes, unless told otherwise, milliseconds: a busy machine commits within it. Data that is on its
/// way when the metadata is committed is what many programs lose.
const DELAY_MS: f64 = 2.0;

/// Subsets of one epoch where it has many blocks.
const SUBSETS: usize = 40;

pub(super) fn budget(options: &Crash) -> ExploreBudget {
    ExploreBudget {
        images: options.images.unwrap_or(IMAGES),
        subsets: SubsetBudget {
            sampled: SUBSETS,
            seed: options.seed,
            ..SubsetBudget::default()
        },
        every: options.every,
        after_ns: None,
        until: None,
        beside: usize::MAX,
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
            return Err(Failure::cannot(
                "block mode needs root: it mounts file systems and attaches loop devices; run iostrata as root, \
                 or use --mode syscall",
            ));
        }
        let server = Server::start(&Launcher::this_program(DEVICE));
        Ok(Self {
            server: server.map_err(cannot("start the process that serves devices"))?,
            mounts: isolate()?,
        })
    }
}

/// On which file systems the program runs, and under whose pressure.
pub(super) fn on(options: &Crash) -> impl Iterator<Item = On> {
    let pressures = options.pressure.unwrap_or(&Pressure::ALL);
    options
        .filesystems()
        .into_iter()
        .flat_map(move |filesystem| {
            Pressure::on(pressures, filesystem).map(move |pressure| On {
                filesystem,
                pressure,
            })
        })
}

#[derive(Default)]
pub(super) struct Runs {
    pub(super) modes: Vec<ModeRow>,
    pub(super) findings: Vec<Finding>,
    pub(super) kept_in: Option<Sandbox>,
    pub(super) interrupted: Option<Interrupted>,
    /// Time for the exploration of all that are not there yet.
    time_left: Option<Duration>,
    left: u32,
}

impl Runs {
    /// Runs the program on each file system under each pressure. `time` is for the exploration alone.
    pub(super) fn all(
        options: &Crash,
        check: Option<&str>,
        time: Option<Duration>,
        (ground, scratch, keep): (&Ground, &Path, Option<&Path>),
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        if let Some(dir) = &options.dir {
            place::is_directory(dir)?;
        }
        let mut runs = Self {
            time_left: time,
            left: on(options).fold(0, |count, _| count + 1),
            ..Self::default()
        };
        let room = Room {
            directory: scratch,
            mounts: &ground.mounts,
            interrupt,
        };
        let shows = options.mode == CrashMode::Block;
        for (turn, filesystem) in options.filesystems().iter().enumerate() {
            let foundation =
                Foundation::make(&room, kind(*filesystem), options.dir.as_deref(), |work| {
                    prepare(options, work, interrupt)
                });
            let foundation = match foundation {
                Ok(foundation) => foundation,
                Err(BlockError::Interrupted(by)) => return runs.ended(options, by),
                Err(error) => return Err(error.into()),
            };
            let of = |(number, on): (usize, On)| {
                let name = format!("{}-{}", filesystem.as_str(), on.pressure.as_str());
                Run {
                    options,
                    check,
                    site: room.site(),
                    on,
                    directory: scratch.join(name),
                    keep,
                    is_first: (turn, number) == (0, 0) && shows,
                }
            };
            let with = (&room, &ground.server, &foundation);
            let on = on(options).filter(|on| on.filesystem == *filesystem);
            match runs.on(on.enumerate().map(of), with) {
                Ok(()) if runs.interrupted.is_none() => {}
                Ok(()) => return Ok(runs),
                Err(Failure::Interrupted { by, .. }) => return runs.ended(options, by),
                Err(error) => return Err(error),
            }
        }
        Ok(runs)
    }

    /// What there is when a signal has ended the rest; models may have been explored before.
    fn ended(mut self, options: &Crash, by: Interrupted) -> Result<Self, Failure> {
        if self.modes.is_empty() && options.mode == CrashMode::Block {
            return Err(by.into());
        }
        self.interrupted = Some(by);
        Ok(self)
    }

    /// The runs on one file system, in this order. What a short one has left is explored while the next one waits for a
    /// timer.
    fn on<'a>(
        &mut self,
        all: impl Iterator<Item = Run<'a>>,
        with: With<'_>,
    ) -> Result<(), Failure> {
        let mut all = all.peekable();
        let mut waiting = None;
        while let Some(run) = all.next() {
            let (made, earlier) = run.make(with, waiting.take(), self.part());
            if let Some(earlier) = earlier {
                self.add(earlier?);
            }
            let made = made?;
            let next_waits = |next: &Run<'_>| next.on.pressure == Pressure::Timer;
            let is_last = self.interrupted.is_some() || made.ended_by.is_some();
            if all.peek().is_some_and(next_waits) && made.is_short() && !is_last {
                waiting = Some(made);
                continue;
            }
            self.add(made.explore(self.part())?);
            if self.interrupted.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Time for the next one.
    fn part(&self) -> Option<Duration> {
        self.time_left.map(|time| time / self.left.max(1))
    }

    fn add(&mut self, ran: Ran) {
        self.time_left = self
            .time_left
            .map(|time| time.saturating_sub(ran.explored_in));
        self.left -= 1;
        self.kept_in = ran.kept_in;
        self.interrupted = self.interrupted.or(ran.interrupted);
        join(&mut self.findings, ran.findings);
        self.modes.push(ran.row);
    }
}

impl From<BlockError> for Failure {
    fn from(error: BlockError) -> Self {
        match error {
            BlockError::Interrupted(by) => by.into(),
            other => Self::Cannot(other.to_string()),
        }
    }
}

pub(super) fn kind(filesystem: Model) -> ImageKind {
    match filesystem {
        Model::Xfs => ImageKind::Xfs,
        Model::Btrfs => ImageKind::Btrfs,
        Model::Ext4Journal => ImageKind::Ext4DataJournal,
        Model::Ext4 | Model::Posix => ImageKind::Ext4,
    }
}

fn prepare(options: &Crash, work: &Path, interrupt: &Interrupt) -> Result<(), BlockError> {
    let Some(init) = &options.init else {
        return Ok(());
    };
    let status = place::initialised(init, work, interrupt);
    let status = status.map_err(BlockError::io("run --init"))??;
    if status.success() {
        return Ok(());
    }
    let ended = std::io::Error::other(format!("it ended with {status}"));
    Err(BlockError::io("prepare the copy with --init")(ended))
}
