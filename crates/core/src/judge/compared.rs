//! Two rows' times: how many times as long the first took.

use super::Missing;
use super::figures::number;
use crate::answer::Verdict;
use crate::stats::{self, Bounds};

/// Times within this factor of each other count as the same cost: less than a
/// reader would act on, more than a code path or a cache line.
pub(crate) const SAME_WITHIN: f64 = 1.1;

/// Two samples of times, with the factor between them.
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
    /// Compares `ours` with `theirs`, the samples of the rows of these numbers.
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

    /// Whether the first took longer; inconclusive inside the noise.
    pub(crate) fn longer(&self) -> Verdict {
        if self.bounds.low > 1.0 {
            Verdict::Holds
        } else if self.bounds.high < 1.0 {
            Verdict::Refuted
        } else {
            Verdict::Inconclusive
        }
    }

    /// Whether both took the same; inconclusive when the interval leaves it open.
    pub(crate) fn same(&self) -> Verdict {
        let (least, most) = (1.0 / SAME_WITHIN, SAME_WITHIN);
        if self.bounds.low >= least && self.bounds.high <= most {
            Verdict::Holds
        } else if self.bounds.low > most || self.bounds.high < least {
            Verdict::Refuted
        } else {
            Verdict::Inconclusive
        }
    }

    /// Whether the first took longer by more than the margin of [`Self::same`].
    pub(crate) fn far_longer(&self) -> bool {
        self.bounds.low > SAME_WITHIN
    }

    /// `53.4 times (95 %: 51.0–55.2)`.
    pub(crate) fn times(&self) -> String {
        let Self { times, bounds, .. } = self;
        format!(
            "{} times (95 %: {}–{})",
            number(*times),
            number(bounds.low),
            number(bounds.high)
        )
    }
}
