//! Statistics on small samples: medians, their intervals, and differences.
//!
//! Everything here is non-parametric, because timings are skewed and their distribution is unknown,
//! and deterministic, so that a saved result always gives the same figures.

mod bootstrap;
mod shift;
mod student;

pub use bootstrap::median_interval;
pub use shift::{Bounds, Shift, hodges_lehmann, ratio};
pub use student::{t_beyond, t_quantile};

/// A median with the ends that [`Ends`] describes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

/// Up to this number of samples the interval is their range.
const RANGE_UP_TO: usize = 5;

/// The meaning of the two ends given with a median.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ends {
    /// Minimum and maximum: five samples or fewer do not give a 95 % interval.
    Range,
    /// A 95 % bootstrap interval.
    Interval,
}

impl Ends {
    /// The meaning of the ends that [`median_interval`] returns for this number of samples.
    pub fn of(samples: usize) -> Self {
        if samples <= RANGE_UP_TO {
            Self::Range
        } else {
            Self::Interval
        }
    }

    /// The label of the ends: `range`, `95 %`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Range => "range",
            Self::Interval => "95 %",
        }
    }
}

/// Median; `None` for no values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

/// Median of values in ascending order; `None` for no values.
fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// A robust centre of values with possible outliers: the median of the means of all pairs,
/// including each value with itself (Hodges and Lehmann 1963). `None` for no values. Takes time and
/// memory proportional to the square of their number.
pub fn pseudomedian(values: &[f64]) -> Option<f64> {
    let pairs = values.iter().enumerate();
    let means: Vec<f64> = pairs
        .flat_map(|(rank, a)| values[rank..].iter().map(|b| f64::midpoint(*a, *b)))
        .collect();
    median(&means)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_samples_have_a_range_and_six_an_interval() {
        assert_eq!(
            [1, 5, 6].map(Ends::of).map(Ends::as_str),
            ["range", "range", "95 %"]
        );
        let interval = |values: &[f64]| median_interval(values).unwrap();
        let five = interval(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!((five.low, five.high), (1.0, 5.0));
        let six = interval(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert!(six.low > 1.0 && six.high < 6.0, "{six:?}");
    }

    #[test]
    fn median_of_odd_even_and_none() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    /// By hand: for 1, 2 and 9 the means are 1, 1.5, 5, 2, 5.5 and 9.
    #[test]
    fn pseudomedian_of_three_one_and_none() {
        assert_eq!(pseudomedian(&[9.0, 1.0, 2.0]), Some(3.5));
        assert_eq!(pseudomedian(&[4.0]), Some(4.0));
        assert_eq!(pseudomedian(&[]), None);
    }
}
