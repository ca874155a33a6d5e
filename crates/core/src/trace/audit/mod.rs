//! The audit: what the kernel side counts in two ways must agree, and what was written must have gone somewhere.
//!
//! Each law compares figures that reach the result by different ways: sums of threads, tables of calls and files,
//! moments, steps of histories, pages and requests. One that is broken makes the figures it covers unknown.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use super::budget::Amount;
use super::calls::{Counted, group};
use super::purpose::Purpose;
use super::{
    AtExit, CallGroup, CallRow, Direction, FileCall, FileKind, FileRow, TaskRow, TraceResult,
    direction, is_operation, is_resize, is_sync, stores,
};
use crate::cache::is_in_memory;
use crate::evidence::{Cause, Life, Pages, RawEvidence};
use crate::gap::{Gap, Missing, Reason, Stratum};
use crate::law::Law;
use crate::ledger::{Owner, owner};
use crate::op::FileId;

/// A law held against a result.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Judged {
    pub law: Law,
    /// The figure of the result; for some laws the files, calls or threads that obey.
    pub ours: Amount,
    /// The same, as it was counted by other means; or all of them.
    pub witness: Amount,
    pub holds: bool,
}

impl Judged {
    fn equal<T: PartialEq>(law: Law, amount: fn(T) -> Amount, ours: T, witness: T) -> Self {
        Self {
            law,
            holds: ours == witness,
            ours: amount(ours),
            witness: amount(witness),
        }
    }

    /// Of sums in nanoseconds that have become seconds.
    fn seconds(law: Law, ours: f64, witness: f64) -> Self {
        Self {
            holds: (ours - witness).abs() <= ROUNDED * (1.0 + ours.abs()),
            ..Self::equal(law, Amount::Seconds, ours, witness)
        }
    }

    fn each(law: Law, all: usize, obey: usize) -> Self {
        Self::equal(law, Amount::Count, obey as u64, all as u64)
    }
}

/// Seconds are rounded in their last digits when they are added up.
const ROUNDED: f64 = 1e-6;

pub(super) fn audit(
    result: &TraceResult,
    raw: &RawEvidence,
    left: &BTreeMap<FileId, AtExit>,
) -> Vec<Judged> {
    let mut judged = Vec::new();
    if result.lost_events == 0 && is_whole(result) {
        judged.extend(of_calls(result));
        judged.extend(accounting(result, raw));
    }
    judged.extend(bounds(result));
    if result.lost_events == 0 {
        judged.extend(timeline_requests(result, raw));
    }
    if result.lost_events == 0 && is_over(result) {
        judged.extend(of_files(result, raw, left));
    }
    judged
}

/// Whether no thread goes on while sums are read.
fn is_over(result: &TraceResult) -> bool {
    result.tasks.iter().all(|task| task.ended_s.is_some())
}

/// Whether all threads and files have a row.
fn is_whole(result: &TraceResult) -> bool {
    is_over(result)
        && result.evidence.syscalls.is_some()
        && result.threads == result.tasks.len() as u64
        && result.other_calls == 0
        && result.summed_files == 0
}

fn of_calls(result: &TraceResult) -> Vec<Judged> {
    let tasks = &result.tasks;
    let made = || {
        result
            .syscalls
            .iter()
            .filter(|row| !is_operation(&row.name))
    };
    let on_files = || {
        let calls = result.files.iter().flat_map(|file| &file.calls);
        calls.filter(|call| !is_operation(&call.row.name))
    };
    let own = || {
        on_files()
            .filter(|call| !call.is_source)
            .map(|call| &call.row)
    };
    let moved = || on_files().filter(|call| direction(&call.row.name).is_some());
    // `tee` moves bytes between two pipes, and is on neither.
    let is_unfiled = |row: &&CallRow| {
        let by_name = group(&row.name).is_some_and(|of| of.counted == Counted::ByName);
        by_name && direction(&row.name).is_some()
    };
    let unfiled = made().filter(is_unfiled);
    let mut judged = vec![
        Judged::equal(
            Law::Calls,
            Amount::Count,
            total(made(), |row| row.stats.count),
            total(tasks, |task| task.calls),
        ),
        Judged::seconds(
            Law::Time,
            own().map(|row| row.stats.time_s).sum(),
            tasks.iter().map(|task| task.time_s).sum(),
        ),
        Judged::equal(
            Law::Bytes,
            Amount::Bytes,
            total(moved(), |call| call.row.stats.bytes)
                .saturating_add(total(unfiled, |row| row.stats.bytes)),
            total(tasks, |task| {
                task.read_bytes.saturating_add(task.written_bytes)
            }),
        ),
        histogram(&result.syscalls),
    ];
    let blocked: Option<f64> = own().map(|row| row.blocked_s).sum();
    let of_tasks: Option<f64> = tasks.iter().map(|task| task.blocked_s).sum();
    let blocked = blocked.zip(of_tasks);
    judged.extend(blocked.map(|(ours, witness)| Judged::seconds(Law::Blocked, ours, witness)));
    judged.extend(timeline_calls(result));
    judged
}

/// How many times the kernel adds what the call returns to `rchar` and `wchar` of the thread (`add_rchar` and
/// `add_wchar`, `fs/read_write.c`).
pub fn accounted_times(call: &str) -> u64 {
    match call {
        "read" | "readv" | "pread64" | "preadv" | "preadv2" | "write" | "writev" | "pwrite64"
        | "pwritev" | "pwritev2" => 1,
        "sendfile" | "copy_file_range" => 2,
        _ => 0,
    }
}

/// On overlay, a copy is accounted once more for the files below (`ovl_copyfile`, fs/overlayfs/file.c); eCryptfs reads and
/// writes files below as the thread (`ecryptfs_read_lower`, `fs/ecryptfs/read_write.c`).
fn accounting(result: &TraceResult, raw: &RawEvidence) -> Option<Judged> {
    let is_copied =
        |call: &FileCall| call.row.name == "copy_file_range" && call.row.stats.bytes > 0;
    let is_twice = |file: &FileRow| match &*file.filesystem {
        "ecryptfs" => true,
        "overlay" => file.calls.iter().any(is_copied),
        _ => false,
    };
    // A request of btrfs reads for the thread (`btrfs_uring_encoded_read`, fs/btrfs/ioctl.c).
    let is_command =
        |row: &CallRow| matches!(&*row.name, "io_uring.uring_cmd" | "io_uring.uring_cmd128");
    let is_unknown = result.files.iter().any(is_twice) || result.syscalls.iter().any(is_command);
    let witness = raw.totals?.accounted_bytes?;
    let own = result.files.iter().flat_map(|file| &file.calls);
    let own = own.filter(|call| !call.is_source);
    let ours = total(own, |call| {
        let stats = &call.row.stats;
        stats.bytes.saturating_mul(accounted_times(&call.row.name))
    });
    (!is_unknown).then(|| Judged::equal(Law::Accounting, Amount::Bytes, ours, witness))
}

/// A call in bucket n took 2^n to 2^(n + 1) - 1 ns.
fn histogram(rows: &[CallRow]) -> Judged {
    let obeys = |row: &&CallRow| {
        let bounds = (0..)
            .zip(&row.took)
            .fold((0.0, 0.0), |(least, most), (power, count)| {
                let count = *count as f64;
                let shortest = if power == 0 { 0.0 } else { 2_f64.powi(power) };
                (
                    least + count * shortest,
                    most + count * 2_f64.powi(power + 1),
                )
            });
        let within = bounds.0 / 1e9 - ROUNDED..=bounds.1 / 1e9 + ROUNDED;
        row.took.iter().sum::<u64>() == row.stats.count && within.contains(&row.stats.time_s)
    };
    Judged::each(
        Law::Histogram,
        rows.len(),
        rows.iter().filter(obeys).count(),
    )
}

/// What goes to files that the kernel makes up is not in it.
fn timeline_calls(result: &TraceResult) -> Option<Judged> {
    let timeline = result.timeline.as_ref()?;
    let kept = [Purpose::Write, Purpose::Sync];
    let series = timeline
        .calls
        .iter()
        .filter(|series| kept.contains(&series.group));
    let calls = result.files.iter().flat_map(|file| {
        let is_stored = stores(file.kind, &file.filesystem);
        let own = file.calls.iter().filter(|call| !call.is_source);
        own.filter(move |call| match Purpose::of(&call.row.name) {
            Some(Purpose::Write) => is_stored,
            purpose => purpose == Some(Purpose::Sync),
        })
    });
    let ours = total(calls, |call| call.row.stats.count);
    let witness = series.flat_map(|series| &series.counts).sum();
    // Syncs of all file systems are on no file.
    let on_none = result.syscalls.iter().filter(|row| is_sync(&row.name));
    let syncs = total(on_none, |row| row.stats.count);
    let on_files = result.files.iter().flat_map(|file| &file.calls);
    let on_files = on_files.filter(|call| is_sync(&call.row.name));
    let without_file = syncs.saturating_sub(total(on_files, |call| call.row.stats.count));
    Some(Judged::equal(
        Law::TimelineCalls,
        Amount::Count,
        ours.saturating_add(without_file),
        witness,
    ))
}

/// All that may be the run's. Of data that others may have dirtied, and of what is submitted for nobody knows whom, the
/// timeline has more.
fn timeline_requests(result: &TraceResult, raw: &RawEvidence) -> Option<Judged> {
    let timeline = result.timeline.as_ref()?;
    let series = timeline.requests.as_ref()?;
    let range = result.evidence.device?;
    let mut rows = raw.block.iter().flatten();
    if rows.any(|row| owner(row) == Owner::Unknown) {
        return None;
    }
    // Which of the pages that others had turned dirty were written back, the moments do not tell.
    let is_exact =
        range.exact(|device| device.data).is_some() && raw.lives.values().all(Life::is_alone);
    let is_judged = |cause: Cause| cause != Cause::Data || is_exact;
    let causes = Cause::with_data().filter(|cause| is_judged(*cause));
    let ours: Vec<_> = causes.map(|cause| range.at_most.of(cause)).collect();
    let witness: Vec<_> = series
        .iter()
        .filter(|series| is_judged(series.cause))
        .collect();
    let flushes = range.at_most.of(Cause::Flush).count;
    let requests = total(&ours, |of| of.count).saturating_add(flushes);
    let flushes = timeline.flushes.iter().flatten();
    let counts = witness.iter().flat_map(|series| &series.counts);
    let is_equal = requests == counts.chain(flushes).sum::<u64>();
    let judged = Judged::equal(
        Law::TimelineRequests,
        Amount::Bytes,
        total(&ours, |of| of.bytes),
        witness.iter().flat_map(|series| &series.bytes).sum(),
    );
    Some(Judged {
        holds: judged.holds && is_equal,
        ..judged
    })
}

fn of_files(
    result: &TraceResult,
    raw: &RawEvidence,
    left: &BTreeMap<FileId, AtExit>,
) -> Vec<Judged> {
    let regular = || {
        let files = result.files.iter();
        files.filter(|file| file.kind == FileKind::Regular && !is_in_memory(&file.filesystem))
    };
    let judge = |law, obeys: &dyn Fn(&FileRow) -> Option<bool>| {
        let outcomes: Vec<bool> = regular().filter_map(obeys).collect();
        let obey = outcomes.iter().filter(|obeys| **obeys).count();
        (!outcomes.is_empty()).then(|| Judged::each(law, outcomes.len(), obey))
    };
    let direct = raw
        .block
        .iter()
        .flatten()
        .filter(|row| row.pages == Pages::Direct);
    let past_cache: HashSet<FileId> = direct.filter_map(|row| row.file).collect();
    let judged = [
        judge(Law::History, &history),
        judge(Law::Dirtied, &|file| dirtied(file, raw, &past_cache)),
        judge(Law::Synced, &|file| synced(file, left)),
    ];
    judged.into_iter().flatten().collect()
}

fn written_bytes(file: &FileRow) -> u64 {
    let writes = file.calls.iter().filter(|call| !call.is_source);
    let writes = writes.filter(|call| direction(&call.row.name) == Some(Direction::Write));
    total(writes, |call| call.row.stats.bytes)
}

fn history(file: &FileRow) -> Option<bool> {
    let history = file.history.as_ref().filter(|history| !history.uncertain)?;
    Some(history.written_bytes == written_bytes(file))
}

/// Where nobody else has dirtied pages that the run's writes could have found dirty, and no bytes went past the page
/// cache: copies inside the kernel may share blocks.
fn dirtied(file: &FileRow, raw: &RawEvidence, past_cache: &HashSet<FileId>) -> Option<bool> {
    let dirtied_bytes = file.evidence.cache.dirtied_bytes?;
    file.evidence.device?;
    let id = file.id()?;
    let life = raw.lives.get(&id)?;
    // On btrfs the requests of direct writes name no file (btrfs_submit_direct, fs/btrfs/direct-io.c).
    let mut calls = file.calls.iter().filter(|call| !call.is_source);
    let is_copied = calls.any(|call| CallGroup::of(&call.row.name) == Some(CallGroup::Copies));
    let is_cached = !past_cache.contains(&id) && !is_copied && file.filesystem != "btrfs";
    (life.is_alone() && is_cached && written_bytes(file) > MAY_BE_INLINE)
        .then_some(dirtied_bytes > 0)
}

/// Small files may be part of their inode.
const MAY_BE_INLINE: u64 = 4096;

/// A new file that was not changed after its sync, of which no page is dirty, and that has blocks: its pages were not
/// dropped by a truncation.
fn synced(file: &FileRow, left: &BTreeMap<FileId, AtExit>) -> Option<bool> {
    let history = file.history.as_ref().filter(|history| !history.uncertain)?;
    let dirtied_bytes = file.evidence.cache.dirtied_bytes?;
    let device = file.evidence.device?;
    let resizes = file.calls.iter().any(|call| is_resize(&call.row.name));
    let is_judged = history.syncs.count > history.syncs_of_nothing.count
        && history.unsynced_bytes == 0
        && !history.emptied.is_any()
        && !resizes
        && file.size_before_bytes == 0
        && left.get(&file.id()?)?.has_blocks
        && left.get(&file.id()?)?.dirty_bytes == Some(0)
        // Of compressed data, the requests name no file (btrfs_submit_compressed_write, fs/btrfs/compression.c).
        && file.filesystem != "btrfs"
        && dirtied_bytes > 0
        && history.written_bytes > MAY_BE_INLINE;
    // With data=journal they are in the journal first, which is no file's.
    is_judged.then_some(device.at_most.data.bytes > 0)
}

fn bounds(result: &TraceResult) -> Option<Judged> {
    // What still runs is asked after the end of the run, and may have begun after it.
    let lived_s = |task: &TaskRow| Some(task.ended_s? - task.started_s);
    let obeys = |task: &&TaskRow| {
        let blocked_s = task.blocked_s.unwrap_or(0.0);
        let used_s = task.on_cpu_s.unwrap_or(0.0) + blocked_s;
        let is_within = |lived_s: f64| used_s <= lived_s * (1.0 + CLOCKS) + CLOCKS_S;
        blocked_s <= task.time_s + ROUNDED && lived_s(task).is_none_or(is_within)
    };
    let tasks = &result.tasks;
    (!tasks.is_empty())
        .then(|| Judged::each(Law::Bounds, tasks.len(), tasks.iter().filter(obeys).count()))
}

/// The scheduler's clock and that of events differ, and a thread runs before its begin is reported.
const CLOCKS: f64 = 0.01;
const CLOCKS_S: f64 = 0.005;

/// What is unknown without it.
pub(super) fn covers(law: Law) -> Stratum {
    match law {
        Law::TimelineRequests | Law::Synced => Stratum::Device,
        Law::Dirtied => Stratum::PageCache,
        _ => Stratum::Syscalls,
    }
}

/// Takes the figures that a broken law covers out of the result.
pub(super) fn withdraw(result: &mut TraceResult) {
    for law in result.broken_laws().collect::<Vec<_>>() {
        let what = Missing::Contradicted(covers(law));
        match covers(law) {
            Stratum::Device => {
                let files = result.files.iter_mut().map(|file| &mut file.evidence);
                for evidence in files.chain([&mut result.evidence]) {
                    (evidence.device, evidence.device_after_exit) = (None, None);
                }
                let bytes = &mut result.bytes;
                (bytes.device_read_bytes, bytes.device_read_bytes_shared) = (None, None);
                (
                    bytes.device_written_bytes,
                    bytes.device_written_bytes_shared,
                ) = (None, None);
                if let Some(timeline) = &mut result.timeline {
                    (timeline.requests, timeline.flushes) = (None, None);
                }
            }
            Stratum::PageCache => {
                let files = result.files.iter_mut().map(|file| &mut file.evidence);
                for evidence in files.chain([&mut result.evidence]) {
                    evidence.cache.dirtied_bytes = None;
                }
                result.bytes.dirtied_bytes = None;
            }
            _ => {}
        }
        result.missing.push(Gap::new(what, Reason::BrokenLaw(law)));
    }
}

fn total<T>(rows: impl IntoIterator<Item = T>, of: impl Fn(T) -> u64) -> u64 {
    rows.into_iter().map(of).fold(0, u64::saturating_add)
}
