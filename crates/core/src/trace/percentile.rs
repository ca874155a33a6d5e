//! Percentiles of a histogram in powers of two.

/// The time that a share of the calls did not exceed, seconds; `None` without calls.
///
/// Bucket `n` has the calls of `2^n` to `2^(n+1) - 1` ns. Within a bucket they are assumed to be
/// evenly spread over the logarithm, so a percentile is within a factor of two, and usually within
/// a fifth.
pub fn percentile_s(histogram: &[u64], share: f64) -> Option<f64> {
    let calls = histogram.iter().copied().fold(0, u64::saturating_add);
    if calls == 0 {
        return None;
    }
    let wanted = (calls as f64 * share).max(1.0);
    let mut below = 0.0;
    for (power, count) in (0_i32..).zip(histogram) {
        let count = *count as f64;
        if below + count >= wanted {
            let part = (wanted - below) / count;
            return Some((f64::from(power) + part).exp2() / 1e9);
        }
        below += count;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_lies_in_the_bucket_of_its_call() {
        let mut histogram = vec![0; 40];
        histogram[10] = 98;
        histogram[20] = 2;
        let p50 = percentile_s(&histogram, 0.5).unwrap() * 1e9;
        assert!((1024.0..2048.0).contains(&p50), "{p50}");
        let p99 = percentile_s(&histogram, 0.99).unwrap() * 1e9;
        assert!((1_048_576.0..2_097_152.0).contains(&p99), "{p99}");
        assert_eq!(percentile_s(&[], 0.5), None);
        assert_eq!(percentile_s(&[0, 0], 0.5), None);
        assert_eq!(percentile_s(&[1], 0.5), Some(2e-9));
    }
}
