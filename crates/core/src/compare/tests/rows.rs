//! Rows with a known difference.

use super::*;
use crate::compare::{Judgement, Part, TimeRatio};
use crate::gap::Reason;

const STEADY: [f64; 5] = [1.0, 1.001, 0.999, 1.0005, 0.9995];

fn scaled(times: &[f64], factor: f64) -> Vec<f64> {
    times.iter().map(|time| time * factor).collect()
}

#[track_caller]
fn whole(comparison: &Comparison) -> TimeRatio {
    comparison.lab.as_ref().unwrap().experiments[0]
        .time
        .unwrap()
}

fn close(found: f64, expected: f64) -> bool {
    (found / expected - 1.0).abs() < 1e-3
}

#[test]
fn equal_rows_do_not_differ() {
    let comparison = times(&[&STEADY], &[&STEADY]);
    assert_eq!(comparison.judgement, Judgement::NoDifference);
    assert_eq!(comparison.calls_differ, Some(false));
    assert!(comparison.conditions.is_empty());
    let lab = comparison.lab.unwrap();
    assert_eq!(lab.rows[0].judgement, Judgement::NoDifference);
    // write: calls, errors, bytes; six causes with requests and bytes; flushes.
    assert_eq!(
        (lab.rows[0].counts.len(), lab.rows[0].equal_counts),
        (0, 16)
    );
    assert_eq!(lab.rows[0].numbers, Sides { base: 1, new: 1 });
}

/// Without noise only the 1 % of either run remains: ln 1.01 twice makes a deviation of 0.014072,
/// and Student's 97 % point for 1,000 degrees is 2.173.
#[test]
fn what_no_sample_shows_is_left() {
    let change = whole(&times(&[&[1.0; 5]], &[&[1.1; 5]]));
    assert!(close(change.ratio, 1.1), "{change:?}");
    let (width, reserve) = (0.014_072 * 2.173, 0.014_072 * 1.646);
    assert!(
        close(change.low_ratio, 1.1 * f64::exp(-width)),
        "{change:?}"
    );
    assert!(
        close(change.high_ratio, 1.1 * f64::exp(width)),
        "{change:?}"
    );
    assert!(
        close(change.visible_ratio, f64::exp(width + reserve)),
        "{change:?}"
    );
    assert_eq!((change.rounds, change.misses), (5, 0.03));
}

/// Two rounds, 0 and 0.2 on the logarithmic scale: variance 0.02, that of a further round
/// 0.03; with the 1 % of either run 0.030198, which has 1.01 degrees, so 1. Student's 97 % point
/// is 21.205, and 21.205 · 0.17378 = 3.685.
#[test]
fn two_rounds_show_next_to_nothing() {
    let new = [1.0, f64::exp(0.2)];
    let change = whole(&times(&[&[1.0, 1.0]], &[&new]));
    assert!(close(change.ratio, f64::exp(0.1)));
    assert!(
        close(change.high_ratio, f64::exp(0.1 + 3.685)),
        "{change:?}"
    );
}

#[test]
fn slower_and_faster_are_found() {
    let slow = scaled(&STEADY, 1.1);
    assert_eq!(times(&[&STEADY], &[&slow]).judgement, Judgement::Slower);
    assert_eq!(times(&[&slow], &[&STEADY]).judgement, Judgement::Faster);
    // Two steady rows, one of them four times as slow, the other four times as fast.
    let (slow, fast) = (scaled(&STEADY, 4.0), scaled(&STEADY, 0.25));
    let both = times(&[&STEADY, &STEADY], &[&slow, &fast]);
    let rows = both.lab.as_ref().unwrap().rows.iter();
    let found: Vec<Judgement> = rows.map(|row| row.judgement).collect();
    assert_eq!(found, [Judgement::Slower, Judgement::Faster]);
    assert_eq!(both.judgement, Judgement::Mixed);
    assert_eq!(
        both.lab.unwrap().experiments[0].judgement,
        Judgement::NoDifference
    );
}

/// 2 % is below the smallest difference that is reported, however narrow the interval.
#[test]
fn less_than_three_per_cent_is_no_difference() {
    let comparison = times(&[&[1.0; 30]], &[&[1.029; 30]]);
    assert_eq!(comparison.judgement, Judgement::NoDifference);
}

#[test]
fn noise_is_no_difference() {
    let base = [1.0, 1.4, 0.8, 1.1, 2.0];
    let new = [1.9, 0.9, 1.2, 1.3, 1.0];
    assert_eq!(times(&[&base], &[&new]).judgement, Judgement::NoDifference);
}

/// One row of 25 that became ten times as slow is found, and does not make the others slow.
#[test]
fn one_row_of_many() {
    let rows: Vec<&[f64]> = vec![&STEADY; 25];
    let slow = scaled(&STEADY, 10.0);
    let mut new = rows.clone();
    new[7] = &slow;
    let comparison = times(&rows, &new);
    assert_eq!(comparison.judgement, Judgement::Slower);
    let lab = comparison.lab.unwrap();
    assert_eq!(lab.experiments[0].judgement, Judgement::NoDifference);
    let slower = lab
        .rows
        .iter()
        .filter(|row| row.judgement == Judgement::Slower);
    let sizes: Vec<u64> = slower
        .map(|row| row.case["size_bytes"].as_u64().unwrap())
        .collect();
    assert_eq!(sizes, [8]);
}

#[test]
fn one_run_each_is_not_judged() {
    let comparison = times(&[&[1.0]], &[&[9.0]]);
    assert_eq!(comparison.judgement, Judgement::NotJudged);
    assert_eq!(comparison.missing.len(), 1);
    assert_eq!(
        comparison.missing[0].why,
        Reason::OneRunEach { remedy: false }
    );
    let lab = comparison.lab.unwrap();
    assert_eq!(
        lab.rows[0].median_s,
        Sides {
            base: Some(1.0),
            new: Some(9.0)
        }
    );
    assert_eq!((lab.rows[0].time, lab.experiments[0].timed), (None, 0));
}

#[test]
fn rows_without_time_have_their_counts_compared() {
    let base = result(vec![row(Mode::Flush, 1, &[])]);
    let mut new = result(vec![row(Mode::Flush, 1, &[])]);
    let calls = rows_of(&mut new)[0].row.evidence.syscalls.as_mut().unwrap();
    calls.get_mut("write").unwrap().count = 3;
    calls.insert("fsync".to_owned(), CallStats::default());
    let comparison = compared(&base, &new);
    assert_eq!(comparison.judgement, Judgement::NotJudged);
    assert!(comparison.missing.is_empty());
    assert_eq!(comparison.calls_differ, Some(true));
    let counts = &comparison.lab.unwrap().rows[0].counts;
    // No fsync and a count of 0 are equal.
    assert_eq!(counts.len(), 1);
    assert_eq!(
        (counts[0].part, counts[0].what.as_str()),
        (Part::Calls, "write calls")
    );
    assert_eq!(
        counts[0].sides,
        Sides {
            base: 1.0,
            new: 3.0
        }
    );
}

/// How often a program polls its ring is not a difference of calls.
#[test]
fn calls_that_wait_are_apart() {
    let base = result(vec![row(Mode::Flush, 1, &STEADY)]);
    let mut new = base.clone();
    let calls = rows_of(&mut new)[0].row.evidence.syscalls.as_mut().unwrap();
    let waited = CallStats {
        count: 9,
        ..CallStats::default()
    };
    calls.insert("io_uring_enter".to_owned(), waited);
    let comparison = compared(&base, &new);
    assert_eq!(comparison.calls_differ, Some(false));
    let counts = &comparison.lab.unwrap().rows[0].counts;
    assert_eq!((counts.len(), counts[0].part), (1, Part::Waits));
}

#[test]
fn times_of_nothing_are_not_judged() {
    let comparison = times(&[&[0.0, 0.0]], &[&[1.0, 1.0]]);
    assert_eq!(comparison.judgement, Judgement::NotJudged);
    assert_eq!(comparison.missing[0].why, Reason::NoTime);
}

#[test]
fn what_was_not_seen_is_not_compared() {
    let base = result(vec![row(Mode::Flush, 1, &STEADY)]);
    let mut new = base.clone();
    rows_of(&mut new)[0].row.evidence.syscalls = None;
    rows_of(&mut new)[0].row.evidence.device = None;
    let comparison = compared(&base, &new);
    assert_eq!(comparison.calls_differ, None);
    let row = &comparison.lab.unwrap().rows[0];
    assert_eq!((row.counts.len(), row.equal_counts), (0, 0));
}

#[test]
fn rows_of_one_side_are_listed() {
    let base = result(vec![
        row(Mode::Flush, 1, &STEADY),
        row(Mode::Fsync, 1, &STEADY),
    ]);
    let mut new = result(vec![
        row(Mode::ODsync, 4096, &STEADY),
        row(Mode::Fsync, 1, &STEADY),
    ]);
    let comparison = compared(&base, &new);
    assert_eq!(
        comparison.unpaired.base,
        ["buffering: flush, 1 × 1 B on host"]
    );
    assert_eq!(
        comparison.unpaired.new,
        ["buffering: o_dsync, 1 × 4.0 KiB on host"]
    );
    assert_eq!(
        comparison.lab.unwrap().rows[0].numbers,
        Sides { base: 2, new: 2 }
    );
    rows_of(&mut new).remove(1);
    assert!(!compared(&base, &new).has_pairs());
    new.experiments.clear();
    assert_eq!(compared(&base, &new).unpaired.base, ["buffering: 2 rows"]);
    assert_eq!(compared(&new, &base).unpaired.new, ["buffering: 2 rows"]);
}

/// The same times with others on one of two CPUs during the second run: inconclusive.
#[test]
fn a_busier_machine_hides_what_a_quiet_one_shows() {
    let slow = scaled(&STEADY, 1.3);
    let base = result(vec![row(Mode::Flush, 1, &STEADY)]);
    let mut new = result(vec![row(Mode::Flush, 1, &slow)]);
    assert_eq!(compared(&base, &new).judgement, Judgement::Slower);
    let others = &mut rows_of(&mut new)[0].row.interference.other_cpu_s;
    *others = Some(slow.iter().sum());
    let comparison = compared(&base, &new);
    assert_eq!(comparison.judgement, Judgement::NoDifference);
    let busy = comparison.lab.unwrap().experiments[0].others_cpus;
    assert!(busy.base == Some(0.0) && busy.new.is_some_and(|cpus| close(cpus, 1.0)));
}

#[test]
fn other_calls_in_any_pair_are_said() {
    let base = timed(&[&[1.0, 1.0]]);
    let mut other = base.clone();
    let row = &mut rows_of(&mut other)[0].row;
    let calls = row.evidence.syscalls.as_mut().unwrap();
    calls.get_mut("write").unwrap().count = 2;
    let calls_differ = |further: &[Pair<'_>]| lab(&pair(&base, &base), further).calls_differ;
    assert_eq!(calls_differ(&[pair(&base, &base)]), Some(false));
    assert_eq!(calls_differ(&[pair(&base, &other)]), Some(true));
}

#[test]
fn a_row_that_is_not_in_every_pair_is_not_judged() {
    let (one, two) = (timed(&[&[1.0, 1.1]]), timed(&[&[1.0, 1.1], &[2.0, 2.1]]));
    let found = lab(&pair(&two, &two), &[pair(&one, &two)]);
    let rows = found.lab.unwrap().rows;
    assert_eq!(rows[0].judgement, Judgement::NoDifference);
    assert_eq!(rows[1].judgement, Judgement::NotJudged);
    assert_eq!((rows[0].runs.base, rows[1].runs.base), (4, 2));
    assert_eq!(found.missing.len(), 1);
    assert_eq!(found.missing[0].why, Reason::NotPairedOrNoTime);
}
