//! No result, however strange its figures, makes a rule panic or produce nonsense.

use proptest::prelude::*;

use super::fixture::{file, run};
use super::{Bound, look, settle};
use crate::evidence::{Cache, CallStats, DeviceCounts, RequestCount};
use crate::trace::{
    CallRow, FileCall, FileHistory, FileKind, FileRow, Happened, NotFound, Remedy, Replayed, Shape,
    TaskRow, TraceResult,
};

/// More calls than a machine makes in a year, more bytes than a file system holds.
const MOST: u64 = 1 << 44;

/// Small counts, plausible ones, and those that hardly any kernel produces.
fn count() -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => 0..20_u64,
        6 => 0..2_000_000_u64,
        2 => 0..=MOST,
        1 => Just(MOST),
    ]
}

fn seconds() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 0.0..0.01_f64, 0.0..10.0_f64]
}

fn shape() -> impl Strategy<Value = Shape> {
    let sizes = prop::collection::vec(count(), 0..33);
    (count(), count(), count(), count(), count(), sizes).prop_map(
        |(pairs, sequential, backward, empty, furthest_bytes, sizes)| Shape {
            pairs,
            sequential,
            backward,
            empty,
            furthest_bytes,
            sizes,
        },
    )
}

fn row() -> impl Strategy<Value = CallRow> {
    let names = prop::sample::select(vec![
        "read",
        "pread64",
        "write",
        "pwrite64",
        "openat",
        "close",
        "lseek",
        "mmap",
        "flock",
        "fsync",
        "getdents64",
        "access",
        "io_uring_enter",
        "io_uring.write",
    ]);
    let times = (seconds(), prop::option::of(seconds()));
    (names, count(), count(), count(), times).prop_map(
        |(name, count, errors, bytes, (time_s, blocked_s))| CallRow {
            name: name.to_owned(),
            stats: CallStats {
                count,
                errors,
                bytes,
                time_s,
            },
            blocked_s,
            alone_s: blocked_s,
            p50_s: blocked_s,
            p99_s: None,
            took: Vec::new(),
            first_s: None,
            last_s: None,
        },
    )
}

fn call() -> impl Strategy<Value = FileCall> {
    (row(), any::<bool>(), prop::option::of(shape())).prop_map(|(row, is_source, shape)| FileCall {
        row,
        is_source,
        shape: shape.map(Box::new),
        sites: Vec::new(),
    })
}

fn moved() -> impl Strategy<Value = CallStats> {
    (count(), count(), seconds()).prop_map(|(count, bytes, time_s)| CallStats {
        count,
        bytes,
        time_s,
        ..CallStats::default()
    })
}

fn history() -> impl Strategy<Value = FileHistory> {
    (any::<[bool; 4]>(), [count(), count(), count(), count()]).prop_map(|(is, counts)| {
        let happened = |count| Happened {
            count,
            took_ns: count,
            first_ns: vec![count],
        };
        FileHistory {
            created: is[0],
            unlinked: is[1],
            synchronous: is[2],
            mapping_synced: is[3],
            mapped_to_write: happened(counts[0] % 2),
            syncs: happened(counts[1]),
            growing_syncs: happened(counts[2]),
            steady_syncs: happened(counts[3]),
            emptied: happened(counts[0]),
            rewritten: happened(counts[1]),
            unsynced_bytes: counts[2],
            writes: counts[3],
            written_bytes: counts[0],
            appends: counts[1],
            ..FileHistory::default()
        }
    })
}

fn any_file() -> impl Strategy<Value = FileRow> {
    let kinds = prop::sample::select(vec![FileKind::Regular, FileKind::Directory, FileKind::Pipe]);
    let evidence = (
        prop::option::of([count(), count(), count(), count()]),
        count(),
    );
    let parts = (kinds, moved(), moved(), prop::option::of(history()));
    let calls = prop::collection::vec(call(), 0..6);
    (parts, calls, [count(), count(), count()], evidence).prop_map(
        |((kind, reads, writes, history), calls, [size, opens, syncs], (pages, requests))| {
            let mut row = FileRow {
                kind,
                size_before_bytes: size,
                opens,
                reads,
                writes,
                syncs: CallStats {
                    count: syncs,
                    time_s: 0.1,
                    ..CallStats::default()
                },
                calls,
                history: history.map(Box::new),
                dirty_at_exit_bytes: pages.map(|pages| pages[0]),
                ..file("/data/any")
            };
            if let Some([asked, missed, ahead, dirtied]) = pages {
                row.evidence.cache = Cache {
                    lookups_pages: Some(asked),
                    missed_pages: Some(missed),
                    prefetched_pages: Some(ahead),
                    dirtied_bytes: Some(dirtied),
                    ..Cache::default()
                };
                let reads = RequestCount {
                    count: requests,
                    bytes: missed,
                    time_s: 0.1,
                };
                row.evidence.device = Some(
                    DeviceCounts {
                        reads,
                        data: reads,
                        ..DeviceCounts::default()
                    }
                    .into(),
                );
            }
            row
        },
    )
}

/// Threads that overlap, follow one another, and have any parents.
fn task() -> impl Strategy<Value = TaskRow> {
    let numbers = [1..6_u32, 1..6, 1..6];
    (numbers, seconds(), prop::option::of(seconds()), seconds()).prop_map(
        |([thread, process, parent], started_s, ended_s, time_s)| TaskRow {
            thread,
            process,
            parent,
            started_s,
            ended_s,
            time_s,
            ..TaskRow::default()
        },
    )
}

fn any_run() -> impl Strategy<Value = TraceResult> {
    let files = prop::collection::vec(any_file(), 0..8);
    let calls = prop::collection::vec(row(), 0..6);
    (
        files,
        calls,
        [count(), count(), count(), count()],
        seconds(),
    )
        .prop_map(
            |(files, syscalls, [processes, lost, found, read_bytes], wall_s)| TraceResult {
                wall_s,
                processes,
                lost_events: lost,
                syscalls,
                not_found: vec![
                    NotFound {
                        path: "/missing".to_owned(),
                        count: found,
                    };
                    3
                ],
                tasks: vec![
                    TaskRow {
                        read_bytes,
                        ..TaskRow::default()
                    };
                    3
                ],
                ..run(files)
            },
        )
}

proptest! {
    #[test]
    fn findings_have_evidence_and_savings_that_are_numbers(run in any_run()) {
        for draft in look(&run, &[]) {
            let finding = draft.finding;
            prop_assert!(!finding.evidence.is_empty(), "{}", finding.rule);
            prop_assert!(!finding.title.is_empty() && !finding.advice.is_empty());
            if let Some((Remedy::LargerPieces { piece_bytes, count, better_bytes, .. }, _)) = draft.remedy {
                prop_assert!(piece_bytes > 0 && piece_bytes < better_bytes && count > 0);
            }
            for seconds in finding.saving_s.iter().chain(&finding.cost_s) {
                prop_assert!(seconds.is_finite() && *seconds >= 0.0, "{}", finding.rule);
            }
        }
    }

    #[test]
    fn no_saving_exceeds_the_run_and_no_cost_without_its_threads(
        run in any_run(),
        tasks in prop::collection::vec(task(), 0..12),
        better in 0.0..1.0_f64,
    ) {
        let run = TraceResult { tasks, ..run };
        let bound = Bound::of(&run);
        for draft in look(&run, &[]) {
            for measured in [None, Some(Replayed { now_s: 1.0, better_s: better })] {
                let Some(finding) = settle(draft.clone(), measured, &bound) else {
                    continue;
                };
                let is_within = |time_s: f64| time_s.is_finite() && time_s <= run.wall_s;
                prop_assert!(finding.saving_s.is_none_or(is_within), "{finding:?}");
                let is_told = finding.cost_threads.is_some_and(|threads| threads > 1);
                prop_assert!(finding.cost_s.is_none_or(|cost| is_told || is_within(cost)), "{finding:?}");
            }
        }
    }
}
