//! The percentile bootstrap of the median (Efron 1979).

use super::{Interval, median_of_sorted};

/// Resamples drawn; the ends of the interval are its 250th values from below and above.
const RESAMPLES: usize = 10_000;

/// Resamples outside the interval on each side: 2.5 %.
const TAIL: usize = RESAMPLES / 40;

/// A fixed seed, so that the same samples always give the same interval.
const SEED: u64 = 0x0069_6f73_7472_6174;

/// Median with its 95 % percentile-bootstrap interval; `None` for no values.
///
/// With five samples or fewer the interval is smallest to largest sample, and one sample gives `low
/// == high`. That range contains the true median only with probability `1 - 2^(1-n)`: 0 for one
/// sample, 50 % for 2, 75 % for 3, 87.5 % for 4, 93.75 % for 5. From six samples on it is narrower
/// than the range, and somewhat below 95 % up to about a dozen samples, as percentile intervals
/// are. It describes one row; [`super::hodges_lehmann`] decides whether two rows differ, and does
/// not claim what small samples cannot show.
pub fn median_interval(values: &[f64]) -> Option<Interval> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = median_of_sorted(&sorted)?;
    if sorted.len() == 1 {
        return Some(Interval {
            median,
            low: median,
            high: median,
        });
    }
    let mut medians = resampled_medians(&sorted);
    let (_, low, above) = medians.select_nth_unstable_by(TAIL - 1, f64::total_cmp);
    let low = *low;
    let (_, high, _) = above.select_nth_unstable_by(RESAMPLES - 2 * TAIL, f64::total_cmp);
    Some(Interval {
        median,
        low,
        high: *high,
    })
}

/// Draws resamples as counts per rank, so that a walk over the counts finds their median without
/// sorting.
fn resampled_medians(sorted: &[f64]) -> Vec<f64> {
    let n = sorted.len();
    let mut random = SplitMix64(SEED);
    let mut drawn = vec![0_usize; n];
    let mut medians = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        drawn.fill(0);
        for _ in 0..n {
            drawn[random.below(n)] += 1;
        }
        let upper = sorted[rank_at(&drawn, n / 2)];
        medians.push(if n % 2 == 1 {
            upper
        } else {
            f64::midpoint(sorted[rank_at(&drawn, n / 2 - 1)], upper)
        });
    }
    medians
}

/// The rank at `position` of the sorted resample.
fn rank_at(drawn: &[usize], position: usize) -> usize {
    let mut passed = 0;
    for (rank, times) in drawn.iter().enumerate() {
        passed += times;
        if passed > position {
            return rank;
        }
    }
    drawn.len() - 1
}

/// `SplitMix64` (Steele, Lea and Flood 2014; constants of Vigna's public-domain
/// `splitmix64.c`): small, and good enough to draw indices.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An index below `n`, by the high half of a product (Lemire 2019). The bias
    /// is below `n / 2^64`.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the result is below n, a usize"
    )]
    fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// First outputs of Vigna's reference `splitmix64.c` for the seed 1234567
    /// (Rosetta Code, "Pseudo-random numbers/Splitmix64").
    #[test]
    fn generator_gives_the_published_sequence() {
        let mut random = SplitMix64(1_234_567);
        let first: Vec<u64> = (0..5).map(|_| random.next()).collect();
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
        );
    }

    #[test]
    fn no_values_have_no_interval_and_one_is_its_own() {
        assert_eq!(median_interval(&[]), None);
        let one = median_interval(&[0.25]).unwrap();
        assert_eq!((one.low, one.median, one.high), (0.25, 0.25, 0.25));
    }

    #[test]
    fn up_to_five_samples_the_interval_is_the_range() {
        for n in 2..=5 {
            let values: Vec<f64> = (1..=n).map(f64::from).collect();
            let interval = median_interval(&values).unwrap();
            assert_eq!(
                (interval.low, interval.high),
                (1.0, f64::from(n)),
                "{n} samples"
            );
        }
        let six = median_interval(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert!(six.low > 1.0 && six.high < 6.0, "{six:?}");
    }

    /// For an odd number of samples the bootstrap distribution is known exactly: the median of a
    /// resample is at most the k-th smallest with probability P(Binomial(n, k/n) > n/2) (Efron
    /// 1979, section 3). The ranks of the 2.5 % and 97.5 % points, by `scipy.stats.binom.sf` 1.17:
    /// n=7: 2..6, n=9: 2..8, n=25: 8..18.
    #[test]
    fn agrees_with_the_exact_bootstrap_distribution() {
        for (n, low, high) in EXACT_RANKS {
            let values: Vec<f64> = (1..=n).map(f64::from).collect();
            let interval = median_interval(&values).unwrap();
            assert_eq!((interval.low, interval.high), (low, high), "{n} samples");
        }
    }

    /// Samples, rank of the lower end, rank of the upper end.
    const EXACT_RANKS: [(u32, f64, f64); 3] = [(7, 2.0, 6.0), (9, 2.0, 8.0), (25, 8.0, 18.0)];

    /// Timings in nanoseconds: whole numbers, so that sums are exact.
    fn samples() -> impl Strategy<Value = Vec<f64>> {
        proptest::collection::vec((1_u32..1_000_000).prop_map(f64::from), 1..20)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn holds_the_median_and_stays_in_the_range(values in samples()) {
            let interval = median_interval(&values).unwrap();
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(least <= interval.low && interval.low <= interval.median);
            prop_assert!(interval.median <= interval.high && interval.high <= most);
        }

        #[test]
        fn does_not_depend_on_the_order(values in samples()) {
            let mut turned = values.clone();
            turned.reverse();
            turned.rotate_left(values.len() / 3);
            prop_assert_eq!(median_interval(&values), median_interval(&turned));
        }

        #[test]
        fn moves_and_scales_with_the_samples(values in samples(), by in 0_u32..1_000_000) {
            let by = f64::from(by);
            let moved: Vec<f64> = values.iter().map(|v| v * 4.0 + by).collect();
            let interval = median_interval(&values).unwrap();
            let moved = median_interval(&moved).unwrap();
            let at = |value: f64| value * 4.0 + by;
            let due = Interval {
                median: at(interval.median),
                low: at(interval.low),
                high: at(interval.high),
            };
            prop_assert_eq!(moved, due);
        }
    }
}
