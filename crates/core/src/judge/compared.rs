//! Ratio of two rows' times.

use super::Missing;
use crate::answer::Verdict;
use crate::figures::number;
use crate::stats::{self, Bounds};

/// Times within this factor count as the same cost: less than a reader would act on, more than a
/// code path or a cache line.
pub(crate) const SAME_WITHIN: f64 = 1.1;

/// Ratios of three-digit figures can differ this much from the exact ones.
const ROUNDED: f64 = 0.02;

/// Relation of one time to another.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Relation {
    /// More than this many times as long.
    Above(f64),
    /// At most this many times as long.
    AtMost(f64),
    /// Both are the same, within [`SAME_WITHIN`].
    Same,
    /// Both are the same, or the first is shorter.
    SameOrLess,
}

impl Relation {
    /// Longer, by any amount.
    pub(crate) const LONGER: Self = Self::Above(1.0);
}

/// Two samples of times, with the ratio between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Compared {
    /// Median of either sample, seconds.
    pub(crate) median_s: [f64; 2],
    /// Estimate of the factor.
    pub(crate) times: f64,
    /// Its 95 % interval.
    pub(crate) bounds: Bounds,
}

impl Compared {
    /// Compares the samples of the rows with these numbers.
    pub(crate) fn of(
        (our_row, ours): (usize, &[f64]),
        (their_row, theirs): (usize, &[f64]),
    ) -> Result<Self, Missing> {
        let no_time = || Missing::Evidence(format!("row {our_row} or {their_row} took no time"));
        let ratio = stats::ratio(ours, theirs).ok_or_else(no_time)?;
        let bounds = ratio.interval.ok_or_else(|| {
            Missing::Evidence(format!(
                "{} and {} timing runs (rows {our_row} and {their_row}) are too few for a 95 % interval",
                ours.len(),
                theirs.len(),
            ))
        })?;
        let median = |times: &[f64]| stats::median(times).ok_or_else(no_time);
        Ok(Self {
            median_s: [median(ours)?, median(theirs)?],
            times: ratio.estimate,
            bounds,
        })
    }

    /// Whether the relation holds; inconclusive when the interval leaves it undecided.
    pub(crate) fn is(&self, relation: Relation) -> Verdict {
        let Bounds { low, high } = self.bounds;
        let (least, most) = (1.0 / SAME_WITHIN, SAME_WITHIN);
        let (holds, refuted) = match relation {
            Relation::Above(factor) => (low > factor, high < factor),
            Relation::AtMost(factor) => (high <= factor, low > factor),
            Relation::SameOrLess if high < 1.0 => (true, false),
            Relation::Same | Relation::SameOrLess => {
                (low >= least && high <= most, low > most || high < least)
            }
        };
        match (holds, refuted) {
            (true, _) => Verdict::Holds,
            (false, true) => Verdict::Refuted,
            (false, false) => Verdict::Inconclusive,
        }
    }

    /// `53.4 times (95 %: 51.0–55.2)`; names its basis if it is not the ratio of the medians
    /// printed beside it.
    pub(crate) fn times(&self) -> String {
        let Self { times, bounds, .. } = self;
        let [ours, theirs] = self.median_s;
        let is_theirs = (times * theirs / ours - 1.0).abs() <= ROUNDED;
        let of = if is_theirs {
            ""
        } else {
            " over all pairs of runs"
        };
        format!(
            "{} times{of} (95 %: {}–{})",
            number(*times),
            number(bounds.low),
            number(bounds.high)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_that_is_not_that_of_the_medians_says_of_what() {
        let compared = |medians_us: [f64; 2], times: f64| Compared {
            median_s: medians_us.map(|median| median * 1e-6),
            times,
            bounds: Bounds {
                low: 0.9,
                high: 1.4,
            },
        };
        let as_medians = compared([1060.0, 747.0], 1.42);
        assert_eq!(as_medians.times(), "1.42 times (95 %: 0.90–1.40)");
        let otherwise = compared([747.0, 1060.0], 1.17);
        assert_eq!(
            otherwise.times(),
            "1.17 times over all pairs of runs (95 %: 0.90–1.40)"
        );
    }
}
