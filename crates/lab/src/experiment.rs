//! An experiment, and the steps common to all: check the space, start a session.

use iostrata_core::lab;
use iostrata_core::observe::Observer;

use crate::engine::{Ledger, Progress, StoppingRule};
use crate::error::LabError;
use crate::scratch::ImageKind;
use crate::session::{Effort, RunSettings, Session};
use crate::target::{Target, check_room};

/// An experiment with its chosen cases.
pub trait Experiment {
    /// Said when there is nothing to measure.
    fn nothing(&self) -> &'static str;

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

    /// Those of them that are timed.
    fn timed_on(&self, target: &Target) -> usize {
        self.rows_on(target)
    }

    /// Bytes that must be free on each target.
    fn needed_bytes(&self) -> u64;

    /// Fails when this machine cannot run it, however much space a target has.
    fn check(&self) -> Result<(), LabError> {
        Ok(())
    }

    fn stopping(&self, usual: StoppingRule) -> StoppingRule {
        usual
    }

    /// Measures, with both passes over its items; what is finished is returned when an end is
    /// asked for. Its claims are judged afterwards.
    fn measure(&self, session: &mut Session<'_>) -> Result<lab::Experiment, LabError>;
}

/// Runs an experiment on `targets`.
///
/// `stop` is asked often; once it says yes, what is running is ended and the rows that were
/// timed are returned, with a method that says so. Nothing is written when a target has no room
/// or cannot be written to.
pub fn run(
    experiment: &dyn Experiment,
    run: &RunSettings,
    targets: &[Target],
    observer: Option<&mut dyn Observer>,
    progress: &mut dyn Progress,
    stop: &dyn Fn() -> bool,
) -> Result<lab::Experiment, LabError> {
    let rows = targets.iter().map(|target| experiment.rows_on(target));
    let rows: usize = rows.sum();
    if rows == 0 {
        return Err(LabError::usage(experiment.nothing()));
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
    let mut measured = experiment.measure(&mut session)?;
    measured.judge();
    Ok(measured)
}

/// Refuses a size of 0, of which `nothing` says what it means.
pub(crate) fn refuse_no_bytes(sizes_bytes: &[u64], nothing: &str) -> Result<(), LabError> {
    if !sizes_bytes.contains(&0) {
        return Ok(());
    }
    let why = format!("--size 0 {nothing}; give 1 byte or more");
    Err(LabError::Usage(why))
}

/// Refuses sizes that no file can have.
pub(crate) fn refuse_too_large(sizes_bytes: &[u64]) -> Result<(), LabError> {
    if sizes_bytes.iter().all(|size| i64::try_from(*size).is_ok()) {
        return Ok(());
    }
    let why = "a file cannot be as large as --size; give a smaller one";
    Err(LabError::usage(why))
}

/// The user's choice, or the default if there is none.
pub(crate) fn chosen_or<'a, T>(chosen: &'a [T], usual: &'a [T]) -> &'a [T] {
    if chosen.is_empty() { usual } else { chosen }
}

/// With a fifth more, for the file system's own structures.
pub(crate) fn with_structures(bytes: u64) -> u64 {
    bytes.saturating_add(bytes / 5)
}
