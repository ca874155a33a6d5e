//! Builds the result from a back end's observation.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::audit::{audit, withdraw};
use super::calls::unfollowed;
use super::files::file_rows;
use super::shape::without_order;
use super::sharing::{Claims, Storage};
use super::timeline::timeline;
use super::{
    AtExit, Attached, Bounds, CallRow, Descent, Direction, FileRow, Lower, SCHEMA, Seen, Task,
    TaskRow, TraceResult, direction, stores,
};
use crate::cache::ResidencyMap;
use crate::environment::Environment;
use crate::evidence::{
    CallStats, Cause, Charge, Claim, DeviceRange, Evidence, Life, Phase, RawEvidence, Summed,
    SyscallRow, assemble as charge,
};
use crate::gap::{Countable, Gap, Missing, Reason};
use crate::halves::at_once;
use crate::ledger::{Ledger, Owner, left_dirty, owner};
use crate::op::FileId;
use crate::timing::seconds;

/// Facts about a run besides the observation.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Machine, and the storage of the working directory.
    pub environment: Environment,
    pub command: Vec<String>,
    /// Process that iostrata attached to.
    pub adopted: Option<u32>,
    /// What was asked for and found, where nothing was started.
    pub attached: Option<Attached>,
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    /// `CLOCK_MONOTONIC`.
    pub started_ns: u64,
    pub wall_s: f64,
    /// The storage under the run's files.
    pub storage: Storage,
    /// Bytes dirty or under write-back at the end, for the files that could be queried.
    pub at_exit: BTreeMap<FileId, AtExit>,
    /// Page-cache residency of files at the end, for the files that were queried.
    pub residency: BTreeMap<FileId, ResidencyMap>,
    /// The lower strata from outside, if their events were not observed.
    pub lower: Option<Lower>,
    pub missing: Vec<Gap>,
}

/// Combines everything.
pub fn assemble(mut raw: RawEvidence, mut seen: Seen, facts: Facts) -> TraceResult {
    let run_on = seen.tasks.iter().any(|task| task.ended_ns.is_none());
    let left = left_dirty(&raw, &seen.followed.files, &facts.at_exit, run_on);
    let disks = facts.storage.all_disks();
    let claims = Claims::new(&raw, &seen, &facts.storage);
    let (ledger, syscalls) = at_once(
        || Ledger::new(&raw, &disks, |disk, cause| claims.of(disk, cause)),
        || call_rows(&raw, facts.started_ns),
    );
    let has_shared_pages = ledger.as_ref().is_some_and(Ledger::has_shared_pages);
    let mut evidence = whole_run(&raw, ledger.as_ref());
    // What rings write by ptrace is in no row.
    let unseen_ring = |gap: &Gap| matches!(gap.why, Reason::RingUnseen);
    let has_lower = facts.lower.is_some() && !raw.missing.iter().any(unseen_ring);
    let is_all_seen = evidence.cache.dirtied_bytes.is_some() || has_lower;
    let (is_shared, not_exact) = not_left_exact(&raw, &facts.at_exit, &left, run_on);
    if has_shared_pages || is_shared {
        let gap = Gap::new(Missing::ExactData, Reason::OthersDirtyFiles);
        evidence.missing.push(gap);
    }
    evidence.missing.extend(not_exact);
    let has_shared_disks = ledger.as_ref().is_some_and(Ledger::has_shared_disks);
    let other_requests = other_requests(&raw, &facts.storage);
    let histories = std::mem::take(&mut seen.followed.files);
    // The last step that needs the complete rows.
    let unseen = unseen(&raw, &facts.storage);
    if ledger.is_some() && !unseen.is_empty() {
        requests_of(&mut evidence, |_| None);
        seen.moments.requests = None;
        evidence.missing.extend(unseen);
    }
    let files = file_rows(&mut raw, &seen, histories, &facts, ledger.as_ref(), &left);
    let mut missing = evidence.missing.clone();
    missing.extend(summed(&raw));
    missing.extend(without_order(&files));
    missing.extend(facts.missing);
    missing.extend(unfollowed(raw.syscalls.as_deref().unwrap_or_default()));
    missing.extend(seen.followed.left_out.gap());
    missing.extend(seen.missing.iter().cloned());
    missing.extend(seen.moments.missing.iter().cloned());
    let wall_ns = Duration::try_from_secs_f64(facts.wall_s).unwrap_or_default();
    let wall_ns = u64::try_from(wall_ns.as_nanos()).unwrap_or(u64::MAX);
    let mut result = TraceResult {
        schema: SCHEMA.to_owned(),
        backend: facts.environment.backend,
        environment: facts.environment,
        command: facts.command,
        adopted: facts.adopted,
        attached: facts.attached,
        exit_code: facts.exit_code,
        signal: facts.signal,
        started_ns: facts.started_ns,
        wall_s: facts.wall_s,
        processes: seen.lived.processes,
        threads: seen.lived.threads,
        lost_events: raw.losses.total(),
        bytes: descent(&files, &evidence, &left, is_all_seen),
        timeline: timeline(&seen.moments, wall_ns, &disks, |disk, cause| match cause {
            Cause::Data if has_shared_pages => Claim::Some,
            Cause::Read | Cause::Data => Claim::All,
            _ if has_shared_disks => claims.of(disk, cause).max(Claim::Some),
            _ => claims.of(disk, cause),
        }),
        syscalls,
        other_calls: raw
            .losses
            .unattributed_calls
            .saturating_add(raw.summed.calls),
        summed_files: raw.summed.files.len() as u64,
        other_requests,
        tasks: task_rows(&seen.tasks, facts.started_ns, raw.blocked_seen),
        not_found: seen.followed.not_found.clone(),
        directories: seen.followed.directories.clone(),
        findings: Vec::new(),
        recording: None,
        runs: None,
        accounts: facts.lower.and_then(|lower| lower.io),
        files,
        evidence,
        audit: Vec::new(),
        missing,
    };
    result.audit = audit(&result, &raw, &facts.at_exit);
    withdraw(&mut result);
    result
}

/// Files without a row of their own in the result.
fn summed(raw: &RawEvidence) -> Option<Gap> {
    let Summed { files, calls } = &raw.summed;
    let what = Missing::Count {
        count: files.len() as u64,
        of: Countable::FilesWithoutRow,
    };
    (*calls > 0).then(|| Gap::new(what, Reason::CallsSummed { calls: *calls }))
}

/// Calls and pages of all files belong to the tree; requests as far as the ledger says.
fn whole_run(raw: &RawEvidence, ledger: Option<&Ledger>) -> Evidence {
    let all = Charge {
        unnamed_calls: true,
        ..Charge::default()
    };
    let mut evidence = charge(raw, &all);
    let requests = |phase| ledger.map(|ledger| ledger.total(phase));
    requests_of(&mut evidence, requests);
    if ledger.is_some_and(Ledger::has_shared_disks) {
        let why = match raw.sharing {
            Some(_) => Reason::OthersUseDisk,
            None => Reason::UsersUnknown,
        };
        evidence.missing.push(Gap::new(Missing::ExactRequests, why));
    }
    evidence
}

/// The file systems whose requests to a device are not seen, if the run moved bytes of a file there: then its
/// total is unknown.
fn unseen(raw: &RawEvidence, storage: &Storage) -> Vec<Gap> {
    let moved = raw.syscalls.iter().flatten().filter(|row| {
        let moves = row.is_source || direction(row.name).is_some();
        moves && row.returned > 0
    });
    let cached = raw.cache.iter().flatten().map(|row| row.file);
    let files = moved.filter_map(|row| row.file).chain(cached);
    let kinds: BTreeSet<&String> = files
        .filter_map(|file| storage.unseen.get(&file.device))
        .collect();
    let gap = |kind: &String| {
        let filesystem = kind.clone();
        Gap::new(Missing::RequestsFor { filesystem }, Reason::ServedUnseen)
    };
    kinds.into_iter().map(gap).collect()
}

/// Puts the requests of both phases into the evidence of a file, or of a run.
pub(super) fn requests_of(
    evidence: &mut Evidence,
    requests: impl Fn(Phase) -> Option<DeviceRange>,
) {
    evidence.device = requests(Phase::Running);
    evidence.device_after_exit = requests(Phase::AfterExit);
}

/// Requests for other programs' files on the same disks. Requests for a loop device's image on the
/// disk below repeat the run's own.
fn other_requests(raw: &RawEvidence, storage: &Storage) -> Option<u64> {
    let disks = storage.all_disks();
    let rows = raw.block.as_ref()?.iter().filter(|row| {
        disks.contains(&row.disk) && !storage.below.contains(&row.disk) && row.file.is_some()
    });
    let others = rows.filter(|row| owner(row) == Owner::Others);
    Some(total(others.map(|row| row.count)))
}

fn call_rows(raw: &RawEvidence, started_ns: u64) -> Vec<CallRow> {
    let mut by_name: BTreeMap<&str, Vec<&SyscallRow>> = BTreeMap::new();
    for row in raw.syscalls.iter().flatten().filter(|row| !row.is_source) {
        by_name.entry(row.name).or_default().push(row);
    }
    let mut rows: Vec<CallRow> = by_name
        .into_iter()
        .map(|(name, rows)| {
            let took = took(&rows);
            let row = call_row_of(name, &rows, (raw.blocked_seen, started_ns), &took);
            CallRow { took, ..row }
        })
        .collect();
    by_time(&mut rows, |row| row.stats.time_s);
    rows
}

/// Ordered by time, descending.
pub(super) fn by_time<T>(rows: &mut [T], time_s: impl Fn(&T) -> f64) {
    rows.sort_by(|one, other| time_s(other).total_cmp(&time_s(one)));
}

/// Number of calls by duration, up to the last non-empty power of two.
fn took(rows: &[&SyscallRow]) -> Vec<u64> {
    let mut histogram: Vec<u64> = Vec::new();
    for row in rows {
        histogram.resize(histogram.len().max(row.histogram.len()), 0);
        for (sum, count) in histogram.iter_mut().zip(&row.histogram) {
            *sum = sum.saturating_add(*count);
        }
    }
    let last = histogram.iter().rposition(|count| *count > 0);
    histogram.truncate(last.map_or(0, |last| last + 1));
    histogram
}

/// The sum of rows of one call in a run that began at `started_ns`.
pub(super) fn call_row(name: &str, rows: &[&SyscallRow], seen: (bool, u64)) -> CallRow {
    match rows {
        // Most files have one call of a kind, whose time is known.
        [row] if row.count == 1 => call_row_of(name, rows, seen, &[]),
        _ => call_row_of(name, rows, seen, &took(rows)),
    }
}

/// The same, with the number of calls by duration.
fn call_row_of(
    name: &str,
    rows: &[&SyscallRow],
    (blocked_seen, started_ns): (bool, u64),
    took: &[u64],
) -> CallRow {
    let sum = |of: fn(&SyscallRow) -> u64| total(rows.iter().map(|row| of(row)));
    let stats = CallStats {
        time_s: seconds(sum(|row| row.time_ns)),
        ..rows.iter().map(|row| row.stats()).sum()
    };
    // A bucket ends after the calls in it.
    let percentile = |share| match stats.count {
        1 => Some(stats.time_s),
        _ => percentile_s(took, share).map(|within| within.min(stats.time_s)),
    };
    let are_known = rows.iter().all(|row| row.span_ns.is_some());
    let spans = rows
        .iter()
        .filter_map(|row| row.span_ns.filter(|_| are_known));
    let since = |ns: u64| seconds(ns.saturating_sub(started_ns));
    CallRow {
        name: name.to_owned(),
        stats,
        blocked_s: blocked_seen.then(|| seconds(sum(|row| row.blocked_ns))),
        alone_s: blocked_seen.then(|| seconds(sum(|row| row.alone_ns))),
        p50_s: percentile(0.5),
        p99_s: percentile(0.99),
        took: Vec::new(),
        first_s: spans.clone().map(|(first, _)| first).min().map(since),
        last_s: spans.map(|(_, last)| last).max().map(since),
    }
}

/// Whether others dirtied files of which it is not known how much the run left dirty, and the other reasons.
fn not_left_exact(
    raw: &RawEvidence,
    at_exit: &BTreeMap<FileId, AtExit>,
    left: &BTreeMap<FileId, Option<Bounds>>,
    run_on: bool,
) -> (bool, Vec<Gap>) {
    let is_exact = |left: Option<Bounds>| left.is_some_and(|left| left.exact().is_some());
    let not_exact = left.iter().filter(|(_, left)| !is_exact(**left));
    let is_asked = |file: &&FileId| {
        at_exit
            .get(file)
            .is_some_and(|left| left.dirty_bytes.is_some())
    };
    let (asked, unasked): (Vec<&FileId>, Vec<&FileId>) =
        not_exact.map(|(file, _)| file).partition(is_asked);
    let is_alone = |file: &&FileId| raw.lives.get(file).is_some_and(Life::is_alone);
    let is_seen = raw.cache.is_some();
    let is_shared = is_seen && asked.iter().any(|file| !(run_on && is_alone(file)));
    let since = is_seen && asked.iter().any(|file| run_on && is_alone(file));
    let gaps = [
        Gap::counted(
            unasked.len() as u64,
            Countable::DirtyFiles,
            Reason::PagesNotAsked,
        ),
        since.then(|| Gap::new(Missing::ExactDirty, Reason::RunsOn)),
        (!is_seen && !asked.is_empty())
            .then(|| Gap::new(Missing::ExactDirty, Reason::FoliosUnseen)),
    ];
    (is_shared, gaps.into_iter().flatten().collect())
}

fn descent(
    files: &[FileRow],
    whole: &Evidence,
    left: &BTreeMap<FileId, Option<Bounds>>,
    is_all_seen: bool,
) -> Descent {
    let stored = || {
        files
            .iter()
            .filter(|file| stores(file.kind, &file.filesystem))
    };
    let range = whole.device;
    let read = range.map(|range| Bounds::from(range.of(|device| device.reads.bytes)));
    let written = range.map(|range| Bounds::from(range.of(|device| device.writes().bytes)));
    let (device_read_bytes, device_read_bytes_shared) = Bounds::told(read);
    let (device_written_bytes, device_written_bytes_shared) = Bounds::told(written);
    let add = |sum: Bounds, left: &Option<Bounds>| left.map(|left| sum.plus(left));
    let dirty = || left.values().try_fold(Bounds::default(), add);
    let dirty = is_all_seen.then(dirty).flatten();
    let (dirty_at_exit_bytes, dirty_at_exit_bytes_shared) = Bounds::told(dirty);
    Descent {
        read_bytes: total(stored().map(|file| file.reads.bytes)),
        written_bytes: total(stored().map(|file| file.writes.bytes)),
        dirtied_bytes: whole.cache.dirtied_bytes,
        device_read_bytes,
        device_read_bytes_shared,
        device_written_bytes,
        device_written_bytes_shared,
        dirty_at_exit_bytes,
        dirty_at_exit_bytes_shared,
    }
}

fn task_rows(tasks: &[Task], started_ns: u64, blocked_seen: bool) -> Vec<TaskRow> {
    let since = |ns: u64| seconds(ns.saturating_sub(started_ns));
    let row = |task: &Task| TaskRow {
        thread: task.thread,
        process: task.process,
        parent: task.parent,
        name: String::from_utf8_lossy(&task.name).into_owned(),
        started_s: since(task.started_ns),
        ended_s: task.ended_ns.map(since),
        on_cpu_s: task.on_cpu_ns.map(seconds),
        calls: task.calls,
        time_s: seconds(task.time_ns),
        blocked_s: blocked_seen.then(|| seconds(task.blocked_ns)),
        read_bytes: task.read_bytes,
        written_bytes: task.written_bytes,
    };
    let mut rows: Vec<TaskRow> = tasks.iter().map(row).collect();
    by_time(&mut rows, |row| row.time_s);
    rows
}

/// Sum of the calls that moved bytes in one direction.
pub(super) fn moved(rows: &[&SyscallRow], wanted: Direction) -> CallStats {
    let of = |row: &&&SyscallRow| {
        let way = if row.is_source {
            Some(Direction::Read)
        } else {
            direction(row.name)
        };
        way == Some(wanted)
    };
    rows.iter().filter(of).map(|row| row.stats()).sum()
}

/// Saturating sum of untrusted figures.
pub(super) fn total(figures: impl Iterator<Item = u64>) -> u64 {
    figures.fold(0, u64::saturating_add)
}

/// The time that a share of the calls did not exceed, seconds; `None` without calls.
///
/// Bucket `n` has the calls of `2^n` to `2^(n+1) - 1` ns. Within a bucket they are assumed to be
/// evenly spread over the logarithm, so a percentile is within a factor of two, and usually within
/// a fifth.
pub fn percentile_s(histogram: &[u64], share: f64) -> Option<f64> {
    let calls = histogram.iter().copied().fold(0, u64::saturating_add);
    if calls == 0 {
        return None;
    }
    let wanted = (calls as f64 * share).max(1.0);
    let mut below = 0.0;
    for (power, count) in (0_i32..).zip(histogram) {
        let count = *count as f64;
        if below + count >= wanted {
            let part = (wanted - below) / count;
            return Some((f64::from(power) + part).exp2() / 1e9);
        }
        below += count;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_from_its_first_begin_to_its_last_end_since_the_start() {
        let row = |span_ns| SyscallRow {
            name: "read",
            file: None,
            count: 1,
            errors: 0,
            returned: 0,
            time_ns: 0,
            blocked_ns: 0,
            alone_ns: 0,
            histogram: Vec::new(),
            shape: None,
            span_ns,
            is_source: false,
        };
        let span = |spans: &[Option<(u64, u64)>]| {
            let rows: Vec<SyscallRow> = spans.iter().copied().map(row).collect();
            let rows: Vec<&SyscallRow> = rows.iter().collect();
            call_row("read", &rows, (true, 1_000_000_000)).span_s()
        };
        let (one, other) = (
            (3_000_000_000, 4_000_000_000),
            (1_500_000_000, 2_000_000_000),
        );
        assert_eq!(span(&[Some(one), Some(other)]), Some((0.5, 3.0)));
        assert_eq!(span(&[Some(one), None]), None);
    }

    #[test]
    fn a_percentile_lies_in_the_bucket_of_its_call() {
        let mut histogram = vec![0; 40];
        histogram[10] = 98;
        histogram[20] = 2;
        let p50 = percentile_s(&histogram, 0.5).unwrap() * 1e9;
        assert!((1024.0..2048.0).contains(&p50), "{p50}");
        let p99 = percentile_s(&histogram, 0.99).unwrap() * 1e9;
        assert!((1_048_576.0..2_097_152.0).contains(&p99), "{p99}");
        assert_eq!(percentile_s(&[], 0.5), None);
        assert_eq!(percentile_s(&[0, 0], 0.5), None);
        assert_eq!(percentile_s(&[1], 0.5), Some(2e-9));
    }
}
