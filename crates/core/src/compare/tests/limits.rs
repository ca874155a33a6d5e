//! Limits, and what exceeds them.

use super::*;
use crate::compare::{Limit, LimitError};

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
    // Within what two runs differ by anyway.
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
