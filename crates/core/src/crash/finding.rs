//! Findings of faults, and syncs that prevent them, as they are reported.

use std::collections::HashMap;

use super::fix::Added;
use super::graph::Graph;
use super::history::{History, Step};
use super::model::Model;
use super::result::{Finding, FixRow, OperationRow};
use super::search::{Fault, FaultKind, Found};
use super::told::{files, moments};

/// Findings with their operations and files: each of these goes through the whole run.
const MOST_DETAILED: usize = 100;

/// A finding, and the fault that shows it first.
#[derive(Debug, Clone)]
pub struct Told<'f> {
    pub finding: Finding,
    pub fault: &'f Fault,
    model: Model,
}

/// The faults of all models, the same ones joined. States are numbered through all models.
pub fn findings<'f>(
    history: &History,
    found: &'f [(Model, Found)],
    directory: &[u8],
) -> Vec<Told<'f>> {
    let mut all: Vec<Told<'f>> = Vec::new();
    let mut places: HashMap<Damage, usize> = HashMap::new();
    let mut before = 0;
    for (model, found) in found {
        for fault in &found.faults {
            let mut finding = finding(history, fault, *model, directory);
            finding.state = Some(before + fault.state.number);
            let place = *places.entry(damage(&finding)).or_insert(all.len());
            match all.get_mut(place) {
                Some(Told { finding: known, .. }) => {
                    known.states += finding.states;
                    if !known.possible_on.contains(model) {
                        known.possible_on.push(*model);
                    }
                }
                None => all.push(Told {
                    finding,
                    fault,
                    model: *model,
                }),
            }
        }
        before += found.coverage.states;
    }
    all.sort_by_key(|told| weight(&told.finding));
    let graphs: HashMap<Model, Graph> = found
        .iter()
        .map(|(model, _)| (*model, Graph::of(history, *model)))
        .collect();
    for told in all.iter_mut().take(MOST_DETAILED) {
        let (timeline, left_out) = moments(history, &graphs[&told.model], told.fault, directory);
        told.finding.timeline = timeline;
        told.finding.timeline_left_out = Some(left_out);
        told.finding.files = files(history, told.fault);
    }
    all
}

/// Damage before loss, and of each what most real file systems show.
pub(super) fn weight(finding: &Finding) -> (bool, std::cmp::Reverse<usize>) {
    let models = finding.possible_on.iter();
    let real = models.filter(|model| **model != Model::Posix);
    let is_loss = finding.kind == FaultKind::LostAfterAck;
    (is_loss, std::cmp::Reverse(real.count()))
}

/// A call, and its paths.
type Place = (String, [Option<String>; 2]);
type Damage = (FaultKind, String, Place, Option<Place>);

/// The same damage by the same call on the same file is one finding: which of its writes is lost makes no difference.
fn damage(finding: &Finding) -> Damage {
    let place = |row: &OperationRow| {
        let paths = [&row.path, &row.other_path].map(Clone::clone);
        (row.syscall.clone(), paths)
    };
    let before = finding.before.as_ref().map(place);
    (
        finding.kind,
        finding.message.clone(),
        place(&finding.culprit),
        before,
    )
}

fn finding(history: &History, fault: &Fault, model: Model, directory: &[u8]) -> Finding {
    let row = |step: usize| operation(&history.steps[step], directory);
    let (culprit, before) = (row(fault.culprit), fault.before.map(row));
    Finding {
        kind: fault.kind,
        story: story(fault.kind, &culprit, before.as_ref()),
        advice: advice(fault.kind, &culprit, before.as_ref()),
        culprit,
        before,
        message: fault.message.clone(),
        possible_on: vec![model],
        proven_by: vec!["model".to_owned()],
        recovered: Vec::new(),
        states: fault.states,
        state: None,
        is_smallest: fault.is_smallest,
        timeline: Vec::new(),
        timeline_left_out: None,
        files: Vec::new(),
        proof: None,
    }
}

/// An operation; paths below the directory are shown from there.
pub fn operation(step: &Step, directory: &[u8]) -> OperationRow {
    let shown = |path: &Option<Vec<u8>>| path.as_deref().map(|path| relative(path, directory));
    OperationRow {
        op: step.operation,
        syscall: step.call.clone(),
        path: shown(&step.path),
        other_path: shown(&step.other_path),
        offset: step.range.map(|(offset, _)| offset),
        bytes: step.range.map(|(_, bytes)| bytes),
        stack: step.stack.to_vec(),
    }
}

fn relative(path: &[u8], directory: &[u8]) -> String {
    let below = path.strip_prefix(directory).map(|rest| match rest {
        b"" => &b"."[..],
        rest => rest.strip_prefix(b"/").unwrap_or(rest),
    });
    String::from_utf8_lossy(below.unwrap_or(path)).into_owned()
}

impl OperationRow {
    /// `rename of cfg.tmp to cfg.json`, `write of 6,019 B at 0 to cfg.json`.
    pub fn text(&self) -> String {
        let path = self.path.as_deref().unwrap_or("standard output");
        match (&self.other_path, self.bytes, self.offset) {
            (Some(other), _, _) => format!("{} of {path} to {other}", self.syscall),
            _ if self.path.is_none() => format!("{} to standard output", self.syscall),
            (None, Some(bytes), Some(offset)) => {
                let bytes = crate::bytes::grouped(bytes);
                format!("{} of {bytes} B to {path} at offset {offset}", self.syscall)
            }
            _ => format!("{} of {path}", self.syscall),
        }
    }
}

fn story(kind: FaultKind, culprit: &OperationRow, before: Option<&OperationRow>) -> String {
    let lost = culprit.text();
    match (kind, before) {
        (FaultKind::LostAfterAck, _) => {
            format!("The program has reported success, and the {lost} is not on disk.")
        }
        (FaultKind::Ordering, Some(before)) => {
            format!(
                "The {} is on disk, but the {lost} before it is not.",
                before.text()
            )
        }
        (FaultKind::Atomicity, _) => format!("A part of the {lost} is on disk, the rest is not."),
        _ => format!("Everything up to the {lost} is on disk, and nothing after it."),
    }
}

pub(super) fn advice(
    kind: FaultKind,
    culprit: &OperationRow,
    before: Option<&OperationRow>,
) -> String {
    let path = culprit.path.as_deref().unwrap_or("the file");
    match (kind, before) {
        (FaultKind::Ordering, Some(before)) => {
            format!("fsync {path} before the {}.", before.text())
        }
        (FaultKind::LostAfterAck, _) => {
            "fsync the file, and the directory of each new or renamed name, before reporting success."
                .to_owned()
        }
        _ => format!(
            "Write a new file, fsync it, rename it over {path}, then fsync the directory: one \
             operation that is there or not."
        ),
    }
}

/// The syncs of a fix.
pub fn fix_rows(
    history: &History,
    added: &[Added],
    directory: &[u8],
    path_of: impl Fn(&Added) -> Option<Vec<u8>>,
) -> Vec<FixRow> {
    let rows = added.iter().map(|one| FixRow {
        path: path_of(one).map_or_else(|| "?".to_owned(), |path| relative(&path, directory)),
        is_directory: one.is_directory,
        before: history
            .steps
            .get(one.before)
            .map(|step| operation(step, directory)),
    });
    rows.collect()
}
