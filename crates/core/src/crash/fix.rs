//! The syncs that a program lacks: worked out from its faults, and tried.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::effect::Piece;
use super::explore::Budget;
use super::finding::failed_sync;
use super::history::{History, Step, Sync};
use super::model::Model;
use super::search::{Check, Fault, FaultKind, Found, breaks, search};
use super::verdicts::Verdicts;
use crate::op::FileId;

/// A sync to add.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Added {
    /// The step that it belongs before; the number of steps for one at the end.
    pub before: usize,
    /// What is to be synced: a file, or a directory.
    pub node: FileId,
    pub is_directory: bool,
}

/// Why no syncs are known that help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoFix {
    /// What breaks is left by one operation, or by all up to one.
    NoSyncHelps,
    /// The program syncs what is lost, and the sync failed: another one may succeed without the data (fsync(2)).
    SyncFailed,
    /// More than are tried, each with explorations of its own.
    TooMany { syncs: usize },
}

/// The most syncs that are tried.
const MOST_SYNCS: usize = 200;

/// Rounds of adding what the last one still lacked.
const ROUNDS: usize = 6;

/// Syncs with which no state that is explored breaks anything; none of them can be left out.
///
/// # Errors
/// When the check does.
pub fn fix<E>(
    history: &History,
    models: &[Model],
    budget: Budget,
    faults: &[Fault],
    verdicts: &mut Verdicts,
    check: &mut Check<'_, E>,
) -> Result<Result<Vec<Added>, NoFix>, E> {
    let mut added: BTreeSet<Added> = faults
        .iter()
        .flat_map(|fault| wanted(history, fault))
        .collect();
    if faults
        .iter()
        .any(|fault| failed_sync(history, fault).is_some())
    {
        return Ok(Err(NoFix::SyncFailed));
    }
    // With all syncs that there could be, a crash leaves everything up to some operation.
    let is_prefix = |fault: &Fault| fault.kind == FaultKind::Prefix && fault.lost.is_empty();
    if added.is_empty() || faults.iter().any(is_prefix) {
        return Ok(Err(NoFix::NoSyncHelps));
    }
    for round in 0.. {
        let syncs = added.len();
        if syncs > MOST_SYNCS {
            return Ok(Err(NoFix::TooMany { syncs }));
        }
        let mut more = BTreeSet::new();
        for model in models {
            let (fixed, places) = with(history, &added);
            let mut found = Found::default();
            search(&fixed, *model, budget, verdicts, check, &mut found)?;
            for fault in &found.faults {
                let lacking: Vec<Added> = wanted(&fixed, fault)
                    .into_iter()
                    .map(|one| Added {
                        before: places
                            .get(one.before)
                            .copied()
                            .unwrap_or(history.steps.len()),
                        ..one
                    })
                    .collect();
                // No sync helps against what one operation leaves half done.
                if lacking.is_empty() {
                    return Ok(Err(NoFix::NoSyncHelps));
                }
                more.extend(lacking);
            }
        }
        if more.is_empty() {
            break;
        }
        added.extend(more);
        if added.len() == syncs || round == ROUNDS {
            return Ok(Err(NoFix::NoSyncHelps));
        }
    }
    smallest(history, models, budget, added, verdicts, check).map(Ok)
}

/// Leaves out each sync without which nothing breaks either. Many are left out at once where that is possible: what
/// lacks too much breaks after a few states, and only what lacks nothing takes a whole search.
fn smallest<E>(
    history: &History,
    models: &[Model],
    budget: Budget,
    mut added: BTreeSet<Added>,
    verdicts: &mut Verdicts,
    check: &mut Check<'_, E>,
) -> Result<Vec<Added>, E> {
    let all: Vec<Added> = added.iter().copied().collect();
    let mut rest = all.as_slice();
    let mut run = rest.len();
    while !rest.is_empty() {
        let (tried, others) = rest.split_at(run);
        let mut fewer = added.clone();
        fewer.retain(|one| !tried.contains(one));
        let (fixed, _) = with(history, &fewer);
        let mut breaks_any = false;
        for model in models {
            breaks_any = breaks(&fixed, *model, budget, verdicts, check)?;
            if breaks_any {
                break;
            }
        }
        if !breaks_any {
            added = fewer;
            rest = others;
            run = run.min(rest.len());
        } else if run > 1 {
            run /= 2;
        } else {
            rest = others;
            run = rest.len();
        }
    }
    Ok(added.into_iter().collect())
}

/// What would have made the lost effects durable in time.
fn wanted(history: &History, fault: &Fault) -> Vec<Added> {
    let Some(before) = fault.before else {
        return Vec::new();
    };
    let nodes = fault.lost.iter().map(|at| {
        let effect = &history.effects[*at];
        (effect.node(), matches!(effect.piece, Piece::Entry { .. }))
    });
    let mut nodes: BTreeSet<(FileId, bool)> = nodes.collect();
    // A program syncs what it can open: its directory tells of a file that is removed.
    nodes.retain(|(node, _)| history.name_of(*node, before).is_some());
    let added = nodes.into_iter().map(|(node, is_directory)| Added {
        before,
        node,
        is_directory,
    });
    added.collect()
}

/// The history with these syncs, and which step each of its steps was.
fn with(history: &History, added: &BTreeSet<Added>) -> (History, Vec<usize>) {
    let mut fixed = history.clone();
    fixed.steps.clear();
    let mut places = Vec::new();
    let mut moved = vec![0; history.steps.len()];
    for (number, step) in history.steps.iter().enumerate() {
        for one in added.iter().filter(|one| one.before == number) {
            fixed.steps.push(sync_before(step, one.node));
            places.push(number);
        }
        moved[number] = fixed.steps.len();
        fixed.steps.push(step.clone());
        places.push(number);
    }
    for effect in &mut fixed.effects {
        effect.step = moved[effect.step];
    }
    fixed.set_order();
    (fixed, places)
}

/// It takes no time, and comes between what was before and the step.
fn sync_before(step: &Step, node: FileId) -> Step {
    Step {
        call: "fsync".to_owned(),
        path: None,
        other_path: None,
        range: None,
        stack: Arc::from([]),
        ended_ns: step.started_ns,
        effects: step.effects.start..step.effects.start,
        sync: Some(Sync::File(node)),
        printed: None,
        appends: false,
        error: None,
        settles: Vec::new(),
        ..step.clone()
    }
}
