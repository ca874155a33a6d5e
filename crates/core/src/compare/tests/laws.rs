//! Laws for any two results.

use proptest::prelude::*;

use super::*;
use crate::compare::{Judgement, TimeRatio};

/// Rows with the same number of times each.
fn any_rows() -> impl Strategy<Value = Vec<Vec<f64>>> {
    let times = proptest::collection::vec((1_u32..1_000_000).prop_map(f64::from), 2..8);
    proptest::collection::vec(times, 1..6)
}

fn compared_rows(base: &[Vec<f64>], new: &[Vec<f64>]) -> Comparison {
    let base: Vec<&[f64]> = base.iter().map(Vec::as_slice).collect();
    let new: Vec<&[f64]> = new.iter().map(Vec::as_slice).collect();
    times(&base, &new)
}

fn changes(comparison: &Comparison) -> Vec<TimeRatio> {
    let lab = comparison.lab.as_ref().unwrap();
    let wholes = lab.experiments.iter().filter_map(|whole| whole.time);
    wholes
        .chain(lab.rows.iter().filter_map(|row| row.time))
        .collect()
}

fn close(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-9
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_result_does_not_differ_from_itself(rows in any_rows()) {
        let comparison = compared_rows(&rows, &rows);
        prop_assert_eq!(comparison.judgement, Judgement::NoDifference);
        for change in changes(&comparison) {
            prop_assert!(close(change.ratio, 1.0));
        }
    }

    #[test]
    fn an_interval_holds_its_estimate(base in any_rows(), new in any_rows()) {
        for change in changes(&compared_rows(&base, &new)) {
            prop_assert!(change.low_ratio <= change.ratio && change.ratio <= change.high_ratio);
            prop_assert!(change.visible_ratio >= 1.03 && change.high_ratio.is_finite());
        }
    }

    #[test]
    fn swapping_the_sides_turns_the_ratios_round(base in any_rows(), new in any_rows()) {
        let forth = compared_rows(&base, &new);
        let back = compared_rows(&new, &base);
        let turned = match back.judgement {
            Judgement::Slower => Judgement::Faster,
            Judgement::Faster => Judgement::Slower,
            other => other,
        };
        prop_assert_eq!(forth.judgement, turned);
        for (one, other) in changes(&forth).into_iter().zip(changes(&back)) {
            prop_assert!(close(one.ratio, 1.0 / other.ratio));
            prop_assert!(close(one.low_ratio, 1.0 / other.high_ratio));
            prop_assert!(close(one.visible_ratio, other.visible_ratio));
        }
    }

    /// A result judged slower is also judged slower when it is slower still.
    #[test]
    fn more_of_it_is_found_as_well(rows in any_rows(), tenths in 1_u32..50, more in 1_u32..50) {
        let by = |tenths: u32| -> Vec<Vec<f64>> {
            let factor = 1.0 + f64::from(tenths) / 10.0;
            rows.iter().map(|row| row.iter().map(|time| time * factor).collect()).collect()
        };
        let is_slower = |tenths| compared_rows(&rows, &by(tenths)).judgement == Judgement::Slower;
        // The same run made slower is the simplest case.
        prop_assert!(is_slower(tenths) && is_slower(tenths + more));
    }
}
