//! The experiment from end to end.

use iostrata_core::Gap;
use iostrata_core::atime::{self, AtimeResult, Method, Mount, Operation};
use iostrata_core::observe::Observer;

use super::loops::{Item, left_out, loops};
use super::matrix::{Matrix, matrix, options};
use super::settings::{Chosen, check};
use super::{aged, caveats};
use crate::engine::{Ledger, Progress};
use crate::error::LabError;
use crate::session::{RunSettings, Session, unless_failed};
use crate::target::Target;

/// Runs `lab atime` on `targets`.
///
/// File systems that iostrata made are mounted anew with each option; others are
/// measured with the option they have. `stop` is asked often; once it says yes, what is
/// running is ended and the rows that are finished are returned, with
/// [`Method::interrupted`] set. Nothing is written when a target has no room or cannot
/// be written to.
pub fn run(
    chosen: &Chosen,
    run: &RunSettings,
    targets: &[Target],
    observer: Option<&mut dyn Observer>,
    progress: &mut dyn Progress,
    stop: &dyn Fn() -> bool,
) -> Result<AtimeResult, LabError> {
    check(chosen, targets)?;
    // A run of a loop takes hundredths of a second: there can be more than of others.
    let run = RunSettings {
        stopping: chosen.stopping,
        ..run.clone()
    };
    let (timed, not_timed) = left_out(chosen, targets);
    let mut items: Vec<Item<'_>> = Vec::new();
    let mut missing = Vec::new();
    let mut planned_rows = 0;
    for (index, target) in targets.iter().enumerate() {
        let mounts = options(chosen, target)?;
        planned_rows += mounts.len() * chosen.operations.len();
        missing.extend(other_options(chosen, target, &mounts));
        if timed.contains(&index) {
            items.extend(Item::of(chosen, target)?);
        }
    }
    planned_rows += items.len();
    if planned_rows == 0 {
        return Err(nothing_left(chosen, targets));
    }
    missing.extend(not_timed);
    let mut session = Session {
        run: &run,
        observer: observer.map(|observer| observer as &mut dyn Observer),
        ledger: Ledger::new(progress, steps(chosen, targets.len(), items.len())),
        stop,
    };
    missing.splice(0..0, session.gaps());
    let mut interrupted = false;
    let mut filled = matrix(&mut session, chosen, targets, &mut interrupted)?;
    if rule_of_a_day(chosen, targets) {
        session.ledger.step("relatime's rule of a day");
        unless_failed(&mut session, &mut interrupted, |session| {
            tried(session, &mut filled)
        })?;
    }
    let (looped, warm_up_runs) = loops(&mut session, &items, &mut interrupted)?;
    missing.extend(filled.missing);
    let mut rows = filled.rows;
    rows.extend(looped);
    let mut result = AtimeResult {
        question: atime::QUESTION.to_owned(),
        targets: targets.iter().map(Target::measured).collect(),
        caveats: caveats::caveats(targets, run.virtualization.as_deref(), &rows),
        rows,
        relatime: filled.relatime,
        comparisons: Vec::new(),
        answers: Vec::new(),
        missing,
        method: Method {
            timing_runs: if items.is_empty() {
                (0, 0)
            } else {
                (chosen.stopping.min_runs, chosen.stopping.max_runs)
            },
            warm_up_runs,
            interrupted,
            planned_rows,
        },
    };
    result.comparisons = atime::comparisons(&result);
    result.answers = atime::answers(&result);
    Ok(result)
}

/// Steps of all parts, for the time left.
fn steps(chosen: &Chosen, targets: usize, items: usize) -> usize {
    let matrix = if chosen.operations.is_empty() {
        0
    } else {
        targets * chosen.mounts.len() + 1
    };
    matrix + targets + items * (2 + chosen.stopping.max_runs)
}

/// The options that a file system of the user's is not mounted with.
fn other_options(chosen: &Chosen, target: &Target, mounts: &[Mount]) -> Option<Gap> {
    let others = chosen.mounts.iter().filter(|mount| !mounts.contains(mount));
    let names: Vec<&str> = others.map(|mount| mount.as_str()).collect();
    (!names.is_empty()).then(|| {
        let what = format!("{} on {}", names.join(", "), target.name);
        let why = "only file systems that iostrata makes (as root) are mounted anew; this one keeps \
                   the options it has";
        Gap::new(what, why)
    })
}

/// When none of the options can be had.
fn nothing_left(chosen: &Chosen, targets: &[Target]) -> LabError {
    let names: Vec<&str> = chosen.mounts.iter().map(|mount| mount.as_str()).collect();
    let targets: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
    LabError::Usage(format!(
        "nothing to measure: {} is not mounted with {}, and the user's file systems keep their \
         options; leave --mount out, or ask as root for a file system of iostrata's (--fs ext4)",
        targets.join(", "),
        names.join(" or ")
    ))
}

/// Whether relatime's rule of a day is asked for, and ext4 can be mounted.
fn rule_of_a_day(chosen: &Chosen, targets: &[Target]) -> bool {
    let ext4 = |target: &Target| target.image && target.storage.filesystem == "ext4";
    chosen.mounts.contains(&Mount::Relatime)
        && chosen.operations.contains(&Operation::Read)
        && targets.iter().any(ext4)
}

fn tried(session: &Session<'_>, filled: &mut Matrix) -> Result<(), LabError> {
    match aged::probes(session)? {
        Ok(probes) => filled.relatime.extend(probes),
        Err(gap) => filled.missing.push(gap),
    }
    Ok(())
}
