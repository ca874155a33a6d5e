//! Which commits of the journal syncs waited for, and who took part in their transactions.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::assemble::text;
use crate::op::FileId;

/// Who took part that are named.
const MOST_PARTS: usize = 20;

/// A transaction of a journal: the file system's `s_dev`, and its number there.
pub type Transaction = (u32, u32);

/// Syncs and synchronous writes of a process on a file that waited for one commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitWait {
    pub process: u32,
    pub file: Option<FileId>,
    pub transaction: Transaction,
    pub count: u64,
}

/// Who took part in a transaction, with which file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitPart {
    /// The process; `None` for threads of the kernel.
    pub process: Option<u32>,
    pub name: Option<String>,
    /// The file or directory, where it is known.
    pub path: Option<Vec<u8>>,
}

/// Commits that were waited for in an interval.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Commits {
    /// Whether they are seen, of ext4.
    pub are_seen: bool,
    /// Who waited.
    pub waits: Vec<CommitWait>,
    /// Who took part, of transactions that were seen from their begin.
    pub parts: HashMap<Transaction, Vec<CommitPart>>,
}

/// The commits of the journal that syncs waited for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Awaited {
    /// Syncs and synchronous writes during which the transaction with the last change of their file was committed.
    pub syncs: u64,
    /// These transactions.
    pub commits: u64,
    /// Of these, transactions that were seen from their begin.
    pub commits_known: u64,
    /// Who took part in those: started a handle of the journal in it, as each change of metadata does.
    /// Most transactions first.
    pub parts: Vec<Part>,
    /// Further ones that are not named.
    pub parts_more: u64,
}

/// A process and a file in transactions that were waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Part {
    /// The process; `null` for threads of the kernel, such as write-back.
    pub pid: Option<u32>,
    /// Its name; `null` for threads of the kernel, or when unknown.
    pub name: Option<String>,
    /// The file or directory; `null` for changes of the file system as a whole, for further files of a
    /// process that changed more than 16, or when unknown.
    pub path: Option<String>,
    /// In how many of the transactions.
    pub commits: u64,
}

/// What the syncs of a process on a file waited for.
pub(super) fn awaited(commits: &Commits, process: u32, file: Option<FileId>) -> Awaited {
    let of_it = |wait: &&CommitWait| wait.process == process && wait.file == file;
    let waits: Vec<&CommitWait> = commits.waits.iter().filter(of_it).collect();
    let transactions: BTreeSet<Transaction> = waits.iter().map(|wait| wait.transaction).collect();
    let known = transactions.iter().filter_map(|one| commits.parts.get(one));
    let known: Vec<&Vec<CommitPart>> = known.collect();
    let mut by: BTreeMap<&CommitPart, u64> = BTreeMap::new();
    for part in known.iter().copied().flatten() {
        *by.entry(part).or_default() += 1;
    }
    let mut parts: Vec<(&CommitPart, u64)> = by.into_iter().collect();
    parts.sort_by_key(|(_, commits)| std::cmp::Reverse(*commits));
    let more = parts.len().saturating_sub(MOST_PARTS);
    parts.truncate(MOST_PARTS);
    let named = parts.into_iter().map(|(part, commits)| Part {
        pid: part.process,
        name: part.name.clone(),
        path: part.path.as_deref().map(text),
        commits,
    });
    Awaited {
        syncs: waits.iter().map(|wait| wait.count).sum(),
        commits: transactions.len() as u64,
        commits_known: known.len() as u64,
        parts: named.collect(),
        parts_more: more as u64,
    }
}
