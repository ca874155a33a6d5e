//! The timeline has every call and request that the counts have.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that fails"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use iostrata_core::evidence::{Cause, Phase, Submitter};
use iostrata_core::ledger::is_of_run;
use iostrata_core::observe::{Observation, Stream};
use iostrata_core::op::FileId;
use iostrata_core::trace::FileKind;
use iostrata_core::trace::timeline::Purpose;
use iostrata_tracer::ebpf::{EbpfObserver, Limits};

use crate::session::{observe, workload};

/// Calls, bytes moved and nanoseconds of each purpose.
type Sums = BTreeMap<Purpose, (u64, u64, u64)>;

fn of_rows(observation: &Observation) -> Sums {
    let names = &observation.seen.as_ref().unwrap().names;
    let stored: BTreeSet<FileId> = names
        .iter()
        .filter(|named| matches!(named.kind, FileKind::Regular | FileKind::BlockDevice))
        .map(|named| named.file)
        .collect();
    let mut sums = Sums::new();
    let rows = observation.raw.syscalls.iter().flatten();
    for row in rows.filter(|row| !row.is_source) {
        let Some(purpose) = Purpose::of(row.name) else {
            continue;
        };
        if purpose.moves() && row.file.is_none_or(|file| !stored.contains(&file)) {
            continue;
        }
        let sum = sums.entry(purpose).or_default();
        sum.0 += row.count;
        sum.1 += if purpose.moves() { row.returned } else { 0 };
        sum.2 += row.time_ns;
    }
    sums
}

fn of_moments(observation: &Observation) -> Sums {
    let mut sums = Sums::new();
    for moment in &observation.seen.as_ref().unwrap().moments.calls {
        let sum = sums.entry(moment.purpose).or_default();
        sum.0 += moment.count;
        sum.1 += moment.bytes;
        sum.2 += moment.time_ns;
    }
    sums
}

#[test]
fn every_call_and_request_has_its_moment() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut observer = EbpfObserver::with_limits(Limits::trace()).unwrap();
    // Twice with one observer: nothing of the first run remains in the second.
    for writes in ["300", "100"] {
        let path = dir.path().join("f");
        let mut program = Command::new(workload("append"));
        program.arg(&path).args([writes, "1000", "fsync"]);
        let (observation, status) = observe(&mut observer, Stream::default(), &mut program, || {});
        assert!(status.success());
        let sums = of_moments(&observation);
        assert_eq!(sums, of_rows(&observation), "{writes}");
        let count: u64 = writes.parse().unwrap();
        assert_eq!(sums[&Purpose::Sync].0, count);
        assert_eq!(sums[&Purpose::Write].1, 1000 * count);
        requests_have_their_moments(&observation);
        calls_have_their_spans(&observation);
    }
}

/// Of every call it is known when the first began and the last ended, within the life of a task.
fn calls_have_their_spans(observation: &Observation) {
    let lived = &observation.seen.as_ref().unwrap().lived;
    let (first_ns, last_ns) = (lived.first_ns.unwrap(), lived.last_ns.unwrap());
    let rows = || observation.raw.syscalls.iter().flatten();
    assert!(rows().count() > 5);
    for row in rows() {
        let (from_ns, to_ns) = row.span_ns.unwrap();
        assert!(first_ns <= from_ns && from_ns <= to_ns, "{row:?}");
        assert!(to_ns <= last_ns, "{row:?}");
        assert!(row.time_ns <= to_ns - from_ns, "one thread: {row:?}");
    }
    let span = |name: &str| {
        let mut rows = rows().filter(|row| row.name == name && row.file.is_some());
        rows.next().unwrap().span_ns.unwrap()
    };
    // Each write is followed by its sync.
    let (write, sync) = (span("write"), span("fsync"));
    assert!(write.0 < sync.0 && write.1 < sync.1, "{write:?} {sync:?}");
}

fn requests_have_their_moments(observation: &Observation) {
    let seen = observation.seen.as_ref().unwrap();
    let mut rows: BTreeMap<Cause, (u64, u64)> = BTreeMap::new();
    for row in observation.raw.block.iter().flatten() {
        let may_be_of_run = row.cause != Cause::Read && row.submitter != Submitter::Others;
        let charged = is_of_run(row) || (row.file.is_none() && may_be_of_run);
        if charged && row.phase == Phase::Running {
            let sum = rows.entry(row.cause).or_default();
            *sum = (sum.0 + row.count, sum.1 + row.bytes);
        }
    }
    let mut moments: BTreeMap<Cause, (u64, u64)> = BTreeMap::new();
    for moment in seen.moments.requests.iter().flatten() {
        let sum = moments.entry(moment.cause).or_default();
        *sum = (sum.0 + moment.count, sum.1 + moment.bytes);
    }
    assert!(rows[&Cause::Data].0 >= 100, "{rows:?}");
    assert_eq!(moments, rows);
}
