//! Two traced runs.

use super::names;
use crate::compare::{Comparison, Judgement, Limit, Sides, Verdict, Weight, trace};
use crate::evidence::CallStats;
use crate::gap::{Missing, Reason};
use crate::trace::fixture::{call, file, result};
use crate::trace::{CallRow, FileCall, FileKind, FileRow, TimedRun, TimedRuns, TraceResult};

/// A run with these calls.
fn made(calls: &[(&str, u64, u64)]) -> TraceResult {
    let mut run = result();
    for &(name, count, bytes) in calls {
        let calls = run.evidence.syscalls.as_mut().unwrap();
        let counted = CallStats {
            count,
            bytes,
            ..CallStats::default()
        };
        calls.insert(name.to_owned(), counted);
        run.syscalls.push(CallRow {
            stats: CallStats {
                bytes,
                ..call(name, count, None).stats
            },
            ..call(name, count, None)
        });
    }
    run
}

fn used(path: &str, calls: &[(&str, u64)]) -> FileRow {
    let calls = calls.iter().map(|(name, count)| FileCall {
        row: CallRow {
            stats: CallStats {
                time_s: 0.5,
                ..call(name, *count, None).stats
            },
            ..call(name, *count, None)
        },
        ..FileCall::default()
    });
    FileRow {
        calls: calls.collect(),
        ..file(path)
    }
}

fn differing(counts: &[crate::compare::Count]) -> Vec<(&str, f64, f64)> {
    let counts = counts.iter();
    counts
        .map(|one| (one.what.as_str(), one.sides.base, one.sides.new))
        .collect()
}

#[test]
fn a_run_and_itself() {
    let run = made(&[("write", 10, 1000)]);
    let comparison = trace(names(), &run, &run);
    assert_eq!(comparison.judgement, Judgement::NotJudged);
    assert_eq!(comparison.calls_differ, Some(false));
    assert!(comparison.conditions.is_empty());
    assert_eq!(comparison.missing[0].what, Missing::Times);
    let runs = comparison.trace.unwrap();
    assert!(runs.counts.is_empty() && !runs.calls[0].differ());
}

#[test]
fn calls_are_paired_by_name() {
    let base = made(&[("write", 10, 1000), ("fsync", 3, 0), ("read", 1, 5)]);
    let new = made(&[("write", 20, 1000), ("fsync", 3, 0), ("pread64", 1, 5)]);
    let comparison = trace(names(), &base, &new);
    assert_eq!(comparison.calls_differ, Some(true));
    assert_eq!(comparison.unpaired.base, ["call read"]);
    assert_eq!(comparison.unpaired.new, ["call pread64"]);
    let runs = comparison.trace.unwrap();
    assert_eq!(
        differing(&runs.counts),
        [
            ("read calls", 1.0, 0.0),
            ("read bytes", 5.0, 0.0),
            ("write calls", 10.0, 20.0),
            ("pread64 calls", 0.0, 1.0),
            ("pread64 bytes", 0.0, 5.0),
        ]
    );
}

/// A path that had three files, one after the other, is one path.
#[test]
fn lives_of_a_path_are_summed() {
    let (mut base, mut new) = (result(), result());
    base.files = vec![
        used("/srv/a", &[("write", 2)]),
        used("/srv/b", &[("read", 1)]),
    ];
    new.files = vec![
        used("/srv/a", &[("write", 1)]),
        used("/srv/c", &[]),
        used("/srv/a", &[("write", 4), ("fsync", 1)]),
    ];
    let comparison = trace(names(), &base, &new);
    assert_eq!(comparison.unpaired.base, ["file /srv/b"]);
    assert_eq!(comparison.unpaired.new, ["file /srv/c"]);
    let files = comparison.trace.unwrap().files;
    assert_eq!(files.len(), 1);
    assert_eq!(
        files[0].time_s,
        Sides {
            base: 0.5,
            new: 1.5
        }
    );
    assert_eq!(
        differing(&files[0].counts),
        [("write calls", 2.0, 5.0), ("fsync calls", 0.0, 1.0)]
    );
}

/// Two paths that look the same because their bytes are invalid text are different.
#[test]
fn paths_that_are_no_text_are_told_apart() {
    let named = |hex: &str| FileRow {
        path_hex: Some(hex.to_owned()),
        ..used("/srv/\u{fffd}", &[("read", 1)])
    };
    let (mut base, mut new) = (result(), result());
    base.files = vec![named("ff"), named("fe")];
    new.files = vec![named("fe")];
    let comparison = trace(names(), &base, &new);
    assert_eq!(comparison.unpaired.base, ["file /srv/\u{fffd}"]);
    let files = comparison.trace.unwrap().files;
    assert_eq!(files[0].path_hex.as_deref(), Some("fe"));
}

#[test]
fn another_end_is_another_run_and_another_command_is_named() {
    let base = result();
    let mut new = result();
    new.command.push("--fast".to_owned());
    new.exit_code = Some(1);
    new.lost_events = 7;
    let comparison = trace(names(), &base, &new);
    let conditions = comparison.conditions.iter();
    let found: Vec<(&str, Weight)> = conditions
        .map(|one| (one.what.as_str(), one.weight))
        .collect();
    assert_eq!(
        found,
        [
            ("end", Weight::Settings),
            ("command", Weight::Note),
            ("lost events", Weight::Note)
        ]
    );
    assert_eq!(comparison.unlike().count(), 1);
}

#[test]
fn limits_are_for_the_calls_that_work() {
    let base = made(&[
        ("write", 100, 1000),
        ("futex", 1, 0),
        ("fsync", 0, 0),
        ("read", 9, 9),
    ]);
    let new = made(&[
        ("write", 110, 1000),
        ("futex", 9, 0),
        ("fsync", 1, 0),
        ("read", 8, 9),
    ]);
    let exceeding = |percent: f64| -> Vec<(String, Option<f64>)> {
        let mut comparison: Comparison = trace(names(), &base, &new);
        comparison.fail_on(Limit { percent });
        let exceeded = comparison.fail_on.unwrap().exceeded.into_iter();
        exceeded.map(|one| (one.what, one.percent)).collect()
    };
    let fsync = ("fsync calls".to_owned(), None);
    let write = ("write calls".to_owned(), Some(10.0));
    assert_eq!(exceeding(10.0), [fsync.clone(), write]);
    assert_eq!(exceeding(10.1), [fsync]);
}

#[test]
fn pipes_are_compared_although_their_numbers_are_new() {
    let piped = |number: u32, writes: u64| {
        let mut run = made(&[("write", writes, 10)]);
        run.files = vec![FileRow {
            kind: FileKind::Pipe,
            ..used(&format!("pipe:[{number}]"), &[("write", writes)])
        }];
        run
    };
    let comparison = trace(names(), &piped(7, 10), &piped(9, 11));
    assert!(comparison.unpaired.base.is_empty() && comparison.unpaired.new.is_empty());
    let runs = comparison.trace.unwrap();
    assert_eq!(runs.files[0].path, "pipes");
    assert_eq!(
        differing(&runs.files[0].counts),
        [("write calls", 10.0, 11.0)]
    );
}

/// The same with timed runs.
fn timed(times_s: &[f64]) -> TraceResult {
    let run = |wall_s: &f64| TimedRun {
        wall_s: *wall_s,
        ..TimedRun::default()
    };
    let mut result = made(&[("write", 10, 1000)]);
    result.runs = Some(TimedRuns::of(0, times_s.iter().map(run).collect(), None));
    result
}

#[test]
fn timed_runs_are_judged_and_the_observed_ones_are_not() {
    let steady = [1.0, 1.01, 0.99, 1.0, 1.02, 1.0, 0.98, 1.0];
    let base = timed(&steady);
    let mut new = timed(&steady.map(|time_s| time_s * 1.5));
    new.wall_s = base.wall_s;
    let mut comparison = trace(names(), &base, &new);
    assert_eq!(comparison.judgement, Judgement::Slower);
    assert_eq!(comparison.missing, []);
    let found = comparison.trace.as_ref().unwrap().timed.clone().unwrap();
    assert_eq!((found.median_s.base, found.median_s.new), (1.0, 1.5));
    assert_eq!((found.runs.base, found.runs.new), (8, 8));
    let time = found.time.unwrap();
    assert!((time.ratio - 1.5).abs() < 1e-9, "{time:?}");
    assert!(time.low_ratio > 1.3 && time.high_ratio < 1.7, "{time:?}");
    comparison.fail_on(Limit { percent: 40.0 });
    let exceeded = comparison.fail_on.as_ref().unwrap().exceeded.iter();
    assert_eq!(exceeded.map(|one| &*one.what).collect::<Vec<_>>(), ["time"]);
    comparison.fail_on(Limit { percent: 60.0 });
    assert_eq!(comparison.fail_on.unwrap().exceeded, []);
    assert_eq!(trace(names(), &new, &base).judgement, Judgement::Faster);
    assert_eq!(
        trace(names(), &base, &base).judgement,
        Judgement::NoDifference
    );
}

#[test]
fn a_busy_machine_hides_what_an_idle_one_shows() {
    let steady = [1.0, 1.01, 0.99, 1.0, 1.02, 1.0, 0.98, 1.0];
    let busy = |times_s: &[f64], others_cpus| {
        let mut result = timed(times_s);
        result.runs.as_mut().unwrap().others_cpus = Some(others_cpus);
        result
    };
    let new = steady.map(|time_s| time_s * 1.5);
    let idle = trace(names(), &busy(&steady, 0.0), &busy(&new, 0.0));
    assert_eq!(idle.judgement, Judgement::Slower);
    assert_eq!(idle.verdict, Some(Verdict::Slower));
    let mut loaded = trace(names(), &busy(&steady, 0.0), &busy(&new, 2.0));
    assert_eq!(loaded.judgement, Judgement::NoDifference);
    assert_eq!(loaded.verdict, Some(Verdict::Inconclusive));
    // A slowdown that the noise can hide does not keep the limit.
    loaded.fail_on(Limit { percent: 10.0 });
    let found = loaded.fail_on.unwrap();
    assert_eq!(found.exceeded, []);
    let undecided = found.undecided.iter().map(|one| &*one.what);
    assert_eq!(undecided.collect::<Vec<_>>(), ["time"]);
}

#[test]
fn times_that_are_the_same_keep_the_limit() {
    let steady = [1.0, 1.01, 0.99, 1.0, 1.02, 1.0, 0.98, 1.0];
    let mut same = trace(names(), &timed(&steady), &timed(&steady));
    same.fail_on(Limit { percent: 10.0 });
    assert_eq!(same.verdict, Some(Verdict::Same));
    let found = same.fail_on.unwrap();
    assert_eq!((found.exceeded.len(), found.undecided.len()), (0, 0));
    // Too few runs on both sides do not keep it either.
    let mut few = trace(names(), &timed(&[1.0]), &timed(&steady));
    few.fail_on(Limit { percent: 10.0 });
    assert_eq!(few.verdict, None);
    assert_eq!(few.fail_on.unwrap().undecided.len(), 1);
}

#[test]
fn too_few_runs_are_not_judged_and_it_is_said() {
    let why = |base: &TraceResult, new: &TraceResult| {
        let comparison = trace(names(), base, new);
        assert_eq!(comparison.judgement, Judgement::NotJudged);
        comparison.missing[0].why.clone()
    };
    let several = timed(&[1.0, 1.1, 1.2]);
    assert_eq!(why(&timed(&[1.0]), &several), Reason::TwoRunsEach);
    assert_eq!(why(&timed(&[]), &several), Reason::OneTimed);
    let one_run = Reason::OneRunEach { remedy: true };
    assert_eq!(why(&timed(&[]), &result()), one_run);
}
