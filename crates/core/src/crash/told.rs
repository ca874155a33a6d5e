//! A fault told: what was on disk of each operation when the power failed, and what the files held.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::builtin::{Digest, Held, is_zeros};
use super::finding::operation;
use super::graph::Graph;
use super::history::{History, Step, Thread, below};
use super::result::OperationRow;
use super::search::Fault;
use super::state;
use crate::record::{Body, Contents, Tree};

/// Operations that are shown of one finding: those at both ends of what matters come first.
const MOST_MOMENTS: usize = 60;

/// Files that are shown of one finding.
const MOST_FILES: usize = 40;

/// An operation, and what the crash left of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Moment {
    pub operation: OperationRow,
    /// What is on disk of it.
    pub left: Left,
    /// What it is to a crash; `null` where it is not known.
    pub role: Option<Role>,
    /// Who made it; `null` where it is not known.
    pub thread: Option<Thread>,
    /// Whether it had returned when the power failed; `null` where it is not known.
    pub returned: Option<bool>,
    /// Of a durable one: the number of the operation whose sync guarantees that; `null` for others.
    pub durable_by: Option<u64>,
}

/// What an operation is to a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It changed files.
    Change,
    /// It waited until changes were on disk; of a write to a file opened with `O_SYNC` its second half.
    Sync,
    /// It acknowledged something.
    Report,
}

/// What a crash leaves of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Left {
    /// All of it, and a sync guarantees that.
    Durable,
    /// All of it, by chance.
    OnDisk,
    /// A part.
    Partly,
    /// Nothing.
    Lost,
    /// It changed nothing: a sync, or output.
    Done,
    /// A sync that returned an error.
    Failed,
    /// Nobody knows: no sync guarantees it, and the blocks of a real file system name no operation.
    Unknown,
}

/// A file before the program, in the crashed tree, and after the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FileRow {
    /// From the directory under test.
    pub path: String,
    /// Its length before, bytes; `null` where it was not there.
    pub before_bytes: Option<u64>,
    /// Its length in the crashed tree.
    pub at_bytes: Option<u64>,
    /// Its length after.
    pub after_bytes: Option<u64>,
    /// What the crash made of it.
    pub state: FileState,
}

names! {
    /// What a crash made of a file.
    pub enum FileState {
        /// As before the program, and not as after it.
        Old = "old",
        /// As after the program.
        New = "new",
        /// There, with no bytes.
        Empty = "empty",
        /// Nothing but zeros.
        Zeros = "zeros",
        /// As it was between two operations of the program.
        Between = "between",
        /// As it never was: older and newer bytes.
        Torn = "torn",
        /// It was there before or after, and is not.
        Missing = "missing",
    }
}

impl Left {
    /// `durable`, `on disk`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Durable => "durable",
            Self::OnDisk => "on disk",
            Self::Partly => "partly on disk",
            Self::Lost => "lost",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Unknown => "on disk or not",
        }
    }
}

impl History {
    /// What a path held after each operation that changed something.
    pub fn versions(&self, path: &[u8]) -> Vec<Contents> {
        let mut tree = self.base.clone();
        let mut versions: Vec<Contents> = Vec::new();
        for step in &self.steps {
            state::replay(&mut tree, &self.effects[step.effects.clone()]);
            let now = contents_of(&tree, self, path);
            versions.extend(now.filter(|now| versions.last() != Some(now)).cloned());
        }
        versions
    }

    /// The tree of a fault, and the number of acknowledgements by then.
    pub fn tree_of(&self, fault: &Fault) -> Option<(Tree, usize)> {
        // It was a tree when it was found.
        let (tree, _) = state::with(&self.base, self, &fault.state.kept).ok()?;
        Some((tree, self.told_at(fault.state.point.time)))
    }
}

/// The operations up to the crash, of many those around what was lost and the last ones; and how many are left out.
pub(super) fn moments(
    history: &History,
    graph: &Graph,
    fault: &Fault,
    directory: &[u8],
) -> (Vec<Moment>, u64) {
    let time = fault.state.point.time;
    let left = |step: usize| {
        let effects = history.steps[step].effects.clone();
        let kept = effects.clone().filter(|at| fault.state.kept[*at]).count();
        match kept {
            _ if effects.is_empty() => Left::Done,
            0 => Left::Lost,
            kept if kept < effects.len() => Left::Partly,
            _ if effects.clone().all(|at| graph.is_durable(at, time)) => Left::Durable,
            _ => Left::OnDisk,
        }
    };
    let moment = |step: usize| {
        let has_returned = history.steps[step].end <= time;
        moment(history, graph, directory, (step, left(step), has_returned))
    };
    let begun = told_of(history, |step| step.begin <= time);
    some_of(&begun, (fault.culprit, fault.before), moment)
}

/// The same of a state that a real file system has recovered, whose last flush was done at a time. By its rules is said
/// what syncs had made durable; of anything else nobody knows, since blocks name no operation.
pub(super) fn recovered_moments(
    history: &History,
    graph: &Graph,
    (ended_ns, cited): (u64, (usize, Option<usize>)),
    directory: &[u8],
) -> (Vec<Moment>, u64) {
    let has_returned = |step: &Step| step.ended_ns <= ended_ns;
    let returned = history.steps.iter().filter(|step| has_returned(step));
    let time = returned.map(|step| step.end).max();
    let left = |step: usize| {
        let mut effects = history.steps[step].effects.clone();
        let is_durable = |at| time.is_some_and(|time| graph.is_durable(at, time));
        match effects.is_empty() {
            true => Left::Done,
            false if effects.all(is_durable) => Left::Durable,
            false => Left::Unknown,
        }
    };
    let moment = |step: usize| {
        let has_returned = has_returned(&history.steps[step]);
        moment(history, graph, directory, (step, left(step), has_returned))
    };
    let begun = told_of(history, |step| step.started_ns <= ended_ns);
    some_of(&begun, cited, moment)
}

/// The steps that a crash has to do with.
fn told_of(history: &History, has_begun: impl Fn(&Step) -> bool) -> Vec<usize> {
    let steps = history.steps.iter().enumerate();
    let told = steps.filter(|(_, step)| {
        has_begun(step)
            && (!step.effects.is_empty()
                || step.sync.is_some()
                || step.error.is_some()
                || step.printed.is_some())
    });
    told.map(|(number, _)| number).collect()
}

/// Of many those around what was lost and the last ones; and how many are left out.
fn some_of(
    begun: &[usize],
    (culprit, before): (usize, Option<usize>),
    moment: impl Fn(usize) -> Moment,
) -> (Vec<Moment>, u64) {
    let mut told = Vec::new();
    let mut left_out = 0;
    let has_all = begun.len() <= MOST_MOMENTS;
    let near = |step: usize| step.abs_diff(culprit) <= MOST_MOMENTS / 3;
    let late = begun.len().saturating_sub(MOST_MOMENTS / 3);
    for (number, &step) in begun.iter().enumerate() {
        if has_all || Some(step) == before || near(step) || number >= late {
            told.push(moment(step));
        } else {
            left_out += 1;
        }
    }
    (told, left_out)
}

fn moment(
    history: &History,
    graph: &Graph,
    directory: &[u8],
    (number, left, has_returned): (usize, Left, bool),
) -> Moment {
    let step = &history.steps[number];
    let left = match step.error {
        Some(_) => Left::Failed,
        None => left,
    };
    let durable_by = || {
        let effects = step.effects.clone();
        let since = effects.filter_map(|at| graph.durable_since(at)).max()?;
        let sync = history.steps.iter().find(|step| step.end == since);
        sync.map(|step| step.operation)
    };
    Moment {
        operation: operation(step, directory),
        left,
        role: Some(role(step)),
        thread: Some(step.thread),
        returned: Some(has_returned),
        durable_by: durable_by().filter(|_| left == Left::Durable),
    }
}

fn role(step: &Step) -> Role {
    if !step.effects.is_empty() {
        Role::Change
    } else if step.sync.is_some() || step.error.is_some() {
        Role::Sync
    } else {
        Role::Report
    }
}

/// The files that differ between before, the crash, and after: damaged ones first.
pub(super) fn files(history: &History, fault: &Fault) -> Vec<FileRow> {
    let Some((at, _)) = history.tree_of(fault) else {
        return Vec::new();
    };
    let (before, after) = history.ends();
    let rebuilt = history.rebuilt_nodes();
    let mut paths: Vec<Vec<u8>> = [&before, &at, &after]
        .into_iter()
        .flat_map(|tree| below(tree, history.root))
        .filter(|(_, node)| !rebuilt.contains(node))
        .map(|(path, _)| path)
        .collect();
    paths.sort_unstable();
    paths.dedup();
    let versions = |path: &[u8]| {
        [&before, &at, &after].map(|tree| {
            contents_of(tree, history, path).map(|contents| Version {
                bytes: contents.size_bytes(),
                contents,
            })
        })
    };
    let is_zeros = |contents: &&Contents| contents.extents().next().is_none();
    rows(paths, versions, is_zeros, |path, at| {
        let versions = history.versions(path);
        versions.iter().any(|version| version == *at)
    })
}

/// The same of trees that were on real disks: files by their paths in the directory. `was` tells whether a path had such
/// bytes at some time.
pub fn files_between(
    before: &BTreeMap<Vec<u8>, Held>,
    at: &BTreeMap<Vec<u8>, Held>,
    after: &BTreeMap<Vec<u8>, Held>,
    mut was: impl FnMut(&[u8], &Digest) -> bool,
) -> Vec<FileRow> {
    let all = [before, at, after];
    let paths: BTreeSet<&[u8]> = all
        .into_iter()
        .flat_map(|files| files.keys().map(Vec::as_slice))
        .collect();
    let paths = paths.into_iter().map(<[u8]>::to_vec).collect();
    let versions = |path: &[u8]| {
        all.map(|files| match files.get(path)? {
            Held::Bytes { digest, size_bytes } => Some(Version {
                bytes: *size_bytes,
                contents: (digest, *size_bytes),
            }),
            Held::Symlink(_) | Held::Other => None,
        })
    };
    let zeros = |(digest, size_bytes): &(&Digest, u64)| is_zeros(digest, *size_bytes);
    rows(paths, versions, zeros, |path, (digest, _)| {
        was(path, digest)
    })
}

/// What a file is at some time.
#[derive(PartialEq)]
struct Version<T> {
    bytes: u64,
    contents: T,
}

/// The files of which there is more than one version: before, at the crash, after.
fn rows<T: PartialEq>(
    paths: Vec<Vec<u8>>,
    versions: impl Fn(&[u8]) -> [Option<Version<T>>; 3],
    is_zeros: impl Fn(&T) -> bool,
    mut was: impl FnMut(&[u8], &T) -> bool,
) -> Vec<FileRow> {
    let mut rows = Vec::new();
    for path in paths {
        let [before, at, after] = versions(&path);
        if before == at && at == after {
            continue;
        }
        let [before_bytes, at_bytes, after_bytes] =
            [&before, &at, &after].map(|version| version.as_ref().map(|version| version.bytes));
        let state = match &at {
            at if *at == after => FileState::New,
            at if *at == before => FileState::Old,
            None => FileState::Missing,
            Some(at) if at.bytes == 0 => FileState::Empty,
            Some(at) if is_zeros(&at.contents) => FileState::Zeros,
            Some(at) if was(&path, &at.contents) => FileState::Between,
            Some(_) => FileState::Torn,
        };
        rows.push(FileRow {
            path: String::from_utf8_lossy(&path).into_owned(),
            before_bytes,
            at_bytes,
            after_bytes,
            state,
        });
    }
    rows.sort_by_key(|row| matches!(row.state, FileState::Old | FileState::New));
    rows.truncate(MOST_FILES);
    rows
}

fn contents_of<'t>(tree: &'t Tree, history: &History, path: &[u8]) -> Option<&'t Contents> {
    let mut at = history.root;
    for name in path.split(|byte| *byte == b'/') {
        at = tree.entry(at, name)?;
    }
    match &tree.node(at)?.body {
        Body::File(contents) => Some(contents),
        _ => None,
    }
}
