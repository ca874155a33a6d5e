//! An experiment, and the steps common to all: check the space, estimate the duration, start a
//! session.

use iostrata_core::lab;
use iostrata_core::observe::Observer;

use crate::engine::{Ledger, Progress, StoppingRule};
use crate::error::LabError;
use crate::pace::{Expected, Pace};
use crate::scratch::ImageKind;
use crate::session::{Effort, RunSettings, Session};
use crate::target::{Target, check_room};

/// An experiment with its chosen cases.
pub trait Experiment {
    /// Its result.
    type Report;

    /// Makes its result a variant of the common type.
    const AMONG: fn(Self::Report) -> lab::Experiment;

    /// Error message when there is nothing to measure.
    const NOTHING: &'static str;

    /// The images that a run as root creates for it by default.
    fn usual_images(&self, effort: Effort) -> &'static [ImageKind] {
        match effort {
            Effort::Quick => &[ImageKind::Ext4],
            Effort::Normal | Effort::Thorough => {
                &[ImageKind::Ext4, ImageKind::Xfs, ImageKind::Btrfs]
            }
        }
    }

    /// Whether it also runs on a tmpfs by default.
    fn usual_tmpfs(&self) -> bool {
        false
    }

    /// Maximum number of rows on a target.
    fn rows_on(&self, target: &Target) -> usize;

    /// Bytes that must be free on each target.
    fn needed_bytes(&self) -> u64;

    /// Fails when this machine cannot run it, however much space a target has.
    fn check(&self) -> Result<(), LabError> {
        Ok(())
    }

    /// The stopping rule of its cases.
    fn stopping(&self, usual: StoppingRule) -> StoppingRule {
        usual
    }

    /// Its duration on a target.
    fn expected(&self, stopping: &StoppingRule, place: &Place<'_>) -> Expected;

    /// Measures, with both passes over its items; after an interruption it returns the finished
    /// part.
    fn measure(&self, session: &mut Session<'_>) -> Result<Self::Report, LabError>;
}

/// A target, and its speed.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// Target.
    pub target: &'a Target,
    /// Its pace.
    pub pace: Pace,
    /// Whether it is the first: some work is done only there.
    pub is_first: bool,
}

/// Runs an experiment on `targets`.
///
/// `stop` is called often; once it returns true, the current work is ended and the timed rows are
/// returned, with a method that says so. Nothing is written when a target has no room or cannot be
/// written to.
pub fn run<E: Experiment>(
    experiment: &E,
    run: &RunSettings,
    targets: &[Target],
    observer: Option<&mut dyn Observer>,
    progress: &mut dyn Progress,
    stop: &dyn Fn() -> bool,
) -> Result<E::Report, LabError> {
    let rows = targets.iter().map(|target| experiment.rows_on(target));
    let rows: usize = rows.sum();
    if rows == 0 {
        return Err(LabError::usage(E::NOTHING));
    }
    check_room(targets, experiment.needed_bytes())?;
    experiment.check()?;
    let run = RunSettings {
        stopping: experiment.stopping(run.stopping),
        ..run.clone()
    };
    let mut session = Session {
        ledger: Ledger::new(progress, rows * (2 + run.stopping.max_runs)),
        run,
        targets,
        observer: observer.map(|observer| observer as &mut dyn Observer),
        stop,
        interrupted: false,
        missing: Vec::new(),
        warm_up_runs: 0,
    };
    experiment.measure(&mut session)
}

/// An experiment of any kind.
pub trait AnyExperiment {
    /// As [`Experiment::usual_images`].
    fn usual_images(&self, effort: Effort) -> &'static [ImageKind];

    /// As [`Experiment::usual_tmpfs`].
    fn usual_tmpfs(&self) -> bool;

    /// As [`Experiment::needed_bytes`].
    fn needed_bytes(&self) -> u64;

    /// Its duration on all targets.
    fn expected(&self, run: &RunSettings, targets: &[(&Target, Pace)]) -> Expected;

    /// As [`run`].
    fn run(
        &self,
        run: &RunSettings,
        targets: &[Target],
        observer: Option<&mut dyn Observer>,
        progress: &mut dyn Progress,
        stop: &dyn Fn() -> bool,
    ) -> Result<lab::Experiment, LabError>;
}

impl<E: Experiment> AnyExperiment for E {
    fn usual_images(&self, effort: Effort) -> &'static [ImageKind] {
        Experiment::usual_images(self, effort)
    }

    fn usual_tmpfs(&self) -> bool {
        Experiment::usual_tmpfs(self)
    }

    fn needed_bytes(&self) -> u64 {
        Experiment::needed_bytes(self)
    }

    fn expected(&self, run: &RunSettings, targets: &[(&Target, Pace)]) -> Expected {
        let stopping = self.stopping(run.stopping);
        let places = targets.iter().enumerate();
        let places = places.map(|(index, &(target, pace))| Place {
            target,
            pace,
            is_first: index == 0,
        });
        places
            .map(|place| Experiment::expected(self, &stopping, &place))
            .sum()
    }

    fn run(
        &self,
        settings: &RunSettings,
        targets: &[Target],
        observer: Option<&mut dyn Observer>,
        progress: &mut dyn Progress,
        stop: &dyn Fn() -> bool,
    ) -> Result<lab::Experiment, LabError> {
        run(self, settings, targets, observer, progress, stop).map(E::AMONG)
    }
}

/// The user's choice, or the default if there is none.
pub(crate) fn chosen_or<'a, T>(chosen: &'a [T], usual: &'a [T]) -> &'a [T] {
    if chosen.is_empty() { usual } else { chosen }
}

/// Each once, in the order of first occurrence.
pub(crate) fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for one in all {
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    seen
}

/// With a fifth more, for the file system's own structures.
pub(crate) fn with_structures(bytes: u64) -> u64 {
    bytes.saturating_add(bytes / 5)
}
