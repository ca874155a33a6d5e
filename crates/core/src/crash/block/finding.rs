//! What real recoveries left broken, as findings: with the operation that was under way, and joined with what the models
//! found.

use std::collections::BTreeSet;

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Pressure;
use crate::crash::finding::{Part, advice, operation, weight};
use crate::crash::graph::Graph;
use crate::crash::history::{History, Step};
use crate::crash::model::Model;
use crate::crash::result::{Finding, OperationRow, RecoveredRow};
use crate::crash::search::FaultKind;
use crate::crash::told::{FileRow, FileState, recovered_moments};

/// What proves a finding that a mounted image showed.
pub const REAL_RECOVERY: &str = "real recovery";

/// One way to fail, however many images of a recording show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub message: String,
    /// Whether the tree is fine as long as nothing has been printed.
    pub is_lost_after_ack: bool,
    /// Whether the example has everything up to a flush, and nothing after it.
    pub is_boundary: bool,
    /// When the flush after the example's epoch was done.
    pub ended_ns: u64,
    /// Number of acknowledgements by then.
    pub told: usize,
    /// Blocks of the epoch that are on disk.
    pub kept_blocks: usize,
    /// Blocks of the epoch.
    pub blocks: usize,
    /// States that fail so.
    pub states: u64,
    /// The files that differ between before, the example, and after; empty where they are not known.
    pub files: Vec<FileRow>,
    /// Where the example was kept.
    pub proof: Option<String>,
}

/// Where a recording was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct On {
    /// The file system, as its model is named.
    pub filesystem: Model,
    /// Who else committed.
    pub pressure: Pressure,
}

/// The failures of a recording. Blocks do not name operations: the culprit is the last change that had begun at the
/// time of the example. Of what was reported it is the last change before the report of a file that is not as it is at the
/// end, if there is one, and of these one that is not durable by the rules of the file system.
pub fn block_findings(
    history: &History,
    failures: &[Failure],
    on: On,
    directory: &[u8],
) -> Vec<Finding> {
    let graph = Graph::of(history, on.filesystem);
    let findings = failures.iter().filter_map(|failure| {
        let Blamed {
            culprit,
            before,
            damaged,
            is_durable,
        } = blamed(history, &graph, failure, directory)?;
        let at = (failure.ended_ns, (culprit, before));
        let (timeline, left_out) = recovered_moments(history, &graph, at, directory);
        let row = |step: usize| operation(&history.steps[step], directory);
        let (culprit, before) = (row(culprit), before.map(row));
        let kind = match (failure.is_lost_after_ack, failure.is_boundary) {
            (true, _) => FaultKind::LostAfterAck,
            (_, true) => FaultKind::Prefix,
            _ => FaultKind::Ordering,
        };
        Some(Finding {
            kind,
            story: story(failure, on, &culprit, is_durable),
            advice: match (&culprit.path, &culprit.other_path) {
                _ if kind != FaultKind::LostAfterAck && damaged.is_some() => {
                    let path = damaged.and_then(|step| row(step).path).unwrap_or_default();
                    format!("fsync {path} before the {}.", culprit.text())
                }
                // What it gives a name may not be on disk.
                (Some(path), Some(_)) if kind != FaultKind::LostAfterAck => {
                    format!("fsync {path} before the {}.", culprit.text())
                }
                _ => advice(kind, &culprit, Part::File, before.as_ref()),
            },
            culprit,
            before,
            message: failure.message.clone(),
            possible_on: vec![on.filesystem],
            proven_by: vec![REAL_RECOVERY.to_owned()],
            recovered: vec![RecoveredRow {
                filesystem: on.filesystem,
                pressure: on.pressure,
                states: failure.states,
                proof: failure.proof.clone(),
            }],
            states: failure.states,
            state: None,
            recovering: None,
            is_smallest: false,
            torn_at_bytes: None,
            timeline,
            timeline_left_out: Some(left_out),
            files: failure.files.clone(),
            proof: failure.proof.clone(),
        })
    });
    findings.collect()
}

/// The change that a failure is attributed to, and the report that came after it: their steps.
struct Blamed {
    culprit: usize,
    before: Option<usize>,
    /// The last change of a file that is not as it is at the end, where the culprit is of others.
    damaged: Option<usize>,
    /// Whether syncs made it durable before the report, as far as the model knows.
    is_durable: bool,
}

fn blamed(history: &History, graph: &Graph, failure: &Failure, directory: &[u8]) -> Option<Blamed> {
    let damaged = failure.files.iter();
    let damaged = damaged.filter(|row| row.state != FileState::New);
    let damaged: BTreeSet<&str> = damaged.map(|row| row.path.as_str()).collect();
    let is_damaged = |step: &Step| {
        let row = operation(step, directory);
        let mut paths = row.path.iter().chain(&row.other_path);
        paths.any(|path| damaged.contains(path.as_str()))
    };
    let last = failure.told.checked_sub(1);
    let last = last.filter(|_| failure.is_lost_after_ack);
    let before = last.and_then(|last| history.reports().nth(last));
    let begin = before.map(|report| history.steps[report].begin);
    let is_before = |step: &Step| match begin {
        Some(begin) => step.end < begin,
        None => step.started_ns <= failure.ended_ns,
    };
    let is_durable = |step: &Step| {
        begin.is_some_and(|begin| step.effects.clone().all(|at| graph.is_durable(at, begin)))
    };
    let steps = history.steps.iter().enumerate();
    let changes = steps.filter(|(_, step)| !step.effects.is_empty());
    let done = || changes.clone().filter(|(_, step)| is_before(step));
    let order = |step: &Step| (!is_durable(step), step.begin);
    let of_damaged = done().filter(|(_, step)| is_damaged(step));
    let of_damaged = of_damaged.max_by_key(|(_, step)| order(step));
    let last = done().max_by_key(|(_, step)| order(step));
    let last = begin.and(of_damaged).or(last);
    let (culprit, step) = last.or_else(|| changes.clone().next())?;
    Some(Blamed {
        culprit,
        before,
        damaged: of_damaged
            .filter(|_| !is_damaged(step))
            .map(|(damaged, _)| damaged),
        is_durable: is_durable(step),
    })
}

fn story(failure: &Failure, on: On, culprit: &OperationRow, is_durable: bool) -> String {
    let filesystem = on.filesystem.as_str();
    let change = culprit.text();
    if failure.is_lost_after_ack {
        let unsynced = if is_durable {
            ""
        } else {
            " that no sync covers"
        };
        return format!(
            "The program has reported success, and {filesystem} recovers a state without all of it. The last change \
             before the report{unsynced} is the {change}."
        );
    }
    let which = if failure.is_boundary {
        "from what had been flushed".to_owned()
    } else {
        format!(
            "with {} of the {} blocks on disk that it was writing",
            failure.kept_blocks, failure.blocks
        )
    };
    format!(
        "{filesystem} recovers this {which}. The last change that had begun by then is the {change}; the blocks do not \
         tell which one it is."
    )
}

/// Adds findings of real recoveries to others. What has the same message, and is as well or as badly explained by what had
/// been reported, is the same finding: a model's knows the operation. Where several of a model have one message, each of them
/// is proven as far as the message goes.
pub fn join(findings: &mut Vec<Finding>, recovered: Vec<Finding>) {
    let is_loss = |finding: &Finding| finding.kind == FaultKind::LostAfterAck;
    for finding in recovered {
        let is_known = |known: &Finding| {
            known.message == finding.message && is_loss(known) == is_loss(&finding)
        };
        let on = finding.possible_on.first().copied();
        let allows = |known: &Finding| on.is_some_and(|on| known.possible_on.contains(&on));
        let is_by_model = |known: &Finding| known.proven_by.iter().any(|by| by != REAL_RECOVERY);
        let by_model = findings
            .iter()
            .any(|known| is_known(known) && is_by_model(known));
        let allowed = findings
            .iter()
            .any(|known| is_known(known) && is_by_model(known) && allows(known));
        let mut joined = false;
        for known in findings.iter_mut().filter(|known| is_known(known)) {
            let takes = match (by_model, allowed) {
                (true, true) => is_by_model(known) && allows(known),
                // No model allows it there, and the disk shows it.
                (true, false) => is_by_model(known) && !joined,
                _ => !joined,
            };
            if takes {
                add(known, &finding);
                joined = true;
            }
        }
        if !joined {
            findings.push(finding);
        }
    }
    findings.sort_by_key(weight);
}

fn add(known: &mut Finding, finding: &Finding) {
    known.recovered.extend(finding.recovered.iter().cloned());
    known.proof = known.proof.take().or_else(|| finding.proof.clone());
    known.states += finding.states;
    for model in &finding.possible_on {
        if !known.possible_on.contains(model) {
            known.possible_on.push(*model);
        }
    }
    known.possible_on.sort_unstable();
    let by = REAL_RECOVERY.to_owned();
    if !known.proven_by.contains(&by) {
        known.proven_by.push(by);
    }
}
