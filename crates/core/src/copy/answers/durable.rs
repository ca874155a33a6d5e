//! The cost of durability and of a cold source.

use super::{COMPARED, Numbered, Pair, TargetRows, data_bytes};
use crate::answer::Verdict;
use crate::bytes::short;
use crate::copy::{CopyMethod, Source};
use crate::figures::{duration, number};
use crate::judge::{Finding, Judged as _, Missing, Relation, numbers};

/// Methods that are compared, the first that has both rows.
const METHODS: [CopyMethod; 7] = [
    CopyMethod::ReadWrite,
    CopyMethod::CopyFileRange,
    CopyMethod::Sendfile,
    CopyMethod::Splice,
    CopyMethod::MmapMemcpy,
    CopyMethod::MmapWrite,
    CopyMethod::Cp,
];

/// The same copy with and without the `fsync` at its end; and whether the method still
/// makes a difference with it.
pub(super) fn it_takes_longer(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let pair = pair(target, |row| row.case().durable)?;
    let [durable, plain] = pair.rows;
    let mut because = format!("durable relative to not durable: {}", pair.words(COMPARED));
    if let Ok(bytes) = data_bytes(&durable) {
        because = format!("{because}; the device took {} of contents", short(bytes));
    }
    let (quickest, slowest) = extremes(target, &durable);
    let mut rows = vec![durable, plain];
    if let Some((quickest, slowest)) = quickest.zip(slowest)
        && quickest.number != slowest.number
        && let Ok(apart) = slowest.time_over(&quickest)
    {
        let rate = slowest.case().size_bytes as f64 / f64::from(1 << 20) / quickest.median_s();
        because = format!(
            "{because}; with fsync, {} is the slowest with {} and {} the fastest with {} ({} \
             MiB/s), {}",
            slowest.row.name(),
            duration(apart.median_s[0]),
            quickest.row.name(),
            duration(apart.median_s[1]),
            number(rate),
            apart.times()
        );
        rows.extend([slowest, quickest]);
    }
    let mut rows = numbers(&rows);
    rows.sort_unstable();
    rows.dedup();
    Ok(Finding::new(pair.time.is(Relation::LONGER), because, rows))
}

/// Quickest and slowest of the durable rows of the same size and source that copy data.
fn extremes<'a>(
    target: &TargetRows<'a>,
    like: &Numbered<'_>,
) -> (Option<Numbered<'a>>, Option<Numbered<'a>>) {
    let rows = || {
        target.rows.iter().copied().filter(|row| {
            let case = row.case();
            case.durable
                && (case.size_bytes, case.source) == (like.case().size_bytes, like.case().source)
                && case.method != CopyMethod::Reflink
                && row.row.row.timing.is_some()
        })
    };
    let by_time =
        |one: &Numbered<'_>, other: &Numbered<'_>| one.median_s().total_cmp(&other.median_s());
    (rows().min_by(by_time), rows().max_by(by_time))
}

/// The same copy from a source that was not in the page cache. A cold row whose source
/// was not read from the device is no evidence.
pub(super) fn cold_takes_longer(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let pair = pair(target, |row| row.case().source == Source::Cold)?;
    let [cold, _] = pair.rows;
    let mut because = format!("cold relative to warm: {}", pair.words(COMPARED));
    if let Some(device) = cold.evidence().exact_device() {
        because = format!("{because}; the device read {}", short(device.reads.bytes));
        // Less than half: the state was lost before the copy, whatever was asked for.
        if device.reads.bytes < cold.case().size_bytes / 2 {
            return Ok(Finding {
                verdict: Verdict::Inconclusive,
                because: format!("{because}, less than the file"),
                rows: numbers(&pair.rows),
            });
        }
    }
    Ok(Finding::new(
        pair.time.is(Relation::LONGER),
        because,
        numbers(&pair.rows),
    ))
}

/// A row that `is` so, against its counterpart that is warm and not durable.
pub(super) fn pair<'a, 'b>(
    target: &'b TargetRows<'a>,
    is: impl Fn(&Numbered<'_>) -> bool,
) -> Result<Pair<'a, 'b>, Missing> {
    for method in METHODS {
        let special = target
            .rows
            .iter()
            .filter(|row| row.case().method == method && is(row) && !row.case().has_whole_buffer());
        for row in special {
            let plain = target.like(row, |case| {
                case.durable = false;
                case.source = Source::Warm;
            });
            if let Ok(plain) = plain {
                return Pair::of(target, [*row, plain]);
            }
        }
    }
    Err(Missing::Rows)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{SIZE_BYTES, judge, made};
    use super::*;
    use crate::copy::Case;
    use crate::judge::fixture::{around, noisy};
    use crate::lab::Row;

    fn verdicts(by: &str, special: &Row<Case>) -> [Verdict; 3] {
        let plain = made(CopyMethod::ReadWrite);
        let verdict = |one: &[f64], other: &[f64]| {
            let made = vec![special.clone().timed(one), plain.clone().timed(other)];
            judge(by, made).unwrap().verdict
        };
        [
            verdict(&around(90.0), &around(40.0)),
            verdict(&around(40.0), &around(90.0)),
            verdict(&noisy(40.0), &noisy(41.0)),
        ]
    }

    #[test]
    fn opposite_times_flip_both_verdicts() {
        let flips = [Verdict::Holds, Verdict::Refuted, Verdict::Inconclusive];
        let row = made(CopyMethod::ReadWrite);
        assert_eq!(verdicts("durable copy", &row.clone().durable()), flips);
        assert_eq!(verdicts("cold source", &row.cold()), flips);
    }

    #[test]
    fn a_source_that_was_not_read_from_the_device_was_not_cold() {
        let cold = made(CopyMethod::ReadWrite)
            .cold()
            .timed(&around(90.0))
            .writing(0, SIZE_BYTES);
        let warm = made(CopyMethod::ReadWrite).timed(&around(40.0));
        let finding = judge("cold source", vec![cold, warm]).unwrap();
        assert_eq!(finding.verdict, Verdict::Inconclusive);
        assert!(
            finding.because.contains("the device read 0 B, less"),
            "{}",
            finding.because
        );
    }

    #[test]
    fn durable_methods_are_set_beside_each_other() {
        let made = vec![
            made(CopyMethod::ReadWrite).durable().timed(&around(200.0)),
            made(CopyMethod::ReadWrite).timed(&around(40.0)),
            made(CopyMethod::MmapMemcpy).durable().timed(&around(400.0)),
            made(CopyMethod::Reflink).durable().timed(&around(1.0)),
        ];
        let finding = judge("durable copy", made).unwrap();
        assert_eq!(finding.rows, [1, 2, 3]);
        assert!(
            finding
                .because
                .contains("mmap_memcpy is the slowest with 400 ms and read_write 1 MiB"),
            "{}",
            finding.because
        );
    }

    #[test]
    fn without_a_counterpart_nothing_is_said() {
        let lone = vec![
            made(CopyMethod::ReadWrite).durable().timed(&around(200.0)),
            made(CopyMethod::Sendfile).timed(&around(40.0)),
        ];
        assert!(matches!(judge("durable copy", lone), Err(Missing::Rows)));
    }
}
