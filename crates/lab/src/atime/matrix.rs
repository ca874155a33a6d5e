//! Every operation under every mount option on every target, and relatime's rule.

use iostrata_core::Gap;
use iostrata_core::atime::{AtimeRow, Mount, Operation, Probe, RelatimeProbe};

use super::cell;
use super::moments::{Times, now_s, set_times};
use super::mounts::{current, remount};
use super::operations::call;
use super::programs::{Able, prepare};
use super::settings::Chosen;
use super::tree::Tree;
use crate::error::LabError;
use crate::session::{Session, unless_failed};
use crate::target::Target;

const HOUR_S: i64 = 3600;

/// What the matrix gave.
#[derive(Default)]
pub(super) struct Matrix {
    pub(super) rows: Vec<AtimeRow>,
    pub(super) relatime: Vec<RelatimeProbe>,
    pub(super) missing: Vec<Gap>,
}

/// Fills the matrix. On file systems that iostrata did not make only the option they
/// have is looked at.
pub(super) fn matrix(
    session: &mut Session<'_>,
    chosen: &Chosen,
    targets: &[Target],
    interrupted: &mut bool,
) -> Result<Matrix, LabError> {
    let mut matrix = Matrix::default();
    if chosen.operations.is_empty() {
        return Ok(matrix);
    }
    for target in targets {
        unless_failed(session, interrupted, |session| {
            of_target(session, chosen, target, &mut matrix)
        })?;
    }
    Ok(matrix)
}

/// The mount options that can be had on a target among those that were chosen.
pub(super) fn options(chosen: &Chosen, target: &Target) -> Result<Vec<Mount>, LabError> {
    if target.image {
        return Ok(chosen.mounts.clone());
    }
    let own = current(&target.dir)?;
    Ok(chosen
        .mounts
        .iter()
        .copied()
        .filter(|mount| *mount == own)
        .collect())
}

fn of_target(
    session: &mut Session<'_>,
    chosen: &Chosen,
    target: &Target,
    matrix: &mut Matrix,
) -> Result<(), LabError> {
    let tree = Tree::make(&target.dir)?;
    let mut operations = Vec::new();
    for &operation in &chosen.operations {
        match prepare(operation, &tree, session.stop)? {
            Able::Yes => operations.push(operation),
            Able::No(why) => matrix.lack(operation, target, why),
        }
    }
    for mount in options(chosen, target)? {
        let name = &target.name;
        session
            .ledger
            .step(&format!("operations under {} on {name}", mount.as_str()));
        if target.image {
            remount(target, mount)?;
        }
        for operation in operations.clone() {
            if (session.stop)() {
                return Ok(());
            }
            match cell::row(target, mount, operation, &tree, session.stop)? {
                Ok(row) => matrix.rows.push(AtimeRow::Touch(Box::new(row))),
                Err(why) => {
                    matrix.lack(operation, target, why);
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

impl Matrix {
    fn lack(&mut self, operation: Operation, target: &Target, why: String) {
        let what = format!("{} on {}", operation.as_str(), target.name);
        self.missing.push(Gap::new(what, why));
    }
}

/// Reads under relatime after the times were moved.
fn probes(target: &Target, tree: &Tree) -> Result<Vec<RelatimeProbe>, LabError> {
    Probe::BY_CALL
        .into_iter()
        .map(|probe| {
            let path = tree.subject(Operation::Read);
            let now_s = now_s();
            // ctime is now, whatever is set: utimensat(2).
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
                atime_changed,
            })
        })
        .collect()
}
