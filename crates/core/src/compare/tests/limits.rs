//! Limits, and what exceeds them.

use super::*;
use crate::compare::{Limit, LimitError, Verdict};

#[test]
fn limits_are_read() {
    for (text, percent) in [("5%", 5.0), ("2.5 %", 2.5), ("10", 10.0), ("0%", 0.0)] {
        assert_eq!(Limit::parse(text), Ok(Limit { percent }), "{text}");
    }
    for text in ["", "%", "five", "nan", "inf", "1e3", "5%%", "+5"] {
        assert_eq!(
            Limit::parse(text),
            Err(LimitError::NotANumber(text.to_owned()))
        );
    }
    for text in ["-5%", "10001"] {
        assert_eq!(
            Limit::parse(text),
            Err(LimitError::OutOfRange(text.to_owned()))
        );
    }
}

fn exceeded(factor: f64, percent: f64) -> Vec<String> {
    let mut comparison = times(&[&[1.0; 5]], &[&[factor; 5]]);
    comparison.fail_on(Limit { percent });
    let exceeded = comparison.fail_on.unwrap().exceeded.into_iter();
    exceeded.map(|one| one.what).collect()
}

#[test]
fn only_what_is_slower_by_as_much_exceeds() {
    let both = ["buffering as a whole", "buffering: flush, 1 × 1 B on host"];
    assert_eq!(exceeded(1.2, 5.0), both);
    assert_eq!(exceeded(1.2, 25.0), [""; 0]);
    assert_eq!(exceeded(0.5, 5.0), [""; 0]);
    // Within the normal difference between two runs.
    assert_eq!(exceeded(1.02, 1.0), [""; 0]);
}

#[test]
fn how_much_is_said_with_its_interval() {
    let mut comparison = times(&[&[1.0; 5]], &[&[1.2; 5]]);
    comparison.fail_on(Limit { percent: 5.0 });
    let exceeded = &comparison.fail_on.unwrap().exceeded[0];
    let percent = exceeded.percent.unwrap();
    assert!((percent - 20.0).abs() < 1e-9);
    let (low, high) = exceeded.interval_percent.unwrap();
    assert!(low > 15.0 && low < percent && percent < high && high < 25.0);
    assert_eq!(exceeded.counts, None);
}

/// Possible slowdowns by 5 %, for these two rows.
fn undecided(base: &[&[f64]], new: &[&[f64]], percent: f64) -> Vec<String> {
    let mut comparison = times(base, new);
    comparison.fail_on(Limit { percent });
    let undecided = comparison.fail_on.unwrap().undecided.into_iter();
    undecided.map(|one| one.what).collect()
}

const NOISY: [f64; 5] = [1.0, 1.4, 0.8, 1.1, 2.0];

#[test]
fn a_limit_that_the_noise_hides_is_open() {
    let whole = "buffering as a whole";
    // The same run twice has no noise between its rounds.
    assert_eq!(undecided(&[&[1.0; 5]], &[&[1.0; 5]], 10.0), [""; 0]);
    let other = [1.9, 0.9, 1.2, 1.3, 1.0];
    assert_eq!(undecided(&[&NOISY], &[&other], 10.0)[0], whole);
    assert_eq!(undecided(&[&NOISY], &[&other], 10_000.0), [""; 0]);
    // A value that reaches the limit is not also undecided.
    assert_eq!(undecided(&[&[1.0; 5]], &[&[1.2; 5]], 5.0), [""; 0]);
    // A single timed run each shows nothing.
    assert_eq!(undecided(&[&[1.0]], &[&[1.0]], 5.0), [whole]);
    // A row without times cannot fail.
    assert_eq!(undecided(&[&[]], &[&[]], 5.0), [""; 0]);
}

/// 25 steady rows and one that seems five times as slow, with noise that can hide it.
#[test]
fn a_row_that_looks_slower_leaves_the_limit_open() {
    let steady: &[f64] = &[1.0; 5];
    let mut base = vec![steady; 25];
    let mut new = base.clone();
    base[7] = &NOISY;
    let slow = [9.0, 1.2, 0.9, 30.0, 8.0];
    new[7] = &slow;
    let open = undecided(&base, &new, 10.0);
    assert_eq!(open, ["buffering: flush, 1 × 8 B on host"]);
    let comparison = times(&base, &new);
    let lab = comparison.lab.as_ref().unwrap();
    assert_eq!(lab.experiments[0].verdict, Some(Verdict::Same));
    assert_eq!(lab.rows[7].verdict, Some(Verdict::Inconclusive));
    assert_eq!(comparison.verdict, Some(Verdict::Inconclusive));
    // If it is faster by as much, the verdict is undecided but no limit is exceeded.
    assert_eq!(undecided(&new, &base, 10.0), [""; 0]);
}

#[test]
fn verdicts_are_for_the_limit() {
    let verdict = |percent: Option<f64>| {
        let mut comparison = times(&[&[1.0; 5]], &[&[1.0; 5]]);
        if let Some(percent) = percent {
            comparison.fail_on(Limit { percent });
        }
        (comparison.limit_percent, comparison.verdict)
    };
    assert_eq!(verdict(None), (10.0, Some(Verdict::Same)));
    // The 1 % of either run makes 5.6 % detectable: see `what_no_sample_shows_is_left`.
    assert_eq!(verdict(Some(6.0)), (6.0, Some(Verdict::Same)));
    assert_eq!(verdict(Some(5.0)), (5.0, Some(Verdict::Inconclusive)));
}
