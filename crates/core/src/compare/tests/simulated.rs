//! How often two runs of the same subject are judged different, and how often a change is found.
//!
//! Runs are simulated with noise on every level of a shared machine: of one sample, some of which
//! are disturbed; of a round, in which all rows share the state of the machine; of a row, whose
//! file is placed elsewhere in each run; and of a whole run, which finds the machine in another
//! state. The noise of consecutive rounds is correlated.

use super::*;
use crate::compare::{Judgement, TimeRatio};

/// Pairs of runs.
const PAIRS: u64 = 200;

/// Standard deviations of the logarithms.
#[derive(Clone, Copy)]
struct Machine {
    sample: f64,
    round: f64,
    row: f64,
    run: f64,
}

/// No other programs.
const QUIET: Machine = Machine {
    sample: 0.03,
    round: 0.008,
    row: 0.01,
    run: 0.008,
};

/// Other programs come and go.
const NOISY: Machine = Machine {
    sample: 0.25,
    round: 0.10,
    row: 0.05,
    run: 0.10,
};

/// One sample in this many takes 50 % longer.
const HIT: f64 = 0.02;

/// A generator of the `SplitMix64` family (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    /// Between 0 and 1, both excluded.
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((z >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Standard normal (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// Rows with five times each, `factor` times as long as they would be.
fn run(random: &mut Random, machine: Machine, rows: usize, factor: f64) -> Vec<Vec<f64>> {
    let run = machine.run * random.normal();
    let mut state = machine.round * random.normal();
    let rounds: Vec<f64> = (0..5)
        .map(|_| {
            // Half of a round's state comes from the previous one: the variance stays constant.
            state = 0.5 * state + 0.75_f64.sqrt() * machine.round * random.normal();
            state
        })
        .collect();
    (1..=rows)
        .map(|row| {
            let own = (row as f64 * 1e-3).ln() + machine.row * random.normal();
            let time = |round: &f64| {
                let hit = if random.uniform() < HIT { 1.5 } else { 1.0 };
                hit * factor * (run + round + own + machine.sample * random.normal()).exp()
            };
            rounds.iter().map(time).collect()
        })
        .collect()
}

fn one_pair(seed: u64, machine: Machine, rows: usize, factor: f64) -> Comparison {
    let mut random = Random(seed);
    let base = run(&mut random, machine, rows, 1.0);
    let new = run(&mut random, machine, rows, factor);
    let base: Vec<&[f64]> = base.iter().map(Vec::as_slice).collect();
    let new: Vec<&[f64]> = new.iter().map(Vec::as_slice).collect();
    times(&base, &new)
}

/// Pairs with this judgement.
fn found(machine: Machine, rows: usize, factor: f64, judgement: Judgement) -> u64 {
    let pairs = (0..PAIRS).map(|seed| one_pair(seed, machine, rows, factor));
    pairs.filter(|pair| pair.judgement == judgement).count() as u64
}

fn whole(comparison: &Comparison) -> TimeRatio {
    comparison.lab.as_ref().unwrap().experiments[0]
        .time
        .unwrap()
}

#[test]
fn two_runs_of_the_same_thing_are_called_different_in_one_of_twenty_at_most() {
    for (machine, rows) in [(QUIET, 25), (QUIET, 1), (NOISY, 25), (NOISY, 5), (NOISY, 1)] {
        let same = found(machine, rows, 1.0, Judgement::NoDifference);
        assert!(same * 20 >= PAIRS * 19, "{rows} rows: {same} of {PAIRS}");
    }
}

#[test]
fn ten_per_cent_are_found_on_a_quiet_machine() {
    let slower = found(QUIET, 25, 1.1, Judgement::Slower);
    assert!(slower * 20 >= PAIRS * 19, "{slower} of {PAIRS}");
    let faster = found(QUIET, 25, 1.0 / 1.1, Judgement::Faster);
    assert!(faster * 20 >= PAIRS * 19, "{faster} of {PAIRS}");
}

/// A change reported as detectable is detected in 19 of 20 pairs.
#[test]
fn what_is_called_visible_is_seen() {
    for machine in [QUIET, NOISY] {
        let seen = (0..PAIRS).filter(|&seed| {
            let visible = whole(&one_pair(seed, machine, 25, 1.0)).visible_ratio;
            one_pair(seed, machine, 25, visible).judgement == Judgement::Slower
        });
        let seen = seen.count() as u64;
        assert!(seen * 20 >= PAIRS * 19, "{seen} of {PAIRS}");
    }
}

/// Several interleaved pairs of runs of one row.
fn several_pairs(seed: u64, machine: Machine, factor: f64, count: usize) -> Comparison {
    let mut random = Random(seed);
    let mut side = |factor: f64| {
        let times = run(&mut random, machine, 1, factor);
        timed(&[&times[0]])
    };
    let results: Vec<[LabResult; 2]> = (0..count).map(|_| [side(1.0), side(factor)]).collect();
    let pairs: Vec<Pair<'_>> = results.iter().map(|[base, new]| pair(base, new)).collect();
    lab(&pairs[0], &pairs[1..])
}

/// Where one pair is inconclusive, several can detect 10 %.
#[test]
fn ten_per_cent_are_found_on_a_noisy_machine_in_many_pairs() {
    let found = |factor: f64, judgement: Judgement| {
        let tries = (0..PAIRS).map(|seed| several_pairs(seed, NOISY, factor, 150));
        tries.filter(|one| one.judgement == judgement).count() as u64
    };
    let same = found(1.0, Judgement::NoDifference);
    assert!(same * 20 >= PAIRS * 19, "{same} of {PAIRS}");
    let slower = found(1.1, Judgement::Slower);
    assert!(slower * 20 >= PAIRS * 19, "{slower} of {PAIRS}");
}

/// A few pairs do not promise more than they deliver, either.
#[test]
fn what_few_pairs_call_visible_is_seen() {
    for count in [4, 10] {
        let same = (0..PAIRS).map(|seed| several_pairs(seed, NOISY, 1.0, count));
        let same = same.filter(|one| one.judgement == Judgement::NoDifference);
        let same = same.count() as u64;
        assert!(same * 20 >= PAIRS * 19, "{count} pairs: {same} of {PAIRS}");
        let visible = |seed| {
            let same = several_pairs(seed, NOISY, 1.0, count);
            several_pairs(seed, NOISY, whole(&same).visible_ratio, count)
        };
        let seen = (0..PAIRS).filter(|&seed| visible(seed).judgement == Judgement::Slower);
        let seen = seen.count() as u64;
        // 95 % of 2,000.
        assert!(seen * 10 >= PAIRS * 9, "{count} pairs: {seen} of {PAIRS}");
    }
}
