//! Buckets of time joined to bins: a drawing of the whole run has no room for each of them. The page
//! carries the counts of all buckets, from which a script draws the finer bins of a chosen part.

use std::fmt::Write as _;

/// Bins that one drawing has at most.
pub(super) const MOST: usize = 512;

/// Buckets in each bin of the whole: a power of two.
pub(super) fn step(buckets: usize) -> usize {
    let mut step = 1;
    while buckets.div_ceil(step) > MOST {
        step *= 2;
    }
    step
}

/// The sums of so many buckets each; `None` where one of them was not measured.
pub(super) fn joined(values: &[Option<f64>], step: usize) -> Vec<Option<f64>> {
    let bins = values.chunks(step.max(1));
    bins.map(|bin| bin.iter().copied().sum()).collect()
}

/// Counts for a script: separated by spaces, a run of zeros as `~` and its length.
pub(super) fn packed(counts: &[Option<f64>]) -> String {
    let mut text = String::new();
    for run in counts.chunk_by(|one, next| *one == Some(0.0) && *next == Some(0.0)) {
        let separator = if text.is_empty() { "" } else { " " };
        let _infallible = match run {
            [Some(0.0), _, ..] => write!(text, "{separator}~{}", run.len()),
            [count, ..] => write!(text, "{separator}{}", count.unwrap_or(0.0)),
            [] => Ok(()),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_as_few_as_there_is_room_for() {
        let steps = [0, 1, 512, 513, 1024, 4095].map(step);
        assert_eq!(steps, [1, 1, 1, 2, 2, 8]);
    }

    #[test]
    fn a_bin_is_the_sum_of_its_buckets() {
        let values = [Some(1.0), Some(2.0), Some(4.0), None, Some(8.0)];
        assert_eq!(joined(&values, 2), [Some(3.0), None, Some(8.0)]);
        assert_eq!(joined(&values, 1), values);
    }

    #[test]
    fn runs_of_zeros_are_short() {
        let counts = |counts: &[f64]| packed(&counts.iter().map(|c| Some(*c)).collect::<Vec<_>>());
        assert_eq!(counts(&[0.0, 0.0, 3.0, 5.0, 5.0, 0.0, 7.0]), "~2 3 5 5 0 7");
        assert_eq!(counts(&[0.0; 4]), "~4");
        assert_eq!(counts(&[]), "");
    }
}
