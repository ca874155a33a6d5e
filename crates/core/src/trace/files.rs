//! One row for each file.

use std::collections::{BTreeMap, HashMap};

use super::assemble::{by_time, call_row, moved, requests_of, total};
use super::site::{by_file as sites_by_file, sites};
use super::{
    Bounds, Direction, Facts, FileCall, FileHistory, FileKind, FileRow, NamedFile, Residency, Seen,
    Shape, SiteRow, is_open, is_sync,
};
use crate::bytes;
use crate::evidence::{CacheRow, Charge, RawEvidence, SyscallRow, assemble as charge};
use crate::ledger::Ledger;
use crate::op::FileId;
use crate::timing::seconds;

/// The files of a run, most time first. Moves large data out of the rows of calls as it goes: the
/// rows and their result together would be the peak memory of a run.
pub(super) fn file_rows(
    raw: &mut RawEvidence,
    seen: &Seen,
    mut histories: BTreeMap<FileId, Box<FileHistory>>,
    facts: &Facts,
    ledger: Option<&Ledger>,
    left: &BTreeMap<FileId, Option<Bounds>>,
) -> Vec<FileRow> {
    let names: HashMap<FileId, &NamedFile> =
        seen.names.iter().map(|named| (named.file, named)).collect();
    let sites = sites_by_file(&seen.sites);
    let residencies = facts.lower.iter().flat_map(|lower| &lower.residency);
    let residencies: HashMap<FileId, &Residency> = residencies
        .map(|residency| (residency.file, residency))
        .collect();
    let empty = RawEvidence {
        syscalls: raw.syscalls.as_ref().map(|_| Vec::new()),
        cache: raw.cache.as_ref().map(|_| Vec::new()),
        blocked_seen: raw.blocked_seen,
        ..RawEvidence::default()
    };
    let files = by_file(raw).into_iter();
    let mut files: Vec<_> = files.map(|(file, own)| (own.time_s(), file, own)).collect();
    // Before the rows are built: they are large.
    by_time(&mut files, |(time_s, ..)| *time_s);
    let rows = files.into_iter().map(|(_, file, own)| {
        let evidence = own.evidence(&empty);
        let named = names.get(&file).copied();
        let mut row = file_row(file, &evidence, named, seen, facts);
        requests_of(&mut row.evidence, |phase| {
            let is_seen = !facts.storage.unseen.contains_key(&file.device);
            let ledger = ledger.filter(|_| is_seen);
            ledger.map(|ledger| ledger.file(file, phase))
        });
        if let Some(residency) = residencies.get(&file) {
            row.evidence.cache.resident_before_bytes = residency.before_bytes;
            row.evidence.cache.resident_after_bytes = residency.after_bytes;
        }
        if let Some(sites) = sites.get(&file) {
            add_sites(&mut row.calls, sites);
        }
        (row.dirty_at_exit_bytes, row.dirty_at_exit_bytes_shared) =
            Bounds::told(left.get(&file).copied().flatten());
        row.history = histories.remove(&file);
        let has_name = row
            .history
            .as_ref()
            .is_some_and(|history| !history.unlinked);
        row.deleted = named.is_some_and(|named| named.is_removed) && !has_name;
        row
    });
    rows.collect()
}

#[derive(Default)]
struct Own<'a> {
    syscalls: Vec<&'a mut SyscallRow>,
    cache: Vec<CacheRow>,
}

impl Own<'_> {
    fn time_s(&self) -> f64 {
        self.syscalls.iter().map(|row| seconds(row.time_ns)).sum()
    }

    /// As separate evidence, with the strata of `empty`.
    fn evidence(self, empty: &RawEvidence) -> RawEvidence {
        let calls = self.syscalls.into_iter().map(|row| SyscallRow {
            histogram: std::mem::take(&mut row.histogram),
            shape: row.shape.take(),
            ..*row
        });
        RawEvidence {
            syscalls: empty.syscalls.as_ref().map(|_| calls.collect()),
            cache: empty.cache.as_ref().map(|_| self.cache),
            ..empty.clone()
        }
    }
}

/// The rows of each file that the tree used, in one pass: searching all rows for each file would
/// take minutes for 10,000 files.
fn by_file(raw: &mut RawEvidence) -> BTreeMap<FileId, Own<'_>> {
    let mut files: BTreeMap<FileId, Own<'_>> = BTreeMap::new();
    for row in raw.syscalls.iter_mut().flatten() {
        if let Some(file) = row.file {
            files.entry(file).or_default().syscalls.push(row);
        }
    }
    let kept = |row: &&CacheRow| !row.metadata && !raw.summed.files.contains(&row.file);
    for row in raw.cache.iter().flatten().filter(kept) {
        files.entry(row.file).or_default().cache.push(*row);
    }
    files
}

fn file_row(
    file: FileId,
    own: &RawEvidence,
    named: Option<&NamedFile>,
    seen: &Seen,
    facts: &Facts,
) -> FileRow {
    let calls: Vec<&SyscallRow> = own.syscalls.iter().flatten().collect();
    let (device, inode) = named.map_or((file.device, file.inode), |named| named.shown);
    let (major, minor) = FileId::device_numbers(device);
    let unnamed = || format!("(inode {} on {major}:{minor})", file.inode).into_bytes();
    let path = named.map_or_else(unnamed, |named| named.path.clone());
    let syncs = calls.iter().filter(|row| is_sync(row.name));
    let opens = calls.iter().filter(|row| is_open(row.name));
    FileRow {
        path: String::from_utf8_lossy(&path).into_owned(),
        path_hex: bytes::hex_unless_text(&path),
        renamed_to: seen
            .followed
            .renamed_to
            .get(&file)
            .map(|path| String::from_utf8_lossy(path).into_owned()),
        deleted: false,
        kind: named.map_or(FileKind::Regular, |named| named.kind),
        device: format!("{major}:{minor}"),
        inode,
        generation: file.generation,
        filesystem: named.map_or_else(String::new, |named| named.filesystem.clone()),
        size_before_bytes: named.map_or(0, |named| named.size_bytes),
        opens: total(opens.map(|row| row.count)),
        reads: moved(&calls, Direction::Read),
        writes: moved(&calls, Direction::Write),
        syncs: syncs.map(|row| row.stats()).sum(),
        calls: file_calls(&calls, (own.blocked_seen, facts.started_ns)),
        evidence: charge(own, &Charge::default()),
        dirty_at_exit_bytes: None,
        dirty_at_exit_bytes_shared: None,
        residency: facts.residency.get(&file).cloned(),
        history: None,
    }
}

fn file_calls(calls: &[&SyscallRow], seen: (bool, u64)) -> Vec<FileCall> {
    let mut by_name: BTreeMap<(&str, bool), Vec<&SyscallRow>> = BTreeMap::new();
    for row in calls {
        by_name
            .entry((row.name, row.is_source))
            .or_default()
            .push(row);
    }
    let mut of_file: Vec<FileCall> = by_name
        .into_iter()
        .map(|((name, is_source), rows)| FileCall {
            row: call_row(name, &rows, seen),
            is_source,
            sites: Vec::new(),
            shape: shape(&rows),
        })
        .collect();
    by_time(&mut of_file, |call| call.row.stats.time_s);
    of_file
}

/// The shape of the transfers of all rows.
fn shape(rows: &[&SyscallRow]) -> Option<Box<Shape>> {
    let mut shapes = rows.iter().filter_map(|row| row.shape.as_deref());
    let mut sum = Box::new(shapes.next()?.clone());
    for shape in shapes {
        sum.merge(shape);
    }
    Some(sum)
}

/// A row for a source file has no sites: they are in the row of the destination file.
fn add_sites(calls: &mut [FileCall], rows: &[&SiteRow]) {
    for call in calls.iter_mut().filter(|call| !call.is_source) {
        call.sites = sites(rows, &call.row.name);
    }
}
