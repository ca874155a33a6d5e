//! A run second by second: syncs and device requests side by side, and whether the
//! rate is steady.

use serde::{Deserialize, Serialize};

use crate::evidence::RequestsPer;
use crate::gap::{Gap, Missing, Reason};

/// Fewest seconds that a rate can be called steady of.
const FEWEST_SECONDS: usize = 3;

/// Largest spread of the rate, and largest change along its fitted line, as shares of
/// the mean: the limits of the SNIA Solid State Storage Performance Test
/// Specification 2.0, "Steady State" (20 % range, 10 % slope).
const RANGE: f64 = 0.2;
const SLOPE: f64 = 0.1;

/// One second of a run. Requests are `null` where the device was not observed.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Second {
    /// How long it really was, seconds: it ends with a sync.
    pub lasted_s: f64,
    /// Syncs, all writers together.
    pub syncs: u64,
    #[serde(flatten)]
    pub requests: RequestsPer<u64>,
}

impl Second {
    /// A count as a rate.
    pub fn per_s(&self, count: u64) -> f64 {
        if self.lasted_s > 0.0 {
            count as f64 / self.lasted_s
        } else {
            0.0
        }
    }

    pub fn syncs_per_s(&self) -> f64 {
        self.per_s(self.syncs)
    }
}

/// The observed run second by second.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Series {
    /// In their order.
    pub seconds: Vec<Second>,
    /// `null` when there are too few seconds to tell.
    pub steadiness: Option<Steadiness>,
}

/// Whether and from when on the rate of syncs did not change.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Steadiness {
    /// Whether the seconds after `warm_up_seconds` agree: the fastest and the slowest
    /// within 20 % of the mean, and the line fitted to them within 10 %.
    pub steady: bool,
    /// Seconds at the start that do not agree with the rest and are left out of
    /// `mean_per_s`. 0 when the rate never became steady.
    pub warm_up_seconds: usize,
    /// Mean rate of the seconds that are left, syncs a second.
    pub mean_per_s: f64,
    /// Fastest less slowest of them, as a share of the mean.
    pub range: f64,
    /// Change from the first to the last of them along the fitted line, as a share of
    /// the mean; negative when syncs became slower.
    pub slope: f64,
}

impl Series {
    /// Why there is no steadiness; `None` if there is.
    pub fn missing(&self) -> Option<Gap> {
        let fewest = FEWEST_SECONDS as u64;
        let none = self.steadiness.is_none();
        none.then(|| Gap::new(Missing::Steadiness, Reason::FewSeconds { fewest }))
    }

    /// Judges the seconds of a run.
    pub fn of(seconds: Vec<Second>) -> Self {
        let rates: Vec<f64> = seconds.iter().map(Second::syncs_per_s).collect();
        Self {
            steadiness: steadiness(&rates),
            seconds,
        }
    }
}

/// The longest steady end of a run; where there is none, the whole run, not steady.
fn steadiness(rates: &[f64]) -> Option<Steadiness> {
    let last_start = rates.len().checked_sub(FEWEST_SECONDS)?;
    let ends = (0..=last_start).map(|start| judged(&rates[start..], start));
    ends.clone()
        .find(|end| end.steady)
        .or_else(|| ends.clone().next())
}

fn judged(rates: &[f64], warm_up_seconds: usize) -> Steadiness {
    let count = rates.len() as f64;
    let mean_per_s = rates.iter().sum::<f64>() / count;
    let share = |difference: f64| {
        if mean_per_s > 0.0 {
            difference / mean_per_s
        } else {
            0.0
        }
    };
    let most = rates.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let (range, slope) = (share(most - least), share(fitted_change(rates, mean_per_s)));
    Steadiness {
        steady: mean_per_s > 0.0 && range <= RANGE && slope.abs() <= SLOPE,
        warm_up_seconds,
        mean_per_s,
        range,
        slope,
    }
}

/// Change from the first to the last value along the least-squares line.
fn fitted_change(rates: &[f64], mean: f64) -> f64 {
    let middle = (rates.len() as f64 - 1.0) / 2.0;
    let centred = || (0..rates.len()).map(|at| at as f64 - middle);
    let squares: f64 = centred().map(|at| at * at).sum();
    let products: f64 = centred()
        .zip(rates)
        .map(|(at, rate)| at * (rate - mean))
        .sum();
    if squares > 0.0 {
        products / squares * (rates.len() as f64 - 1.0)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn series(rates: &[u64]) -> Series {
        let second = |&syncs: &u64| Second {
            lasted_s: 1.0,
            syncs,
            ..Second::default()
        };
        Series::of(rates.iter().map(second).collect())
    }

    #[test]
    fn a_slow_start_is_warm_up() {
        let found = series(&[13, 25, 24, 24, 25]).steadiness.unwrap();
        assert!(found.steady);
        assert_eq!(found.warm_up_seconds, 1);
        assert!((found.mean_per_s - 24.5).abs() < 1e-9);
        assert!((found.range - 1.0 / 24.5).abs() < 1e-9);
    }

    #[test]
    fn a_rate_that_falls_is_not_steady() {
        // Least squares by hand: slope -10 a second over five, mean 80.
        let found = series(&[100, 90, 80, 70, 60]).steadiness.unwrap();
        assert!(!found.steady);
        assert_eq!(found.warm_up_seconds, 0);
        assert!((found.slope + 0.5).abs() < 1e-9, "{found:?}");
        assert!((found.range - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_slow_drift_within_the_range_is_not_steady() {
        let found = series(&[100, 103, 106, 109, 112, 115, 118]).steadiness;
        assert!(
            found.is_some_and(|end| end.warm_up_seconds > 0),
            "{found:?}"
        );
    }

    /// The seconds of the article's own output, without its torn first and last.
    #[test]
    fn the_articles_run_never_was_steady() {
        let found = series(&[25, 24, 24, 30, 30, 22, 13, 30, 26, 25, 25, 27]);
        let end = found.steadiness.unwrap();
        assert!(end.steady && end.warm_up_seconds == 8, "{end:?}");
        let found = series(&[25, 24, 24, 30, 30, 22, 13, 30])
            .steadiness
            .unwrap();
        assert!(!found.steady, "{found:?}");
    }

    #[test]
    fn two_seconds_tell_nothing() {
        assert_eq!(series(&[5, 5]).steadiness, None);
        assert_eq!(series(&[]).steadiness, None);
        let why = series(&[5, 5]).missing().map(|gap| gap.why);
        assert_eq!(why, Some(Reason::FewSeconds { fewest: 3 }));
        assert_eq!(series(&[5, 5, 5]).missing(), None);
        assert!(!series(&[0, 0, 0]).steadiness.unwrap().steady);
    }

    #[test]
    fn a_second_that_was_longer_is_no_faster() {
        let long = Second {
            lasted_s: 2.0,
            syncs: 50,
            ..Second::default()
        };
        assert!((long.syncs_per_s() - 25.0).abs() < 1e-9);
        assert!(Second::default().syncs_per_s() <= 0.0);
    }

    proptest! {
        #[test]
        fn the_same_rate_is_steady_and_scale_does_not_matter(
            rates in proptest::collection::vec(1_u64..100_000, 3..30)
        ) {
            let once = series(&rates).steadiness.unwrap();
            let ten: Vec<u64> = rates.iter().map(|rate| rate * 10).collect();
            let tenfold = series(&ten).steadiness.unwrap();
            prop_assert_eq!(once.warm_up_seconds, tenfold.warm_up_seconds);
            prop_assert!((once.slope - tenfold.slope).abs() < 1e-9);
            let level = series(&vec![rates[0]; rates.len()]).steadiness.unwrap();
            prop_assert!(level.steady && level.warm_up_seconds == 0);
        }
    }
}
