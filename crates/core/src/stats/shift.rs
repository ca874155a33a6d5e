//! The difference of two samples: the Hodges-Lehmann estimate with Moses' interval.

use super::median_of_sorted;

/// Samples up to this size use the exact distribution, as R's `wilcox.test` does.
const EXACT_BELOW: usize = 50;

/// The 97.5 % point of the standard normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// Both ends of an interval, included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    pub low: f64,
    pub high: f64,
}

/// The difference, or the ratio, of two samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// Hodges-Lehmann estimate, in the samples' unit or as a factor.
    pub estimate: f64,
    /// 95 % interval; `None` when the samples are too small for one to exist,
    /// such as 3 against 3, where even complete separation has p = 0.1.
    pub interval: Option<Bounds>,
}

/// By how much `a` exceeds `b`: the median of all differences `a[i] - b[j]`
/// (Hodges and Lehmann 1963) with the interval that the two-sided 5 %
/// Mann-Whitney test does not reject (Moses; Hollander and Wolfe, Nonparametric
/// Statistical Methods, section 4.3). `None` when a sample is empty.
///
/// Below 50 samples each the exact distribution without ties is used, which
/// needs no normal approximation; ties only make the closed interval cover more
/// than 95 %. Larger samples use the normal approximation with continuity
/// correction. Takes time and memory in proportion to `a.len() * b.len()`.
pub fn hodges_lehmann(a: &[f64], b: &[f64]) -> Option<Shift> {
    let mut differences: Vec<f64> = a
        .iter()
        .flat_map(|x| b.iter().map(move |y| x - y))
        .collect();
    differences.sort_by(f64::total_cmp);
    let estimate = median_of_sorted(&differences)?;
    let cut = if a.len() < EXACT_BELOW && b.len() < EXACT_BELOW {
        exact_cut(a.len(), b.len())
    } else {
        normal_cut(a.len(), b.len())
    };
    let interval = (cut > 0).then(|| Bounds {
        low: differences[cut - 1],
        high: differences[differences.len() - cut],
    });
    Some(Shift { estimate, interval })
}

/// Ratio of `a` to `b`: [`hodges_lehmann`] of the logarithms. Its interval excludes 1 exactly when
/// that of the difference excludes 0, since both use ranks. `None` when a sample is empty or a
/// value is not positive.
pub fn ratio(a: &[f64], b: &[f64]) -> Option<Shift> {
    let logarithms = |values: &[f64]| -> Option<Vec<f64>> {
        values.iter().map(|v| (*v > 0.0).then(|| v.ln())).collect()
    };
    let difference = hodges_lehmann(&logarithms(a)?, &logarithms(b)?)?;
    Some(Shift {
        estimate: difference.estimate.exp(),
        interval: difference.interval.map(|bounds| Bounds {
            low: bounds.low.exp(),
            high: bounds.high.exp(),
        }),
    })
}

/// The interval runs from the `cut`-th smallest to the `cut`-th largest
/// difference: the largest `cut` with `P(U < cut) <= 2.5 %`; 0 when there is none.
fn exact_cut(m: usize, n: usize) -> usize {
    let counts = mann_whitney_counts(m, n);
    let total: i128 = counts.iter().sum();
    let mut below = 0;
    counts
        .iter()
        .take_while(|count| {
            below += **count;
            below * 40 <= total
        })
        .count()
}

/// The number of the `C(m+n, m)` equally likely orders in which the Mann-Whitney statistic is 0, 1,
/// 2 ... `m * n`: the coefficients of the Gaussian binomial, computed factor by factor as `(1 -
/// q^(n+i)) / (1 - q^i)` (Mann and Whitney 1947). For 49 and 49 samples the sum is below 2^97.
fn mann_whitney_counts(m: usize, n: usize) -> Vec<i128> {
    let mut counts = vec![0_i128; m * n + 1];
    counts[0] = 1;
    for i in 1..=m {
        for u in (n + i..counts.len()).rev() {
            counts[u] -= counts[u - n - i];
        }
        for u in i..counts.len() {
            counts[u] += counts[u - i];
        }
    }
    counts
}

/// The same by the normal approximation of the statistic.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most m * n / 2, a usize; a negative figure becomes 0: no interval exists"
)]
fn normal_cut(m: usize, n: usize) -> usize {
    let (m, n) = (m as f64, n as f64);
    let deviation = (m * n * (m + n + 1.0) / 12.0).sqrt();
    (m * n / 2.0 - Z * deviation + 0.5).floor() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn excludes_zero(difference: Shift) -> bool {
        let interval = difference.interval;
        interval.is_some_and(|bounds| bounds.low > 0.0 || bounds.high < 0.0)
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    /// Permeability of the human chorioamnion (Hollander and Wolfe 1973, p. 69;
    /// the example of R's `wilcox.test`, which gives W = 35, p = 0.2544
    /// two-sided). The estimate is 0.305; the exact interval is the 9th to the
    /// 42nd of the 50 differences, with coverage 96.0 %, as the exact p-values
    /// of `scipy.stats.mannwhitneyu` 1.17 give it.
    #[test]
    fn chorioamnion_permeability() {
        let term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let early = [1.15, 0.88, 0.90, 0.74, 1.21];
        let difference = hodges_lehmann(&term, &early).unwrap();
        let bounds = difference.interval.unwrap();
        assert!(close(difference.estimate, 0.305), "{difference:?}");
        assert!(
            close(bounds.low, -0.15) && close(bounds.high, 0.76),
            "{difference:?}"
        );
        assert!(!excludes_zero(difference));
    }

    /// `cut` is the number of values u with two-sided p(U = u) <= 0.05, counted
    /// with `scipy.stats.mannwhitneyu` 1.17, `method="exact"`. For 5/5, 8/8,
    /// 10/10 and 20/20 it is one more than the critical U of the printed tables
    /// (2, 13, 23, 127).
    #[test]
    fn exact_cuts() {
        for (m, n, cut) in [
            (3, 3, 0),
            (2, 7, 0),
            (2, 8, 1),
            (3, 5, 1),
            (4, 4, 1),
            (5, 5, 3),
            (5, 10, 9),
            (7, 9, 13),
            (8, 8, 14),
            (10, 10, 24),
            (20, 20, 128),
            (30, 40, 435),
        ] {
            assert_eq!(exact_cut(m, n), cut, "{m} against {n}");
            assert_eq!(exact_cut(n, m), cut, "{n} against {m}");
        }
    }

    /// The same with `method="asymptotic"` (continuity-corrected).
    #[test]
    fn normal_cuts() {
        for (m, n, cut) in [(50, 50, 966), (60, 40, 921), (50, 2, 9), (50, 1, 0)] {
            assert_eq!(normal_cut(m, n), cut, "{m} against {n}");
        }
    }

    #[test]
    fn counts_are_all_orders_of_the_largest_exact_size() {
        let counts = mann_whitney_counts(49, 49);
        assert!(counts.iter().all(|count| *count > 0));
        assert!(counts.iter().eq(counts.iter().rev()), "symmetric");
        // C(98, 49)
        assert_eq!(
            counts.iter().sum::<i128>(),
            25_477_612_258_980_856_902_730_428_600
        );
    }

    #[test]
    fn three_against_three_have_no_interval_four_have() {
        let apart = hodges_lehmann(&[11.0, 12.0, 13.0], &[1.0, 2.0, 3.0]).unwrap();
        assert_eq!((apart.estimate, apart.interval), (10.0, None));
        assert!(!excludes_zero(apart));
        let apart = hodges_lehmann(&[11.0, 12.0, 13.0, 14.0], &[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!(
            apart.interval,
            Some(Bounds {
                low: 7.0,
                high: 13.0
            })
        );
        assert!(excludes_zero(apart));
    }

    #[test]
    fn nothing_to_compare() {
        assert_eq!(hodges_lehmann(&[], &[1.0]), None);
        assert_eq!(hodges_lehmann(&[1.0], &[]), None);
        assert_eq!(ratio(&[1.0], &[0.0]), None);
    }

    #[test]
    fn equal_values_do_not_differ() {
        let same = hodges_lehmann(&[5.0; 6], &[5.0; 6]).unwrap();
        assert_eq!(
            same.interval,
            Some(Bounds {
                low: 0.0,
                high: 0.0
            })
        );
        assert!(!excludes_zero(same));
    }

    fn samples(least: usize) -> impl Strategy<Value = Vec<f64>> {
        proptest::collection::vec((1_u32..1_000_000).prop_map(f64::from), least..15)
    }

    proptest! {
        #[test]
        fn swapping_negates(a in samples(1), b in samples(1)) {
            let forth = hodges_lehmann(&a, &b).unwrap();
            let back = hodges_lehmann(&b, &a).unwrap();
            let turned = Shift {
                estimate: -back.estimate,
                interval: back.interval.map(|i| Bounds { low: -i.high, high: -i.low }),
            };
            prop_assert_eq!(forth, turned);
            prop_assert_eq!(excludes_zero(forth), excludes_zero(back));
        }

        #[test]
        fn moves_and_scales_with_the_samples(a in samples(4), b in samples(4), by in 0_u32..1000) {
            let by = f64::from(by);
            let moved: Vec<f64> = a.iter().map(|v| v * 2.0 + by).collect();
            let doubled: Vec<f64> = b.iter().map(|v| v * 2.0).collect();
            let plain = hodges_lehmann(&a, &b).unwrap();
            let moved = hodges_lehmann(&moved, &doubled).unwrap();
            let at = |value: f64| value * 2.0 + by;
            let due = Shift {
                estimate: at(plain.estimate),
                interval: plain.interval.map(|i| Bounds { low: at(i.low), high: at(i.high) }),
            };
            prop_assert_eq!(moved, due);
        }

        #[test]
        fn interval_holds_the_estimate_and_order_does_not_matter(
            a in samples(4),
            b in samples(4),
        ) {
            let difference = hodges_lehmann(&a, &b).unwrap();
            let bounds = difference.interval.unwrap();
            prop_assert!(bounds.low <= difference.estimate && difference.estimate <= bounds.high);
            let turned: Vec<f64> = a.iter().rev().copied().collect();
            prop_assert_eq!(hodges_lehmann(&turned, &b).unwrap(), difference);
        }

        #[test]
        fn ratio_tells_apart_what_the_difference_tells_apart(a in samples(1), b in samples(1)) {
            let difference = hodges_lehmann(&a, &b).unwrap();
            let ratio = ratio(&a, &b).unwrap();
            let apart = ratio.interval.is_some_and(|i| i.low > 1.0 || i.high < 1.0);
            prop_assert_eq!(apart, excludes_zero(difference));
        }
    }
}
