//! Findings of faults, and syncs that prevent them, as they are reported.

use std::collections::HashMap;

use super::effect::Piece;
use super::fix::Added;
use super::graph::Graph;
use super::history::{History, Step};
use super::model::Model;
use super::result::{Finding, FixRow, OperationRow};
use super::search::{Fault, FaultKind, Found};
use super::told::{FileRow, FileState, files, moments};

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
        let is_one_change = told.finding.culprit.other_path.is_none()
            && matches!(told.fault.kind, FaultKind::Prefix)
            && told.fault.is_attributed;
        if let Some(path) = only_damaged(&told.finding).filter(|_| is_one_change) {
            told.finding.advice = rewrite(path);
        }
    }
    all
}

/// The one file that is neither as before nor as after, where that is another one than the culprit's.
fn only_damaged(finding: &Finding) -> Option<&str> {
    let is_damaged = |row: &&FileRow| !matches!(row.state, FileState::Old | FileState::New);
    let mut damaged = finding.files.iter().filter(is_damaged);
    let only = damaged.next().filter(|_| damaged.next().is_none())?;
    (Some(&only.path) != finding.culprit.path.as_ref()).then_some(&only.path)
}

/// Adds what breaks the recovery from a state with this number: damage that is known already is one finding with it. Gives
/// those that are new.
pub fn join_recovery<'f>(
    findings: &mut [Finding],
    recovery: Vec<Told<'f>>,
    state: u64,
) -> Vec<Told<'f>> {
    let mut new = Vec::new();
    for mut told in recovery {
        told.finding.state = None;
        told.finding.recovering = Some(state);
        let own = damage(&told.finding);
        let is_known = |known: &&mut Finding| known.recovering.is_some() && damage(known) == own;
        let Some(known) = findings.iter_mut().find(is_known) else {
            new.push(told);
            continue;
        };
        known.states += told.finding.states;
        known.possible_on.extend(told.finding.possible_on);
        known.possible_on.sort_unstable();
        known.possible_on.dedup();
    }
    new
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
type Damage = (FaultKind, String, Place, Option<Place>, bool);

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
        finding.torn_at_bytes.is_some(),
    )
}

fn finding(history: &History, fault: &Fault, model: Model, directory: &[u8]) -> Finding {
    let row = |step: usize| operation(&history.steps[step], directory);
    let (culprit, before) = (row(fault.culprit), fault.before.map(row));
    let failed = failed_sync(history, fault).map(row);
    let mut effects = history.steps[fault.culprit].effects.clone();
    let is_part = effects.any(|at| fault.state.kept[at]);
    let mut story = if fault.is_attributed {
        story(fault.kind, &culprit, before.as_ref(), is_part)
    } else {
        unattributed(fault.kind, &culprit)
    };
    if let Some((sync, why)) = failed.as_ref().and_then(|row| Some((row, row.failure()?))) {
        story = format!("{story} The {} after it failed: {why}.", sync.text());
    }
    Finding {
        kind: fault.kind,
        story,
        advice: match failed {
            _ if !fault.is_attributed => AGAIN.to_owned(),
            Some(_) => FAILED_SYNC.to_owned(),
            None => advice(
                fault.kind,
                &culprit,
                lost_part(history, fault),
                before.as_ref(),
            ),
        },
        culprit,
        before,
        message: fault.message.clone(),
        possible_on: vec![model],
        proven_by: vec!["model".to_owned()],
        recovered: Vec::new(),
        states: fault.states,
        state: None,
        recovering: None,
        is_smallest: fault.is_smallest,
        torn_at_bytes: history.torn_at(&fault.state.kept, fault.state.point.time),
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
        reports: step.printed.is_some(),
        appends: step.appends,
        error: step.error,
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
        let call = &self.syscall;
        if self.reports {
            return format!("{call} to standard output");
        }
        let path = self.path.as_deref().unwrap_or("a file without a name");
        match (&self.other_path, self.bytes, self.offset) {
            (Some(other), _, _) => format!("{call} of {path} to {other}"),
            (None, Some(bytes), Some(offset)) => {
                let bytes = crate::bytes::grouped(bytes);
                format!("{call} of {bytes} B to {path} at offset {offset}")
            }
            // Of the whole file system.
            _ if self.path.is_none() => call.clone(),
            _ => format!("{call} of {path}"),
        }
    }

    /// `Input/output error (os error 5)`.
    pub fn failure(&self) -> Option<String> {
        let error = std::io::Error::from_raw_os_error(self.error?);
        Some(error.to_string())
    }
}

/// fsync(2), and since Linux 4.13 the error is reported once (Documentation/filesystems/vfs.rst, "Handling errors during
/// writeback").
const FAILED_SYNC: &str = "A sync that failed made nothing durable, and the next one may succeed without the data: report the \
                           failure instead of success, and recover as after a crash.";

/// The sync that would have covered what was lost, and failed.
pub(super) fn failed_sync(history: &History, fault: &Fault) -> Option<usize> {
    let culprit = &history.steps[fault.culprit];
    let last = fault.before.unwrap_or(history.steps.len());
    let steps = history.steps.iter().enumerate();
    let mut between = steps.take(last).skip(fault.culprit + 1);
    let failed = between.find(|(_, step)| step.error.is_some() && step.path == culprit.path);
    failed.map(|(number, _)| number)
}

/// What a sync has to be of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// What the file holds.
    File,
    /// That it has its name.
    Name,
}

/// What is lost first of the culprit.
fn lost_part(history: &History, fault: &Fault) -> Part {
    let lost = fault.lost.first().map(|at| &history.effects[*at].piece);
    match lost {
        Some(Piece::Entry { .. }) => Part::Name,
        _ => Part::File,
    }
}

/// Of a finding that was not made smaller before the search ended.
const AGAIN: &str =
    "Explore it again with more time: the finding then names the operation, and what to sync.";

fn unattributed(kind: FaultKind, culprit: &OperationRow) -> String {
    let which = match kind {
        FaultKind::Prefix => "last one on disk",
        FaultKind::Atomicity => "one that is partly on disk",
        FaultKind::Ordering | FaultKind::LostAfterAck => "first one that is lost",
    };
    format!(
        "The search ended before it was known which operations matter; the {which} is the {}.",
        culprit.text()
    )
}

/// `is_part` says whether some of the culprit is on disk.
fn story(
    kind: FaultKind,
    culprit: &OperationRow,
    before: Option<&OperationRow>,
    is_part: bool,
) -> String {
    let lost = culprit.text();
    let (only, is) = if is_part {
        ("only a part of ", "is")
    } else {
        ("", "is not")
    };
    match (kind, before) {
        (FaultKind::LostAfterAck, _) => {
            format!("The program has reported success, but {only}the {lost} {is} on disk.")
        }
        (FaultKind::Ordering, Some(before)) => {
            format!(
                "The {} is on disk, but {only}the earlier {lost} {is}.",
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
    lost: Part,
    before: Option<&OperationRow>,
) -> String {
    let path = culprit.path.as_deref().unwrap_or("the file");
    match (kind, before) {
        (FaultKind::Ordering, Some(before)) => {
            let name = culprit.other_path.as_deref().unwrap_or(path);
            let what = match lost {
                Part::File => path.to_owned(),
                Part::Name => format!("the directory of {name}"),
            };
            format!("fsync {what} before the {}.", before.text())
        }
        (FaultKind::LostAfterAck, _) => {
            "fsync the file, and the directory of each new or renamed name, before reporting success."
                .to_owned()
        }
        _ if culprit.appends => format!(
            "An append is not atomic: give each record a checksum, and truncate {path} at the first record without a \
             right one when it is opened."
        ),
        _ => rewrite(path),
    }
}

fn rewrite(path: &str) -> String {
    format!(
        "Write a new file, fsync it, rename it over {path}, then fsync the directory: the change is there whole or not at \
         all."
    )
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
