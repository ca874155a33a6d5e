//! Claims about the rate of syncs, measured and projected.

use super::{APPEND, Numbered, TargetRows};
use crate::answer::Verdict;
use crate::bytes;
use crate::evidence::Cause;
use crate::figures::{duration, number, percent, rate};
use crate::judge::{Finding, Missing};
use crate::stats::Ends;
use crate::sync::SyncCall;
use crate::timing::Timing;

/// The rate that the article's author could not check.
const DOUBTED_PER_S: f64 = 10_000.0;

/// Flushes per sync above which each sync flushed, and up to which it did not.
const FLUSHED: f64 = 0.9;
const NOT_FLUSHED: f64 = 0.5;

/// The cheapest durable sync that was measured: a rate is real if it is above the
/// doubted one and each sync emptied the device's cache, or there is none to empty.
pub(super) fn ten_thousand(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let (fastest, (low, high)) = fastest(target)?;
    let case = fastest.case();
    let timing = fastest.row.row.timing.as_ref();
    let ends = timing.map_or(Ends::Range, Timing::ends).as_str();
    let measured = format!(
        "{} {} of {}: {} syncs/s ({ends}: {}–{})",
        case.call.as_str(),
        case.write.as_str(),
        fastest.size(),
        number(fastest.row.syncs_per_s.unwrap_or(0.0)),
        number(low),
        number(high)
    );
    let found = |verdict, reason: &str| {
        Finding::new(verdict, format!("{measured}{reason}"), vec![fastest.number])
    };
    if high < DOUBTED_PER_S {
        return Ok(found(Verdict::Refuted, " is the single-writer maximum"));
    }
    let (durable, reason) = durable(&fastest)?;
    Ok(match durable {
        Some(false) => found(Verdict::Refuted, &reason),
        Some(true) if low > DOUBTED_PER_S => found(Verdict::Holds, &reason),
        _ => found(Verdict::Inconclusive, &reason),
    })
}

/// The row of one writer with the highest rate, and the interval of that.
pub(super) fn fastest<'a>(target: &TargetRows<'a>) -> Result<(Numbered<'a>, (f64, f64)), Missing> {
    let lone = target.rows.iter().filter(|row| {
        let case = row.case();
        // A sync of the whole machine is another question.
        case.writers == 1 && case.call != SyncCall::Sync
    });
    let rows: Vec<_> = lone.copied().collect();
    // In memory a sync does nothing, and its rate means nothing.
    if rows.first().is_none_or(Numbered::is_in_memory) {
        return Err(Missing::Rows);
    }
    let timed = rows
        .iter()
        .filter_map(|row| Some((*row, row.row.syncs_per_s_interval?)));
    let best = timed.max_by(|(one, _), (other, _)| {
        f64::total_cmp(
            &one.row.syncs_per_s.unwrap_or(0.0),
            &other.row.syncs_per_s.unwrap_or(0.0),
        )
    });
    best.ok_or_else(|| Missing::Evidence(format!("no row on {} was timed", target.name)))
}

/// Whether each sync of a row was durable, as far as the device tells; and the words.
fn durable(row: &Numbered<'_>) -> Result<(Option<bool>, String), Missing> {
    let device = row.device()?;
    let flushes = row.requests()?.by(Cause::Flush);
    let cached = |cache: &str| {
        let mut caches = row.devices().iter().map(|disk| disk.write_cache.as_deref());
        caches.any(|found| found == Some(cache))
    };
    let disks: Vec<String> = row
        .devices()
        .iter()
        .filter_map(|disk| Some(format!("{}: {}", disk.name, disk.write_cache.as_ref()?)))
        .collect();
    let disks = match disks.join(", ") {
        none if none.is_empty() => String::new(),
        disks => format!(" ({disks})"),
    };
    if cached("write through") && !cached("write back") {
        let reason = format!("; the device has no volatile cache{disks}");
        return Ok((Some(true), reason));
    }
    let each_s = (device.flushes > 0).then(|| device.flush_time_s / device.flushes as f64);
    let took = each_s.filter(|took| *took > 0.0);
    let took = took.map_or_else(String::new, |took| format!(" of {}", duration(took)));
    let each = rate(flushes);
    let noun = if each == "1" { "flush" } else { "flushes" };
    let reason = format!("; {each} {noun}{took} per sync{disks}");
    let verdict = match flushes {
        each if each >= FLUSHED => Some(true),
        each if each <= NOT_FLUSHED => Some(false),
        _ => None,
    };
    Ok((verdict, reason))
}

/// The first row of one appending writer.
pub(super) fn is_steady(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let [row] = target.smallest([APPEND])?;
    let series = &row.row.series;
    let Some(found) = series.steadiness else {
        return Err(Missing::Rows);
    };
    // A file may have been changed.
    let Some(left) = series.seconds.len().checked_sub(found.warm_up_seconds) else {
        return Err(Missing::Rows);
    };
    let because = format!(
        "{} of {} s left out as warm-up; {} syncs/s over {} s, range {}, slope {}",
        found.warm_up_seconds,
        series.seconds.len(),
        number(found.mean_per_s),
        bytes::grouped(left as u64),
        percent(found.range),
        percent(found.slope)
    );
    Ok(Finding::new(
        Verdict::from_fact(found.steady),
        because,
        vec![row.number],
    ))
}

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
    use super::super::fixture::{judge, judged, made, result};
    use super::*;
    use crate::judge::fixture::target;
    use crate::lab::Row;
    use crate::sync::{Case, Second, Series, Write, calibrated, projections};

    fn overwrite(times_us: &[f64], flushes: u64) -> Row<Case> {
        made(SyncCall::Fdatasync, Write::Overwrite)
            .timed(times_us)
            .asking([1, 0, 0, 0, flushes])
    }

    const TWENTY_THOUSAND: [f64; 5] = [50.0, 50.5, 49.5, 50.2, 49.8];
    const ABOUT_TEN_THOUSAND: [f64; 5] = [95.0, 105.0, 99.0, 101.0, 100.0];
    const FIVE_THOUSAND: [f64; 5] = [200.0, 201.0, 199.0, 200.0, 200.0];

    #[test]
    fn a_high_rate_is_real_when_each_sync_flushed() {
        for (times, flushes, due) in [
            (TWENTY_THOUSAND, 1, Verdict::Holds),
            (TWENTY_THOUSAND, 0, Verdict::Refuted),
            (ABOUT_TEN_THOUSAND, 1, Verdict::Inconclusive),
            (FIVE_THOUSAND, 1, Verdict::Refuted),
        ] {
            let found = judge("10,000 syncs", vec![overwrite(&times, flushes)]).unwrap();
            assert_eq!(found.verdict, due, "{}", found.because);
        }
        let mut half = overwrite(&TWENTY_THOUSAND, 1);
        half.change_device(|device| device.flushes = 700);
        let found = judge("10,000 syncs", vec![half]).unwrap();
        assert_eq!(found.verdict, Verdict::Inconclusive);
    }

    #[test]
    fn a_device_without_a_cache_needs_no_flush() {
        let mut result = result(vec![overwrite(&TWENTY_THOUSAND, 0)]);
        result.targets = vec![target("host", "ext4", Some("write through"))];
        let found = judged("10,000 syncs", &result).unwrap();
        assert_eq!(found.verdict, Verdict::Holds);
        assert!(
            found.because.contains("no volatile cache"),
            "{}",
            found.because
        );
        result.targets = vec![target("host", "ext4", Some("write back"))];
        let found = judged("10,000 syncs", &result).unwrap();
        assert_eq!(found.verdict, Verdict::Refuted);
    }

    #[test]
    fn without_evidence_a_high_rate_may_be_anything() {
        let high = made(SyncCall::Fsync, Write::Append).timed(&TWENTY_THOUSAND);
        let why = judge("10,000 syncs", vec![high]).unwrap_err().into_why();
        assert!(why.contains("not observed"), "{why}");
        let low = made(SyncCall::Fsync, Write::Append).timed(&FIVE_THOUSAND);
        assert_eq!(
            judge("10,000 syncs", vec![low]).unwrap().verdict,
            Verdict::Refuted
        );
    }

    #[test]
    fn the_fastest_row_of_one_writer_decides() {
        let made = vec![
            overwrite(&FIVE_THOUSAND, 1),
            overwrite(&TWENTY_THOUSAND, 1).writers(4),
            made(SyncCall::Fsync, Write::Overwrite)
                .timed(&ABOUT_TEN_THOUSAND)
                .asking([1, 0, 0, 0, 1]),
        ];
        assert_eq!(judge("10,000 syncs", made).unwrap().rows, [3]);
    }

    #[test]
    fn steadiness_is_told_with_its_warm_up() {
        let steady = |rates: &[u64]| {
            let second = |&syncs: &u64| Second {
                lasted_s: 1.0,
                syncs,
                ..Second::default()
            };
            let mut result = result(vec![made(SyncCall::Fsync, Write::Append)]);
            result.rows[0].series = Series::of(rates.iter().map(second).collect());
            judged("is steady", &result)
        };
        let found = steady(&[50, 100, 101, 99]).unwrap();
        assert_eq!(found.verdict, Verdict::Holds);
        assert!(
            found.because.starts_with("1 of 4 s left out"),
            "{}",
            found.because
        );
        let found = steady(&[100, 80, 60, 40]).unwrap();
        assert_eq!(found.verdict, Verdict::Refuted);
        assert_eq!(steady(&[1, 1]), Err(Missing::Rows));
    }

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
