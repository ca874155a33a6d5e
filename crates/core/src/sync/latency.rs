//! How long single syncs took: the whole histogram, and percentiles where there are
//! enough samples for them.

use serde::{Deserialize, Serialize};

use crate::gap::{Gap, Missing, Reason};
use crate::timing::seconds;

/// Samples that must lie beyond a percentile before it is given: with fewer it
/// is the value of a handful of syncs and another run would give another.
const BEYOND: f64 = 10.0;

/// Syncs of about the same latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Bucket {
    /// Longest latency of the bucket, nanoseconds.
    pub upto_ns: u64,
    pub count: u64,
}

/// Latencies of one case.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Latency {
    /// Half of the syncs took no longer, seconds. Like the other percentiles
    /// `null` where there are too few samples for it.
    pub p50: Option<f64>,
    /// 90 % took no longer.
    pub p90: Option<f64>,
    /// 99 % took no longer.
    pub p99: Option<f64>,
    /// 99.9 % took no longer.
    pub p999: Option<f64>,
    /// The longest; `null` without any sync.
    pub max: Option<f64>,
    /// Syncs that were timed.
    pub samples: u64,
    /// All of them, by latency, ascending; buckets without a sync are left out.
    pub buckets: Vec<Bucket>,
}

impl Latency {
    /// Summarises buckets in any order; those of the same latency are joined.
    pub fn from_buckets(mut buckets: Vec<Bucket>, max_ns: u64) -> Self {
        buckets.retain(|bucket| bucket.count > 0);
        buckets.sort_by_key(|bucket| bucket.upto_ns);
        buckets.dedup_by(|later, kept| {
            let same = later.upto_ns == kept.upto_ns;
            if same {
                kept.count += later.count;
            }
            same
        });
        let samples = buckets.iter().map(|bucket| bucket.count).sum();
        let at = |share| percentile_ns(&buckets, samples, share).map(|ns| ns.min(max_ns));
        Self {
            p50: at(0.5).map(seconds),
            p90: at(0.9).map(seconds),
            p99: at(0.99).map(seconds),
            p999: at(0.999).map(seconds),
            max: (samples > 0).then(|| seconds(max_ns)),
            samples,
            buckets,
        }
    }

    /// Fewest samples for which the percentile `share` is given.
    fn samples_needed(share: f64) -> f64 {
        // Rounded, since 1 - 0.99 is not exactly a hundredth.
        (BEYOND / (1.0 - share)).round()
    }

    /// Percentiles that are not given, and why.
    pub fn missing(&self) -> Vec<Gap> {
        [
            ("p50", self.p50, 20),
            ("p90", self.p90, 100),
            ("p99", self.p99, 1_000),
            ("p99.9", self.p999, 10_000),
        ]
        .into_iter()
        .filter(|(_, value, _)| value.is_none())
        .map(|(name, _, needed)| {
            let percentile = name.to_owned();
            let why = Reason::FewSyncs { needed };
            Gap::new(Missing::Latency { percentile }, why)
        })
        .collect()
    }
}

/// The nearest-rank percentile: the smallest value that at least `share` of the
/// samples do not exceed.
fn percentile_ns(buckets: &[Bucket], samples: u64, share: f64) -> Option<u64> {
    if (samples as f64) < Latency::samples_needed(share) {
        return None;
    }
    let mut passed = 0;
    let reached = buckets.iter().find(|bucket| {
        passed += bucket.count;
        passed as f64 >= samples as f64 * share
    });
    reached.map(|bucket| bucket.upto_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one_each(latencies_ns: impl IntoIterator<Item = u64>) -> Vec<Bucket> {
        let bucket = |upto_ns| Bucket { upto_ns, count: 1 };
        latencies_ns.into_iter().map(bucket).collect()
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        // 1 to 10,000 ns once each: the k-th percentile is the value itself.
        let latency = Latency::from_buckets(one_each((1..=10_000).rev()), 10_000);
        let ns = |value: Option<f64>| value.map(|seconds| (seconds * 1e9).round());
        assert_eq!(ns(latency.p50), Some(5000.0));
        assert_eq!(ns(latency.p90), Some(9000.0));
        assert_eq!(ns(latency.p99), Some(9900.0));
        assert_eq!(ns(latency.p999), Some(9990.0));
        assert_eq!(ns(latency.max), Some(10_000.0));
        assert_eq!(latency.samples, 10_000);
    }

    #[test]
    fn few_samples_have_no_far_percentile() {
        let of = |samples| Latency::from_buckets(one_each(1..=samples), samples);
        let given = |latency: &Latency| {
            [latency.p50, latency.p90, latency.p99, latency.p999].map(|value| value.is_some())
        };
        assert_eq!(given(&of(19)), [false, false, false, false]);
        assert_eq!(given(&of(20)), [true, false, false, false]);
        assert_eq!(given(&of(999)), [true, true, false, false]);
        assert_eq!(given(&of(1000)), [true, true, true, false]);
        assert_eq!(given(&of(9999)), [true, true, true, false]);
        assert!(of(1).max.is_some(), "the longest needs no second one");
        let missing = |samples| of(samples).missing();
        let needs = [("p99", 1_000), ("p99.9", 10_000)].map(|(name, needed)| {
            let percentile = name.to_owned();
            Gap::new(Missing::Latency { percentile }, Reason::FewSyncs { needed })
        });
        assert_eq!(missing(999), needs);
        assert_eq!(missing(1000), needs[1..]);
        assert!(missing(10_000).is_empty());
        assert_eq!(of(0), Latency::default());
    }

    proptest! {
        #[test]
        fn the_order_and_the_division_of_buckets_do_not_matter(
            counts in proptest::collection::vec((1_u64..200, 0_u64..40), 0..60)
        ) {
            let whole: Vec<Bucket> = counts
                .iter()
                .map(|&(upto_ns, count)| Bucket { upto_ns, count })
                .collect();
            let single = one_each(counts.iter().rev().flat_map(|&(upto_ns, count)| {
                std::iter::repeat_n(upto_ns, usize::try_from(count).unwrap())
            }));
            let latency = Latency::from_buckets(whole, 200);
            prop_assert_eq!(&latency, &Latency::from_buckets(single, 200));
            let ranked = [latency.p50, latency.p90, latency.p99, latency.p999, latency.max];
            let given: Vec<f64> = ranked.into_iter().flatten().collect();
            prop_assert!(given.is_sorted(), "{given:?}");
        }
    }
}
