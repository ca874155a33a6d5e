//! Every operation under every mount option on every target, and relatime's rule.

use iostrata_core::atime::{AtimeRow, Mount, Operation, Probe, RelatimeProbe};
use iostrata_core::gap::{Gap, Missing, TargetPart};

use super::moments::{HOUR_S, Times, now_s, set_times};
use super::mounts::{current, remount};
use super::operations::call;
use super::programs::prepare;
use super::settings::Plan;
use super::tree::Tree;
use super::{aged, cell};
use crate::error::LabError;
use crate::session::Session;
use crate::target::Target;
use crate::tool::or_gap;

#[derive(Default)]
pub(super) struct Matrix {
    pub(super) rows: Vec<AtimeRow>,
    pub(super) relatime: Vec<RelatimeProbe>,
    /// The parts that could not be done, and why.
    pub(super) missing: Vec<Gap>,
}

/// Fills the matrix. On file systems that iostrata did not create, only the current option is
/// tested.
pub(super) fn matrix(session: &mut Session<'_>, plan: &Plan) -> Result<Matrix, LabError> {
    let mut matrix = Matrix::default();
    if plan.operations.is_empty() {
        return Ok(matrix);
    }
    for target in session.targets {
        session.unless_failed(|session| of_target(session, plan, target, &mut matrix))?;
    }
    if plan.has_rule_of_a_day(session.targets) {
        session.ledger.step("relatime's rule of a day");
        session.unless_failed(|session| {
            let probes = aged::probes(&session.run.scratch, session.stop);
            match or_gap(probes, Missing::DayRule)? {
                Ok(probes) => matrix.relatime.extend(probes),
                Err(gap) => matrix.missing.push(gap),
            }
            Ok(())
        })?;
    }
    Ok(matrix)
}

pub(super) fn options(plan: &Plan, target: &Target) -> Result<Vec<Mount>, LabError> {
    if target.image {
        return Ok(plan.mounts.clone());
    }
    let own = current(&target.dir)?;
    Ok(plan
        .mounts
        .iter()
        .copied()
        .filter(|mount| *mount == own)
        .collect())
}

fn of_target(
    session: &mut Session<'_>,
    plan: &Plan,
    target: &Target,
    matrix: &mut Matrix,
) -> Result<(), LabError> {
    let tree = Tree::make(&target.dir)?;
    let mut operations = Vec::new();
    for &operation in &plan.operations {
        let able = prepare(operation, &tree, session.stop);
        match or_gap(able, name_of(operation, target))? {
            Ok(()) => operations.push(operation),
            Err(gap) => matrix.missing.push(gap),
        }
    }
    for mount in options(plan, target)? {
        let name = &target.name;
        session.step(&format!("operations under {} on {name}", mount.as_str()));
        if target.image {
            remount(target, mount)?;
        }
        for operation in operations.clone() {
            if (session.stop)() {
                return Ok(());
            }
            let row = cell::row(target, mount, operation, &tree, session.stop);
            match or_gap(row, name_of(operation, target))? {
                Ok(row) => matrix.rows.push(AtimeRow::Touch(Box::new(row))),
                Err(gap) => {
                    matrix.missing.push(gap);
                    operations.retain(|other| *other != operation);
                }
            }
        }
        if mount == Mount::Relatime && operations.contains(&Operation::Read) {
            matrix.relatime.extend(probes(target, &tree)?);
        }
    }
    Ok(())
}

fn name_of(operation: Operation, target: &Target) -> Missing {
    target.part(TargetPart::Case(operation.as_str().to_owned()))
}

/// Reads under relatime after the times were changed.
fn probes(target: &Target, tree: &Tree) -> Result<Vec<RelatimeProbe>, LabError> {
    Probe::BY_CALL
        .into_iter()
        .map(|probe| {
            let path = tree.subject(Operation::Read);
            let now_s = now_s();
            // ctime is the current time, whatever is set: utimensat(2).
            let (accessed_s, modified_s) = match probe {
                Probe::BeforeMtime => (now_s + HOUR_S, now_s + 2 * HOUR_S),
                Probe::BeforeCtime => (now_s - HOUR_S, now_s - 2 * HOUR_S),
                Probe::AfterBoth | Probe::DayOld | Probe::NotDayOld => {
                    (now_s + HOUR_S, now_s - 2 * HOUR_S)
                }
            };
            let atime_changed = set_times(&path, accessed_s, modified_s)
                .and_then(|before| {
                    call(Operation::Read, tree)?;
                    Ok(Times::of(&path)?.accessed != before.accessed)
                })
                .map_err(|error| {
                    LabError::io(format!("try relatime's rule on {}", target.name), error)
                })?;
            Ok(RelatimeProbe {
                filesystem: target.storage.filesystem.clone(),
                probe,
                machine: None,
                atime_changed,
            })
        })
        .collect()
}
