//! The experiment from end to end.

use iostrata_core::atime::{self, AtimeRow, LoopRow, Mount, Rules};
use iostrata_core::gap::{Gap, Missing, Reason, TargetPart};
use iostrata_core::lab;

use super::loops::{Item, loops};
use super::matrix::{matrix, options};
use super::settings::{self, Plan};
use crate::caveats;
use crate::engine::StoppingRule;
use crate::error::LabError;
use crate::experiment::Experiment;
use crate::session::Session;
use crate::target::Target;

impl Experiment for Plan {
    fn nothing(&self) -> &'static str {
        "nothing to measure: give at least one file system and mount option"
    }

    fn usual_tmpfs(&self) -> bool {
        true
    }

    fn rows_on(&self, _: &Target) -> usize {
        (self.operations.len() + self.loops.len()) * self.mounts.len()
    }

    fn needed_bytes(&self) -> u64 {
        settings::NEEDED_BYTES
    }

    /// A run of a loop takes hundredths of a second: more runs are possible than elsewhere.
    fn stopping(&self, _: StoppingRule) -> StoppingRule {
        self.stopping
    }

    /// Many files are read a second time.
    fn timed_on(&self, _: &Target) -> usize {
        2 * self.loops.len() * self.mounts.len()
    }

    /// File systems that iostrata made are remounted with each option; others are measured
    /// with the option they have.
    fn measure(&self, session: &mut Session<'_>) -> Result<lab::Experiment, LabError> {
        let targets = session.targets;
        session.lack_what_is_unseen();
        let alone = timed_alone(self, targets);
        let mut items: Vec<Item<'_>> = Vec::new();
        let mut planned_rows = 0;
        for target in targets {
            let mounts = options(self, target)?;
            planned_rows += mounts.len() * self.operations.len();
            session.missing.extend(other_options(self, target, &mounts));
            if alone.is_none_or(|alone| alone.name == target.name) {
                items.extend(Item::of(self, target, &mounts));
            }
        }
        planned_rows += items.len();
        if planned_rows == 0 {
            return Err(nothing_left(self, targets));
        }
        let not_timed = alone.and_then(|alone| not_timed(self, targets, alone));
        session.missing.extend(not_timed);
        let filled = matrix(session, self)?;
        let looped = loops(session, &items)?;
        session.missing.extend(filled.missing);
        let mut rows = filled.rows;
        rows.extend(looped);
        let mut result = session.result(
            atime::QUESTION,
            rows,
            Rules {
                relatime: filled.relatime,
                comparisons: Vec::new(),
            },
            (),
            planned_rows,
        );
        result.caveats = caveats(session, &result.rows);
        if items.is_empty() {
            result.method.timing_runs = (0, 0);
        }
        result.own.comparisons = atime::comparisons(&result);
        Ok(lab::Experiment::Atime(result))
    }
}

/// The only target whose loops are timed, if it is measured; `None` when all targets have loops.
fn timed_alone<'a>(plan: &Plan, targets: &'a [Target]) -> Option<&'a Target> {
    let only = plan.timed_target?;
    targets.iter().find(|target| target.name == only)
}

/// Loops that are not timed when only one target has loops.
fn not_timed(plan: &Plan, targets: &[Target], alone: &Target) -> Option<Gap> {
    let others = targets.iter().filter(|target| target.name != alone.name);
    let others: Vec<String> = others.map(|target| target.name.clone()).collect();
    (!others.is_empty() && !plan.loops.is_empty()).then(|| {
        let target = alone.name.clone();
        Gap::new(
            Missing::Loops { targets: others },
            Reason::QuickOnly { target },
        )
    })
}

/// Options that the user's own file systems are not mounted with.
fn other_options(plan: &Plan, target: &Target, mounts: &[Mount]) -> Option<Gap> {
    let others = plan.mounts.iter().filter(|mount| !mounts.contains(mount));
    let names: Vec<String> = others.map(|mount| mount.as_str().to_owned()).collect();
    let is_none = names.is_empty();
    let what = target.part(TargetPart::Mounts(names));
    (!is_none).then(|| Gap::new(what, Reason::RemountsOwnOnly))
}

/// When none of the options is available.
fn nothing_left(plan: &Plan, targets: &[Target]) -> LabError {
    let names: Vec<&str> = plan.mounts.iter().map(|mount| mount.as_str()).collect();
    let targets: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
    LabError::Usage(format!(
        "nothing to measure: {} is not mounted with {}, and iostrata does not remount the user's \
         file systems; leave --mount out, or run as root on a file system that iostrata creates \
         (--fs ext4)",
        targets.join(", "),
        names.join(" or ")
    ))
}

fn caveats(session: &Session<'_>, rows: &[AtimeRow]) -> Vec<String> {
    let loops = rows.iter().filter_map(|row| match row {
        AtimeRow::Loop(row) => Some(&**row),
        AtimeRow::Touch(_) => None,
    });
    let loops: Vec<&LoopRow> = loops.collect();
    let looped = |target: &&Target| loops.iter().any(|row| row.row.target == target.name);
    let on_disks = session.targets.iter().filter(looped);
    let on_disks: Vec<&Target> = on_disks.filter(|target| !target.is_memory()).collect();
    let guest = "the load of other guests adds noise to all times";
    let mut caveats = caveats::begun(session, guest);
    let syncs = "their syncs include the file system that holds the images; their requests are \
                 counted at the loop device";
    caveats.extend(caveats::images(on_disks.iter().copied(), syncs));
    if !on_disks.is_empty() {
        caveats.push(
            "no time here includes seeks between data and inodes: the files were cached, and the \
             sync wrote all inodes together"
                .to_owned(),
        );
    }
    let timed = loops.iter().map(|row| &row.row);
    caveats.extend(caveats::stolen(timed, "loops"));
    caveats
}
