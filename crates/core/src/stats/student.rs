//! Student's t distribution for whole degrees of freedom (Student 1908).

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// From this value on the distribution counts as normal in all figures shown: at 1,000 degrees the
/// 97.5 % point is 1.962 instead of 1.960.
const MOST: u32 = 1_000;

/// Bisection steps that reach the precision of the figures shown.
const HALVINGS: usize = 40;

/// Two-sided probability that a t-distributed value is farther from 0 than `t`. `degrees` above
/// 1,000 count as 1,000, and 0 as 1.
///
/// The finite series of Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and
/// 26.7.4.
pub fn t_beyond(t: f64, degrees: u32) -> f64 {
    let degrees = degrees.clamp(1, MOST);
    let angle = (t.abs() / f64::from(degrees).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let square = cosine * cosine;
    // 1 + (1/2) c² + (1·3 / 2·4) c⁴ ... for even degrees, c + (2/3) c³ + ... for odd ones.
    let (mut term, mut sum, first) = match degrees % 2 {
        0 => (1.0, 1.0, 2),
        _ if degrees == 1 => (0.0, 0.0, 3),
        _ => (cosine, cosine, 3),
    };
    for power in (first..degrees.saturating_sub(1)).step_by(2) {
        let power = f64::from(power);
        term *= square * (power - 1.0) / power;
        sum += term;
    }
    let within = if degrees.is_multiple_of(2) {
        sine * sum
    } else {
        FRAC_2_PI * (angle + sine * sum)
    };
    (1.0 - within).clamp(0.0, 1.0)
}

/// The value that a t-distributed one exceeds, two-sided, with this probability: the inverse of
/// [`t_beyond`]. `probability` is between 0 and 1, both excluded.
pub fn t_quantile(probability: f64, degrees: u32) -> f64 {
    let degrees = degrees.clamp(1, MOST);
    // In terms of the angle the range is finite.
    let value = |angle: f64| angle.tan() * f64::from(degrees).sqrt();
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if t_beyond(value(middle), degrees) > probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    value(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two-sided points of Student's t as printed in Fisher and Yates, Statistical Tables,
    /// table III.
    #[test]
    fn points_are_those_of_the_printed_table() {
        for (degrees, probability, point) in [
            (1, 0.05, 12.706),
            (1, 0.01, 63.657),
            (2, 0.05, 4.303),
            (3, 0.02, 4.541),
            (4, 0.05, 2.776),
            (4, 0.01, 4.604),
            (5, 0.10, 2.015),
            (8, 0.05, 2.306),
            (9, 0.001, 4.781),
            (24, 0.05, 2.064),
            (29, 0.01, 2.756),
            (120, 0.05, 1.980),
        ] {
            let found = t_quantile(probability, degrees);
            assert!(
                (found - point).abs() < 6e-4,
                "{degrees} {probability}: {found}"
            );
            let back = t_beyond(point, degrees);
            assert!(
                (back - probability).abs() < 2e-3 * probability,
                "{degrees}: {back}"
            );
        }
    }

    #[test]
    fn the_middle_and_the_ends() {
        for degrees in [0, 1, 2, 7, 5_000] {
            assert!((t_beyond(0.0, degrees) - 1.0).abs() < 1e-12);
            assert!(t_beyond(f64::INFINITY, degrees) < 1e-9);
            assert!(t_beyond(-3.0, degrees) < t_beyond(2.0, degrees));
        }
        assert!((t_quantile(0.05, u32::MAX) - 1.962).abs() < 1e-3);
    }
}
