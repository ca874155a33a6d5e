//! Whether times differ beyond the noise.
//!
//! Samples of one run are not independent: the load of the machine changes within seconds, and the
//! cases of an experiment are interleaved, so that a disturbance affects all of them. The unit of
//! the statistics is therefore the *round*: the n-th sample of every case. Round n of one result is
//! compared with round n of the other, which is the same step of the same schedule.
//!
//! More rounds do not make a run arbitrarily precise. On a shared machine the mean over a minute
//! differs from that of the next minute as much as one second differs from another. Two runs differ
//! only when they differ by more than the rounds within them do: the interval is the one that
//! predicts a further round (Hahn and Meeker, Statistical Intervals, chapter 4), not that of the
//! mean.
//!
//! Several interleaved pairs of runs can show smaller differences. Then a pair is the unit, and the
//! variation between pairs is measured instead of assumed: the interval is that of their mean.

use serde::{Deserialize, Serialize};

use super::Judgement;
use crate::stats;

/// Probability that two runs of the same subject are judged different. The documented promise is
/// below one in 20; machines behave worse than Student's distribution, and a smaller probability
/// costs little where the noise is small.
pub(super) const FALSE_ALARM: f64 = 0.03;

/// The part of it for the experiments as wholes when single rows are judged too; the rows share the
/// rest. The whole finds small changes, since it has all samples; a row alone shows only large
/// ones.
pub(super) const OF_WHOLES: f64 = 0.02;

/// Standard deviation, as a factor, between runs that no sample of a run shows: the placement of
/// files and memory. Assumed, not measured.
const LAYOUT: f64 = 1.01;

/// Share of the machine's CPUs by which others may be busier during one run than during the other
/// before it counts.
const SAME_LOAD: f64 = 0.1;

/// Relative precision of the load itself.
const KNOWN_LOAD: f64 = 0.2;

/// The difference between a fully busy and an idle machine, as a standard deviation of the
/// logarithm: on a virtual machine with two CPUs on which others compiled, a sync took 50 times as
/// long as on the same machine when idle, which is 4 on this scale.
const LOAD: f64 = 4.0;

/// Ratio of the variance between runs to that between rounds on a machine that others keep fully
/// busy: their load changes within minutes. Of 71 pairs of runs of the same subject on that
/// machine, those that differed without this factor did so by up to twice the width of their
/// interval.
const CROWD: f64 = 3.0;

/// Smaller factors are not reported as a difference, however narrow their interval.
const LEAST: f64 = 1.03;

/// A difference counts as detectable if it would be found with this probability.
const POWER: f64 = 0.95;

/// Minimum number of rows for estimating their spread.
const SPREAD_ROWS: usize = 4;

/// Larger factors, and those below its inverse, are reported as this: nothing more is known about
/// them.
const FARTHEST: f64 = 1e6;

/// Converts the median absolute deviation of a normal sample into its standard deviation.
const DEVIATION: f64 = 1.4826;

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct TimeRatio {
    /// Estimate of the factor.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low_ratio: f64,
    /// Upper end of its interval.
    pub high_ratio: f64,
    /// Probability that the interval misses the factor: 3 % for everything judged together.
    pub misses: f64,
    /// The smallest factor that would be found 19 times in 20 with this noise.
    pub visible_ratio: f64,
    /// Number of rounds; with several pairs of runs, number of pairs.
    pub rounds: usize,
}

impl TimeRatio {
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

/// Logarithms of the factors between two rows, round by round; for rounds that both have. `None`
/// when a time is not positive.
pub(super) fn rounds(base: &[f64], new: &[f64]) -> Option<Vec<f64>> {
    let factors = base.iter().zip(new).map(|(base, new)| new / base);
    let logarithms: Vec<f64> = factors.map(f64::ln).collect();
    let are_known = logarithms.iter().all(|log| log.is_finite());
    are_known.then_some(logarithms)
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Basis {
    /// The rounds of one pair of runs.
    Rounds(Load),
    /// Several pairs of runs, with the activity of others during all of them.
    Pairs(Load),
}

impl Basis {
    /// Variances, with their degrees of freedom, of the mean of this many values with this
    /// variance.
    fn sources(self, variance: f64, count: usize) -> Vec<(f64, f64)> {
        match self {
            Self::Rounds(load) => vec![
                load.further_round(variance, count),
                load.difference(),
                layout(),
            ],
            // Memory and files were placed elsewhere in each pair: the samples include that.
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
    /// An experiment as a whole, from its rows' rounds. The median of the rows counts in each
    /// round, so that a disturbed row weighs no more than another; the medians of the rounds are
    /// one sample. `None` below two rounds.
    pub(super) fn whole(rows: &[Vec<f64>], basis: Basis) -> Option<Self> {
        let longest = rows.iter().map(Vec::len).max()?;
        let middles: Vec<f64> = (0..longest)
            .map(|round| -> Vec<f64> {
                rows.iter()
                    .filter_map(|row| row.get(round).copied())
                    .collect()
            })
            // Rows end when they have enough samples: a few of them do not represent the
            // experiment.
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

    /// One row alone, among all rows of its experiment. Few rounds can agree by chance: no row
    /// counts as steadier than the median row. `None` below two rounds.
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

    /// The interval with this error probability, and the detectable factor.
    pub(super) fn change(&self, misses: f64) -> TimeRatio {
        let degrees = self.degrees();
        let deviation = self.variance().sqrt();
        let width = stats::t_quantile(misses, degrees) * deviation;
        let reserve = stats::t_quantile(2.0 * (1.0 - POWER), degrees) * deviation;
        TimeRatio {
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

/// Values that the rows of an experiment share.
pub(super) struct Among {
    rows: usize,
    /// Variance of the rounds of the median row.
    noise: f64,
    /// Variance between rows beyond the noise of their rounds: a file placed elsewhere changes its
    /// row in all rounds. From the median absolute deviation, so that the few rows that did change
    /// do not count as noise. `None` when there are too few rows.
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

/// The activity of other programs during two runs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Load {
    /// Share of the machine that they kept busy during the run with more of it.
    share: f64,
    /// Excess of that share over the other run's, beyond the tolerance for equal load.
    excess: f64,
}

impl Load {
    /// From the CPUs that others kept busy during either run, on a machine with `cpus`.
    pub(super) fn of(base_cpus: f64, new_cpus: f64, cpus: f64) -> Self {
        let most = base_cpus.max(new_cpus).max(0.0);
        let same = (KNOWN_LOAD * most).max(SAME_LOAD * cpus);
        Self {
            share: (most / cpus).min(1.0),
            excess: ((base_cpus - new_cpus).abs() - same).max(0.0) / cpus,
        }
    }

    /// Variance, with its degrees of freedom, of a further round, predicted from the mean of this
    /// many.
    fn further_round(self, variance: f64, rounds: usize) -> (f64, f64) {
        let crowd = 1.0 + CROWD * self.share.powi(2);
        (
            variance * crowd * (1.0 + 1.0 / rounds as f64),
            degrees(rounds),
        )
    }

    /// The same for the activity of others in one run only.
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
