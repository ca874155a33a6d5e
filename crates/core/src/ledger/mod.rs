//! Whose device requests are: each belongs to one life of one file, or to none, and every total is the sum of these.
//!
//! A life of a file is its device, inode and generation. Reads and direct writes belong to the run if a task of it
//! submitted them. Whose written-back pages are is not seen of a single request, and follows from four sums over a life
//! (`written`). Requests without a file belong to the run as far as it has a [`Claim`] to them.

mod written;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::evidence::{
    BlockRow, Cause, Claim, DeviceCounts, DeviceRange, Pages, Phase, RawEvidence, Submitter,
};
use crate::op::FileId;
use crate::trace::{AtExit, Bounds, Direction, FileHistory, direction, is_resize};

use written::Written;

/// The device requests of a run.
#[derive(Debug, Default)]
pub struct Ledger {
    files: BTreeMap<FileId, ByPhase>,
    without_file: ByPhase,
}

#[derive(Debug, Clone, Copy, Default)]
struct ByPhase {
    running: DeviceRange,
    after_exit: DeviceRange,
}

impl ByPhase {
    fn of(&mut self, phase: Phase) -> &mut DeviceRange {
        match phase {
            Phase::Running => &mut self.running,
            Phase::AfterExit => &mut self.after_exit,
        }
    }

    fn is_shared(&self) -> bool {
        [self.running, self.after_exit]
            .iter()
            .any(|range| range.at_least != range.at_most)
    }
}

impl Ledger {
    /// Of the requests to these disks. For a disk, `claim` returns how much of a cause's requests without a file,
    /// submitted by others, belongs to the run. `None` where requests were not observed.
    pub fn new(
        raw: &RawEvidence,
        disks: &[u32],
        claim: impl Fn(u32, Cause) -> Claim,
    ) -> Option<Self> {
        let mut ledger = Self::default();
        let mut back: BTreeMap<(FileId, Phase), Back> = BTreeMap::new();
        let used = used(raw);
        let rows = raw.block.as_ref()?.iter();
        for row in rows.filter(|row| disks.contains(&row.disk)) {
            match (row.file, owner(row)) {
                (Some(file), Owner::Run) => {
                    let of = ledger.files.entry(file).or_default().of(row.phase);
                    of.add(row, Claim::All);
                }
                (Some(file), Owner::Pages) => {
                    let back = back.entry((file, row.phase)).or_default();
                    back.counts.add_row(row);
                    back.disks.insert(row.disk);
                }
                (Some(file), Owner::Unknown) if used.contains(&file) => {
                    let of = ledger.files.entry(file).or_default().of(row.phase);
                    of.add(row, Claim::Some);
                }
                (Some(_), Owner::Unknown) | (_, Owner::Others) => {}
                (None, Owner::Run) => ledger.without_file.of(row.phase).add(row, Claim::All),
                (None, owner) => {
                    let mut claim = claim(row.disk, row.cause);
                    if owner == Owner::Unknown {
                        claim = claim.max(Claim::Some);
                    }
                    ledger.without_file.of(row.phase).add(row, claim);
                }
            }
        }
        let written = written(raw, back.keys().map(|(file, _)| *file));
        for ((file, phase), back) in back {
            // Of a file with copies on several disks the sums of pages say less.
            let known = written.get(&file).copied();
            let written = known.filter(|known| back.disks.len() == 1 || known.is_alone());
            let range = written.unwrap_or_default().of_written_back(back.counts);
            let of = ledger.files.entry(file).or_default().of(phase);
            *of = of.plus(range);
        }
        Some(ledger)
    }

    /// Those for one file.
    pub fn file(&self, file: FileId, phase: Phase) -> DeviceRange {
        let of = self.files.get(&file).copied();
        *of.unwrap_or_default().of(phase)
    }

    /// Whether others have dirtied files that the run writes to, so that some figures are not exact.
    pub fn has_shared_pages(&self) -> bool {
        self.files.values().any(ByPhase::is_shared)
    }

    /// Whether others have used its disks, so that some figures of requests without a file are not exact.
    pub fn has_shared_disks(&self) -> bool {
        self.without_file.is_shared()
    }

    /// The sum of all.
    pub fn total(&self, phase: Phase) -> DeviceRange {
        let files = self.files.values().copied();
        files.fold(*self.without_file.clone().of(phase), |sum, mut file| {
            sum.plus(*file.of(phase))
        })
    }
}

/// Whose a request is, as far as it shows that itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Run,
    /// That of the pages, which the request does not name; or, without a file, that of the disk.
    Pages,
    /// One of those that use the file; or, without one, have changed the disk.
    Unknown,
    Others,
}

pub(crate) fn owner(row: &BlockRow) -> Owner {
    match (row.cause, row.pages) {
        (Cause::Read, _) | (_, Pages::Direct) => match row.submitter {
            Submitter::Run => Owner::Run,
            Submitter::Worker => Owner::Unknown,
            Submitter::Others | Submitter::Unknown => Owner::Others,
        },
        (Cause::Data, Pages::WrittenByRun) => Owner::Pages,
        (Cause::Data, Pages::Others) => Owner::Others,
        // One request serves all that wait for a flush, or took part in a transaction.
        _ => match row.submitter {
            Submitter::Run => Owner::Run,
            Submitter::Others => Owner::Others,
            Submitter::Worker => Owner::Unknown,
            Submitter::Unknown => Owner::Pages,
        },
    }
}

/// How much of what is dirty in these files is the run's; `None` where that cannot be said. Where its processes
/// `run_on`, they may have dirtied more since.
pub(crate) fn left_dirty(
    raw: &RawEvidence,
    histories: &BTreeMap<FileId, Box<FileHistory>>,
    at_exit: &BTreeMap<FileId, AtExit>,
    run_on: bool,
) -> BTreeMap<FileId, Option<Bounds>> {
    let written = written(raw, at_exit.keys().copied());
    let left = |file: &FileId, dirty_bytes: Option<u64>| {
        let of = written.get(file).copied().unwrap_or_default();
        let history = histories.get(file).filter(|_| !run_on && !of.is_resized);
        if dirty_bytes.is_none() && history.is_some_and(|history| is_synced(history)) {
            return Some(Bounds::default());
        }
        // Stops show neither which folios a write dirties nor who else dirties some.
        if raw.cache.is_none() {
            return dirty_bytes.map(|bytes| (0, bytes).into());
        }
        Some(of.left(dirty_bytes, run_on).into())
    };
    let each = at_exit.iter();
    each.map(|(file, asked)| (*file, left(file, asked.dirty_bytes)))
        .collect()
}

/// Whether all that was written to it by calls is on the disk, and nothing was stored to it.
fn is_synced(history: &FileHistory) -> bool {
    let has_synced = history.syncs.is_any() || history.synchronous;
    has_synced && history.unsynced_bytes == 0 && !history.mapped_to_write.is_any()
}

/// Whether the run has sent the request, or has written to the file of its pages.
pub fn is_of_run(row: &BlockRow) -> bool {
    match owner(row) {
        Owner::Run => true,
        Owner::Pages => row.file.is_some(),
        Owner::Unknown | Owner::Others => false,
    }
}

/// What was written back for one life.
#[derive(Debug, Default)]
struct Back {
    counts: DeviceCounts,
    disks: BTreeSet<u32>,
}

/// Files that the run has used, if a request may be for one of them.
fn used(raw: &RawEvidence) -> HashSet<FileId> {
    let mut rows = raw.block.iter().flatten();
    if !rows.any(|row| owner(row) == Owner::Unknown) {
        return HashSet::new();
    }
    let called = raw.syscalls.iter().flatten().filter_map(|row| row.file);
    let cached = raw.cache.iter().flatten().map(|row| row.file);
    called.chain(cached).collect()
}

/// What happened to the pages of these files.
fn written(raw: &RawEvidence, files: impl Iterator<Item = FileId>) -> HashMap<FileId, Written> {
    let mut all: HashMap<FileId, Written> = files
        .map(|file| (file, Written::beside(raw.lives.get(&file))))
        .collect();
    for row in raw.cache.iter().flatten().filter(|row| !row.metadata) {
        if let Some(written) = all.get_mut(&row.file) {
            written.dirtied(row.dirtied_bytes);
        }
    }
    for row in raw.syscalls.iter().flatten().filter(|row| !row.is_source) {
        let writes = direction(row.name) == Some(Direction::Write);
        let Some(written) = row.file.and_then(|file| all.get_mut(&file)) else {
            continue;
        };
        if writes {
            written.called(row.count, row.returned);
        } else if is_resize(row.name) {
            written.is_resized = true;
        }
    }
    all
}

#[cfg(test)]
mod tests;
