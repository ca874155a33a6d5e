use super::*;
use crate::evidence::{
    BlockRow, Cache, CallStats, DeviceCounts, DeviceRange, Phase, RequestCount, Submitter, Totals,
};
use crate::trace::timeline::{CallSeries, RequestSeries, Timeline};
use crate::trace::{FileHistory, Happened, fixture};

const FILE: FileId = FileId {
    device: 254 << 20,
    inode: 12,
    generation: 1,
};

const WRITES_S: f64 = 5e-6;
const SYNC_S: f64 = 0.001;

fn call(name: &str, count: u64, bytes: u64, time_s: f64, took: Vec<u64>) -> CallRow {
    CallRow {
        stats: CallStats {
            bytes,
            time_s,
            ..fixture::call(name, count, Some(time_s / 2.0)).stats
        },
        took,
        ..fixture::call(name, count, Some(time_s / 2.0))
    }
}

/// Four writes of 2 KiB, about 1 µs each, and a sync of about 1 ms, which the disk has got as one request.
fn run() -> (TraceResult, RawEvidence) {
    let writes = call("write", 4, 8192, WRITES_S, [&[0; 10][..], &[4]].concat());
    let sync = call("fsync", 1, 0, SYNC_S, [&[0; 19][..], &[1]].concat());
    let data = RequestCount {
        count: 1,
        bytes: 8192,
        time_s: 0.0005,
    };
    let device = DeviceCounts {
        data,
        ..DeviceCounts::default()
    };
    let mut file = fixture::file("/srv/log");
    file.calls = [&writes, &sync]
        .map(|row| FileCall {
            row: row.clone(),
            ..FileCall::default()
        })
        .into();
    file.evidence.device = Some(device.into());
    file.evidence.cache = Cache {
        dirtied_bytes: Some(8192),
        ..Cache::default()
    };
    file.dirty_at_exit_bytes = Some(0);
    file.history = Some(Box::new(FileHistory {
        written_bytes: 8192,
        syncs: Happened {
            count: 1,
            ..Happened::default()
        },
        ..FileHistory::default()
    }));
    let mut result = fixture::result();
    result.evidence.device = Some(device.into());
    result.syscalls = vec![sync, writes];
    result.tasks = vec![TaskRow {
        calls: 5,
        time_s: WRITES_S + SYNC_S,
        blocked_s: Some(f64::midpoint(WRITES_S, SYNC_S)),
        written_bytes: 8192,
        on_cpu_s: Some(0.25),
        started_s: 0.0,
        ended_s: Some(1.0),
        ..TaskRow::default()
    }];
    let series = |group, count: u64| CallSeries {
        group,
        counts: vec![0, count],
        bytes: vec![],
        time_s: vec![],
    };
    result.timeline = Some(Timeline {
        bucket_s: 0.5,
        calls: vec![
            series(Purpose::Write, 4),
            series(Purpose::Sync, 1),
            series(Purpose::Read, 7),
        ],
        requests: Some(vec![RequestSeries {
            cause: Cause::Data,
            counts: vec![1, 0],
            bytes: vec![8192, 0],
        }]),
        flushes: Some(vec![0, 0]),
        shared: false,
    });
    result.files = vec![file];
    let raw = RawEvidence {
        lives: [(FILE, Life::default())].into(),
        totals: Some(Totals {
            accounted_bytes: Some(8192),
            ..Totals::default()
        }),
        ..RawEvidence::default()
    };
    (result, raw)
}

fn audit_of(result: &TraceResult, raw: &RawEvidence) -> Vec<Judged> {
    let left = AtExit {
        dirty_bytes: Some(0),
        has_blocks: true,
    };
    audit(result, raw, &[(FILE, left)].into())
}

fn broken(result: &TraceResult, raw: &RawEvidence) -> Vec<Law> {
    let judged = audit_of(result, raw);
    judged
        .iter()
        .filter(|judged| !judged.holds)
        .map(|judged| judged.law)
        .collect()
}

#[test]
fn all_laws_are_judged_and_hold() {
    let (result, raw) = run();
    let judged = audit_of(&result, &raw);
    assert!(judged.iter().all(|judged| judged.holds), "{judged:?}");
    assert_eq!(judged.len(), 12);
}

/// A fault, the law that it breaks, and both figures.
type Fault = (fn(&mut TraceResult), Law, [Amount; 2]);

#[test]
fn each_fault_breaks_its_law() {
    use Amount::{Bytes, Count, Seconds};
    const NONE_OF_ONE: [Amount; 2] = [Count(0), Count(1)];
    let faults: [Fault; 12] = [
        (
            |run| run.tasks[0].calls = 6,
            Law::Calls,
            [Count(5), Count(6)],
        ),
        (
            |run| run.tasks[0].time_s = 0.5,
            Law::Time,
            [Seconds(WRITES_S + SYNC_S), Seconds(0.5)],
        ),
        (
            |run| run.tasks[0].blocked_s = Some(0.0),
            Law::Blocked,
            [Seconds(f64::midpoint(WRITES_S, SYNC_S)), Seconds(0.0)],
        ),
        (
            |run| run.tasks[0].written_bytes += 1,
            Law::Bytes,
            [Bytes(8192), Bytes(8193)],
        ),
        (
            // Neither table has a part of a call.
            |run| {
                run.tasks[0].written_bytes -= 1;
                run.files[0].calls[0].row.stats.bytes -= 1;
                run.files[0].history.as_mut().unwrap().written_bytes -= 1;
            },
            Law::Accounting,
            [Bytes(8191), Bytes(8192)],
        ),
        (
            |run| run.syscalls[0].took.clear(),
            Law::Histogram,
            [Count(1), Count(2)],
        ),
        (
            |run| run.timeline.as_mut().unwrap().calls[0].counts[1] = 3,
            Law::TimelineCalls,
            [Count(5), Count(4)],
        ),
        (
            |run| {
                let device = run.evidence.device.as_mut().unwrap();
                device.at_least.data.bytes = 4096;
                device.at_most.data.bytes = 4096;
            },
            Law::TimelineRequests,
            [Bytes(4096), Bytes(8192)],
        ),
        (
            |run| run.files[0].history.as_mut().unwrap().written_bytes = 6144,
            Law::History,
            NONE_OF_ONE,
        ),
        (
            |run| run.files[0].evidence.cache.dirtied_bytes = Some(0),
            Law::Dirtied,
            NONE_OF_ONE,
        ),
        (
            |run| run.files[0].evidence.device = Some(DeviceRange::default()),
            Law::Synced,
            NONE_OF_ONE,
        ),
        (
            |run| run.tasks[0].on_cpu_s = Some(1.5),
            Law::Bounds,
            NONE_OF_ONE,
        ),
    ];
    for (plant, law, figures) in faults {
        let (mut result, raw) = run();
        plant(&mut result);
        assert_eq!(broken(&result, &raw), [law]);
        let judged = audit_of(&result, &raw);
        let judged = judged.iter().find(|judged| judged.law == law).unwrap();
        assert_eq!([judged.ours, judged.witness], figures);
    }
}

#[test]
fn calls_move_what_the_kernel_accounts() {
    let (mut result, mut raw) = run();
    result.files[0].calls[0].row.name = "sendfile".to_owned();
    raw.totals.as_mut().unwrap().accounted_bytes = Some(2 * 8192);
    assert!(!broken(&result, &raw).contains(&Law::Accounting));
    // A call that nobody has seen.
    raw.totals.as_mut().unwrap().accounted_bytes = Some(2 * 8192 + 1);
    let judged = audit_of(&result, &raw);
    let judged = judged.iter().find(|judged| judged.law == Law::Accounting);
    let figures = judged.map(|judged| (judged.ours, judged.witness));
    assert_eq!(figures, Some((Amount::Bytes(16384), Amount::Bytes(16385))));
    assert!(broken(&result, &raw).contains(&Law::Accounting));
    // Pages that leave memory for a pipe, and operations of io_uring, are not accounted.
    for name in ["splice", "io_uring.write"] {
        result.files[0].calls[0].row.name = name.to_owned();
        raw.totals.as_mut().unwrap().accounted_bytes = Some(0);
        assert!(!broken(&result, &raw).contains(&Law::Accounting));
    }
    // The kernel copies between files below, too, and accounts for both.
    result.files[0].calls[0].row.name = "copy_file_range".to_owned();
    assert!(laws(&result, &raw).contains(&Law::Accounting));
    result.files[0].filesystem = "overlay".to_owned();
    assert!(!laws(&result, &raw).contains(&Law::Accounting));
    raw.totals.as_mut().unwrap().accounted_bytes = None;
    result.files[0].filesystem = "ext4".to_owned();
    assert!(!laws(&result, &raw).contains(&Law::Accounting));
}

fn laws(result: &TraceResult, raw: &RawEvidence) -> Vec<Law> {
    audit_of(result, raw)
        .iter()
        .map(|judged| judged.law)
        .collect()
}

#[test]
fn what_cannot_be_known_is_not_judged() {
    let (mut result, raw) = run();
    result.tasks[0].ended_s = None;
    assert!(
        !laws(&result, &raw).contains(&Law::Calls),
        "it goes on while it is read"
    );
    result.lost_events = 1;
    assert_eq!(laws(&result, &raw), [Law::Bounds]);

    // Pages that were dirty before take writes without turning dirty.
    let (mut result, mut raw) = run();
    result.files[0].evidence.cache.dirtied_bytes = Some(0);
    raw.lives.get_mut(&FILE).unwrap().before_bytes = 4096;
    assert_eq!(broken(&result, &raw), []);
    // A direct write does not go there.
    let direct = BlockRow {
        disk: 254 << 20,
        phase: Phase::Running,
        file: Some(FILE),
        cause: Cause::Data,
        pages: Pages::Direct,
        submitter: Submitter::Run,
        count: 1,
        bytes: 8192,
        time_ns: 1,
    };
    let raw = RawEvidence {
        block: Some(vec![direct]),
        ..run().1
    };
    assert_eq!(broken(&result, &raw), []);
    // A truncation has dropped the pages.
    let (mut result, raw) = run();
    result.files[0].evidence.device = Some(DeviceRange::default());
    result.evidence.device = Some(DeviceRange::default());
    result.timeline.as_mut().unwrap().requests = None;
    assert!(
        audit(&result, &raw, &[(FILE, AtExit::default())].into())
            .iter()
            .all(|judged| judged.holds)
    );
    // The kernel answers, and stores nothing.
    let (mut result, raw) = run();
    result.files[0].filesystem = "proc".to_owned();
    result.timeline.as_mut().unwrap().calls[0].counts[1] = 0;
    assert!(!broken(&result, &raw).contains(&Law::TimelineCalls));
    // What was changed after the sync is not there yet.
    let (mut result, raw) = run();
    result.files[0].evidence.device = Some(DeviceRange::default());
    result.files[0].history.as_mut().unwrap().unsynced_bytes = 1;
    assert_eq!(broken(&result, &raw), []);
}

#[test]
fn figures_of_a_broken_law_are_unknown() {
    let (mut result, raw) = run();
    result.bytes.device_written_bytes = Some(8192);
    let device = result.evidence.device.as_mut().unwrap();
    device.at_least.data.count = 2;
    device.at_most.data.count = 2;
    result.files[0].evidence.device.as_mut().unwrap().at_least = DeviceCounts::default();
    result.audit = audit_of(&result, &raw);
    withdraw(&mut result);
    assert_eq!(result.evidence.device, None);
    assert_eq!(result.files[0].evidence.device, None);
    assert_eq!(result.bytes.device_written_bytes, None);
    assert!(result.timeline.as_ref().unwrap().requests.is_none());
    let gap = Gap::new(
        Missing::Contradicted(Stratum::Device),
        Reason::BrokenLaw(Law::TimelineRequests),
    );
    assert_eq!(result.missing, [gap]);
    assert_eq!(
        result.broken_law(Stratum::Device),
        Some(Law::TimelineRequests)
    );
    assert_eq!(result.broken_law(Stratum::Syscalls), None);
}
