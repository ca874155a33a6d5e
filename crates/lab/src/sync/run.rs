//! The experiment from end to end.

use iostrata_core::Gap;
use iostrata_core::observe::Observer;
use iostrata_core::sync::{self, Calibration, Case, Figures, Method, SyncResult, SyncRow, Write};
use iostrata_tracer::machine;
use rustix::io::Errno;

use super::calibration::calibrate;
use super::item::Item;
use super::{caveats, settings};
use crate::engine::{Ledger, Progress, StoppingRule};
use crate::error::LabError;
use crate::session::{RunSettings, Session, measure, unless_failed};
use crate::target::Target;

/// Runs `lab sync` on `targets`, and projects its requests to `devices`.
///
/// `stop` is asked often; once it says yes, what is running is ended and the
/// rows that were timed are returned, with [`Method::interrupted`] set. Nothing is
/// written when a target has no room or cannot be written to.
pub fn run<'a>(
    cases: &'a [Case],
    devices: &[Figures],
    run: &'a RunSettings,
    targets: &[Target],
    observer: Option<&'a mut dyn Observer>,
    progress: &'a mut dyn Progress,
    stop: &'a dyn Fn() -> bool,
) -> Result<SyncResult, LabError> {
    settings::check(run.effort, cases, targets)?;
    let (items, mut missing) = items(cases, targets)?;
    let steps = items.len() * (2 + run.stopping.max_runs) + targets.len();
    let mut session = Session {
        run,
        observer,
        ledger: Ledger::new(progress, steps),
        stop,
    };
    let mut interrupted = false;
    let (rows, warm_up_runs) = measure(&mut session, &items, targets.len(), &mut interrupted)?;
    missing.extend(session.gaps());
    let calibrations = calibrations(&mut session, targets, &mut missing, &mut interrupted)?;

    let StoppingRule {
        min_runs, max_runs, ..
    } = run.stopping;
    let mut result = SyncResult {
        question: sync::QUESTION.to_owned(),
        targets: targets.iter().map(Target::measured).collect(),
        caveats: caveats::caveats(targets, run.virtualization.as_deref(), &rows),
        rows,
        calibrations,
        projections: Vec::new(),
        answers: Vec::new(),
        settings: machine_settings(targets, &mut missing),
        missing,
        method: Method {
            timing_runs: (min_runs, max_runs),
            warm_up_runs,
            interrupted,
            planned_rows: items.len(),
        },
    };
    result.projections = sync::projections(&result, devices);
    let unprojected = unprojected(&result);
    result.missing.extend(unprojected);
    result.answers = sync::answers(&result);
    Ok(result)
}

/// Targets without a projection because their requests were not theirs alone.
fn unprojected(result: &SyncResult) -> Vec<Gap> {
    let mut gaps = Vec::new();
    for target in &result.targets {
        let on_target = |row: &&SyncRow| row.row.target == target.name;
        let projected = result.projections.iter().any(|one| {
            let row = result.rows.get(one.row - 1);
            row.as_ref().is_some_and(on_target)
        });
        let disturbed = result
            .rows
            .iter()
            .filter(on_target)
            .find_map(SyncRow::disturbed);
        if let (false, Some(why)) = (projected, disturbed) {
            gaps.push(Gap::new(format!("projections of {}", target.name), why));
        }
    }
    gaps
}

/// Every case on every target; those that a target cannot have are missing.
fn items<'a>(cases: &[Case], targets: &'a [Target]) -> Result<(Vec<Item<'a>>, Vec<Gap>), LabError> {
    let mut items = Vec::new();
    let mut missing = Vec::new();
    let wanted = cases.iter().any(|case| case.write == Write::Preallocated);
    for target in targets {
        let refused = if wanted {
            settings::no_preallocation(target)?
        } else {
            None
        };
        let possible = |case: &&Case| refused.is_none() || case.write != Write::Preallocated;
        items.extend(
            cases
                .iter()
                .filter(possible)
                .map(|&case| Item { target, case }),
        );
        missing.extend(refused);
    }
    match missing.as_slice() {
        [gap, ..] if items.is_empty() => Err(LabError::io(
            format!("measure {} ({})", gap.what, gap.why),
            Errno::OPNOTSUPP,
        )),
        _ => Ok((items, missing)),
    }
}

fn calibrations(
    session: &mut Session<'_>,
    targets: &[Target],
    missing: &mut Vec<Gap>,
    interrupted: &mut bool,
) -> Result<Vec<Calibration>, LabError> {
    let mut calibrations = Vec::new();
    for target in targets {
        let measured = unless_failed(session, interrupted, |session| calibrate(session, target))?;
        match measured {
            Some(Ok(calibration)) => calibrations.push(calibration),
            Some(Err(why)) => {
                let what = format!("latency of direct writes on {}", target.name);
                missing.push(Gap::new(what, why));
            }
            None => break,
        }
    }
    Ok(calibrations)
}

/// Settings of the storage under the first target.
fn machine_settings(
    targets: &[Target],
    missing: &mut Vec<Gap>,
) -> Vec<iostrata_core::doctor::Setting> {
    let read = targets.first().map(|target| machine::settings(&target.dir));
    match read {
        Some(Ok(settings)) => settings,
        Some(Err(error)) => {
            missing.push(Gap::new("settings of the storage", error.to_string()));
            Vec::new()
        }
        None => Vec::new(),
    }
}
