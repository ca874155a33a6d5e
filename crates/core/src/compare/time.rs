//! Whether times differ beyond the noise.
//!
//! Samples of one run are not independent: what else the machine does comes and goes in seconds,
//! and the cases of an experiment are timed in turn, so that a disturbance meets all of them.
//! The unit of the statistics is therefore the *round*: the n-th sample of every case. Round n
//! of one result is held against round n of the other, which is the same step of the same
//! schedule.
//!
//! And more rounds do not make a run steadier without end. The noise of a shared machine is of
//! the kind whose mean over a minute is as far from that of the next minute as one second is
//! from another. Two runs differ only when they differ by more than the rounds within them do:
//! the interval is the one that predicts a further round (Hahn and Meeker, Statistical
//! Intervals, chapter 4), not that of the mean.
//!
//! That they differ by less can be told from several pairs of runs, made in turn. Then a pair
//! is the unit, and how far one is from the next is seen and need not be assumed: the interval
//! is that of their mean.

use serde::{Deserialize, Serialize};

use super::Judgement;
use crate::stats;

/// Probability that anything is called different in two runs of the same thing. Fewer than one
/// in 20 are promised; machines are worse than Student's distribution, and a little less costs
/// little where the noise is small.
pub(super) const FALSE_ALARM: f64 = 0.03;

/// The part of it that the experiments as wholes get when there are single rows to be judged
/// too; these share the rest. Small changes are found by the whole, since it has all samples;
/// a row by itself shows only what is large.
pub(super) const OF_WHOLES: f64 = 0.02;

/// Standard deviation, as a factor, of what one run differs from the next by and no sample of
/// it shows: where files and memory happened to lie. Assumed, not measured.
const LAYOUT: f64 = 1.01;

/// Share of the machine's CPUs by which others may have been busier during one run than during
/// the other before that counts.
const SAME_LOAD: f64 = 0.1;

/// Part of the load itself that it is known to.
const KNOWN_LOAD: f64 = 0.2;

/// What a wholly busy machine differs from an idle one by, as a standard deviation of the
/// logarithm: on a virtual machine with two CPUs on which others compiled, a sync took 50 times
/// as long as on the same one when it was idle, which is 4 on this scale.
const LOAD: f64 = 4.0;

/// By how much the variance between runs exceeds that between rounds on a machine that others
/// keep wholly busy: they come and go in minutes. Of 71 pairs of runs of the same thing on that
/// machine, those that differed without this did so by up to twice the width of their interval.
const CROWD: f64 = 3.0;

/// Smaller factors are not called a difference, however narrow their interval.
const LEAST: f64 = 1.03;

/// A difference is said to have been visible when it would have been found so often.
const POWER: f64 = 0.95;

/// Rows that an experiment must have for their spread to be estimated.
const SPREAD_ROWS: usize = 4;

/// Larger factors, and smaller than its inverse, are given as this: no more is known of them.
const FARTHEST: f64 = 1e6;

/// Makes the median absolute deviation of a normal sample its standard deviation.
const DEVIATION: f64 = 1.4826;

/// How many times as long something takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Change {
    /// Estimate of the factor.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low_ratio: f64,
    /// Upper end of its interval.
    pub high_ratio: f64,
    /// Probability that the interval misses the factor: 3 % for all that is judged together.
    pub misses: f64,
    /// The least factor that would have been found 19 times in 20 with this noise.
    pub visible_ratio: f64,
    /// Rounds it rests on; of several pairs of runs, the pairs.
    pub rounds: usize,
}

impl Change {
    /// What it says.
    pub(super) fn judgement(&self) -> Judgement {
        if self.low_ratio > 1.0 && self.ratio >= LEAST {
            Judgement::Slower
        } else if self.high_ratio < 1.0 && self.ratio <= 1.0 / LEAST {
            Judgement::Faster
        } else {
            Judgement::NoDifference
        }
    }
}

/// Logarithms of the factors between two rows, round by round; the rounds that both have.
/// `None` when a time is not positive.
pub(super) fn rounds(base: &[f64], new: &[f64]) -> Option<Vec<f64>> {
    let factors = base.iter().zip(new).map(|(base, new)| new / base);
    let logarithms: Vec<f64> = factors.map(f64::ln).collect();
    let are_known = logarithms.iter().all(|log| log.is_finite());
    are_known.then_some(logarithms)
}

/// What an estimate rests on.
#[derive(Debug, Clone, Copy)]
pub(super) enum Basis {
    /// The rounds of one pair of runs.
    Rounds(Load),
    /// Several pairs of runs, with what others did to all of them together.
    Pairs(Load),
}

impl Basis {
    /// Variances, with their degrees of freedom, of the mean of so many that have this variance.
    fn sources(self, variance: f64, count: usize) -> Vec<(f64, f64)> {
        match self {
            Self::Rounds(load) => vec![
                load.further_round(variance, count),
                load.difference(),
                layout(),
            ],
            // Memory and files lay elsewhere in each pair: that is part of what is seen.
            Self::Pairs(load) => vec![(variance / count as f64, degrees(count)), load.difference()],
        }
    }
}

/// An estimate on the logarithmic scale, with the sources of its variance.
#[derive(Debug, Clone)]
pub(super) struct Estimate {
    log: f64,
    /// Variance and its degrees of freedom.
    sources: Vec<(f64, f64)>,
    rounds: usize,
}

impl Estimate {
    /// An experiment as a whole, of its rows' rounds. In each round the middle of the rows
    /// counts, so that a row that was hit by something else weighs no more than another; the
    /// middles of the rounds are one sample. `None` below two rounds.
    pub(super) fn whole(rows: &[Vec<f64>], basis: Basis) -> Option<Self> {
        let longest = rows.iter().map(Vec::len).max()?;
        let middles: Vec<f64> = (0..longest)
            .map(|round| -> Vec<f64> {
                rows.iter()
                    .filter_map(|row| row.get(round).copied())
                    .collect()
            })
            // Rows end when they have been timed enough: a few of them are not the experiment.
            .take_while(|logs| logs.len() * 2 >= rows.len())
            .filter_map(|logs| stats::pseudomedian(&logs))
            .collect();
        let (log, variance) = mean_and_variance(&middles)?;
        let mut sources = basis.sources(variance, middles.len());
        if let (Basis::Rounds(_), Some(spread)) = (basis, Among::of(rows).spread) {
            sources.push((spread / rows.len() as f64, degrees(rows.len())));
        }
        Some(Self {
            log,
            sources,
            rounds: middles.len(),
        })
    }

    /// One row by itself, among all rows of its experiment. Few rounds can agree by chance: no
    /// row is taken for steadier than the middle one. `None` below two rounds.
    pub(super) fn row(logs: &[f64], among: &Among, basis: Basis) -> Option<Self> {
        let (log, variance) = mean_and_variance(logs)?;
        let variance = variance.max(among.noise);
        let mut sources = basis.sources(variance, logs.len());
        if let (Basis::Rounds(_), Some(spread)) = (basis, among.spread) {
            sources.push((spread, degrees(among.rows)));
        }
        Some(Self {
            log,
            sources,
            rounds: logs.len(),
        })
    }

    /// The interval that misses with this probability, and what could have been seen.
    pub(super) fn change(&self, misses: f64) -> Change {
        let degrees = self.degrees();
        let deviation = self.variance().sqrt();
        let width = stats::t_quantile(misses, degrees) * deviation;
        let reserve = stats::t_quantile(2.0 * (1.0 - POWER), degrees) * deviation;
        Change {
            ratio: factor(self.log),
            low_ratio: factor(self.log - width),
            high_ratio: factor(self.log + width),
            misses,
            visible_ratio: factor(width + reserve).max(LEAST),
            rounds: self.rounds,
        }
    }

    fn variance(&self) -> f64 {
        self.sources.iter().map(|(variance, _)| variance).sum()
    }

    /// Degrees of freedom of the sum (Satterthwaite 1946), rounded down, which widens the
    /// interval.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast saturates; the figure is positive or not a number, which becomes 0"
    )]
    fn degrees(&self) -> u32 {
        let parts = self.sources.iter();
        let weights: f64 = parts
            .map(|(variance, degrees)| variance.powi(2) / degrees)
            .sum();
        (self.variance().powi(2) / weights) as u32
    }
}

/// What the rows of an experiment have in common.
pub(super) struct Among {
    rows: usize,
    /// Variance of the rounds of the middle row.
    noise: f64,
    /// Variance by which rows differ from each other beyond the noise that their rounds show: a
    /// file that came to lie elsewhere changes its row in all rounds. From the median absolute
    /// deviation, so that the few rows that did change are not taken for noise. `None` when
    /// there are too few rows.
    spread: Option<f64>,
}

impl Among {
    /// Of the rounds of all rows.
    pub(super) fn of(rows: &[Vec<f64>]) -> Self {
        let known = || rows.iter().filter_map(|row| mean_and_variance(row));
        let noises: Vec<f64> = known().map(|(_, variance)| variance).collect();
        Self {
            rows: noises.len(),
            noise: stats::median(&noises).unwrap_or_default(),
            spread: spread(rows).filter(|_| noises.len() >= SPREAD_ROWS),
        }
    }
}

fn spread(rows: &[Vec<f64>]) -> Option<f64> {
    let known = || {
        rows.iter()
            .filter_map(|row| Some((row, mean_and_variance(row)?)))
    };
    let means: Vec<f64> = known().map(|(_, (mean, _))| mean).collect();
    let of_means = known().map(|(row, (_, variance))| variance / row.len() as f64);
    let middle = stats::median(&means)?;
    let distances: Vec<f64> = means.iter().map(|mean| (mean - middle).abs()).collect();
    let found = (DEVIATION * stats::median(&distances)?).powi(2);
    Some((found - stats::median(&of_means.collect::<Vec<_>>())?).max(0.0))
}

/// What others did to two runs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Load {
    /// Share of the machine that they kept busy during the run that had more of them.
    share: f64,
    /// Share by which that is more than during the other run, beyond what is the same load.
    excess: f64,
}

impl Load {
    /// Of the CPUs that others kept busy during either run, on a machine of so many.
    pub(super) fn of(base_cpus: f64, new_cpus: f64, cpus: f64) -> Self {
        let most = base_cpus.max(new_cpus).max(0.0);
        let same = (KNOWN_LOAD * most).max(SAME_LOAD * cpus);
        Self {
            share: (most / cpus).min(1.0),
            excess: ((base_cpus - new_cpus).abs() - same).max(0.0) / cpus,
        }
    }

    /// Variance, with its degrees of freedom, of a further round as seen from the mean of so
    /// many.
    fn further_round(self, variance: f64, rounds: usize) -> (f64, f64) {
        let crowd = 1.0 + CROWD * self.share.powi(2);
        (
            variance * crowd * (1.0 + 1.0 / rounds as f64),
            degrees(rounds),
        )
    }

    /// The same of the work that others had in one run only.
    fn difference(self) -> (f64, f64) {
        ((LOAD * self.excess).powi(2), f64::INFINITY)
    }
}

/// The variance that no sample shows: that of two runs.
fn layout() -> (f64, f64) {
    (2.0 * LAYOUT.ln().powi(2), f64::INFINITY)
}

fn factor(log: f64) -> f64 {
    log.exp().clamp(1.0 / FARTHEST, FARTHEST)
}

fn degrees(count: usize) -> f64 {
    count.saturating_sub(1) as f64
}

/// Mean and variance of a sample; `None` below two values.
fn mean_and_variance(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len() as f64;
    if values.len() < 2 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((mean, squares / (count - 1.0)))
}
