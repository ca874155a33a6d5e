//! Whether the model behind the projections agrees with the measurements.

use super::TargetRows;
use crate::answer::Verdict;
use crate::figures::number;
use crate::judge::{Finding, Missing};

/// The error up to which a projection is useful, and the error from which it is useless.
const GOOD: f64 = 0.25;
const USELESS: f64 = 0.5;

/// By the median error over the rows of one writer.
pub(super) fn the_projection_holds(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let ours = |row: usize| target.rows.iter().any(|known| known.number == row);
    let mut checks: Vec<(f64, usize, f64, f64)> = target
        .result
        .own
        .projections
        .iter()
        .filter(|projection| ours(projection.row))
        .filter_map(|one| Some((one.error?, one.row, one.syncs_per_s, one.measured_per_s?)))
        .collect();
    checks.sort_by(|one, other| f64::total_cmp(&one.0.abs(), &other.0.abs()));
    let Some((error, row, projected, measured)) = checks.get(checks.len() / 2).copied() else {
        return Err(Missing::Rows);
    };
    let because = format!(
        "the error of row {row} is the median of {}: {} syncs/s projected, {} measured, {:+.0} %",
        checks.len(),
        number(projected),
        number(measured),
        error * 100.0
    );
    Ok(Finding {
        verdict: Verdict::by(error.abs(), ..=GOOD, USELESS..),
        because,
        rows: vec![row],
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{judged, made, result};
    use super::*;
    use crate::sync::{SyncCall, Write, calibrated, projections};

    fn by_flush(flush_us: f64) -> Result<Finding, Missing> {
        let row = made(SyncCall::Fsync, Write::Append)
            .timed(&[200.0; 5])
            .asking([1, 0, 0, 0, 1]);
        let mut result = result(vec![row]);
        result.own.calibrations = vec![calibrated("host", 100e-6, (100.0 + flush_us) * 1e-6, 9)];
        result.own.projections = projections(&result, &[]);
        judged("predict its sync rate", &result)
    }

    #[test]
    fn the_error_decides() {
        assert_eq!(by_flush(100.0).unwrap().verdict, Verdict::Holds);
        assert_eq!(by_flush(35.0).unwrap().verdict, Verdict::Inconclusive);
        assert_eq!(by_flush(1000.0).unwrap().verdict, Verdict::Refuted);
        let found = by_flush(100.0).unwrap();
        assert!(found.because.ends_with("+0 %"), "{}", found.because);
    }

    #[test]
    fn without_calibration_nothing_is_claimed() {
        let row = made(SyncCall::Fsync, Write::Append).timed(&[200.0; 5]);
        let result = result(vec![row]);
        let said = judged("predict its sync rate", &result);
        assert!(matches!(said, Err(Missing::Rows)));
    }
}
