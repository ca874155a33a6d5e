//! Sharing blocks instead of copying them.

use super::{COMPARED, Pair, TargetRows, data_bytes, plain};
use crate::answer::Verdict;
use crate::bytes::short;
use crate::copy::CopyMethod;
use crate::judge::{Finding, Judged as _, Missing, Relation, numbers};

/// Contents above this part of the file mean that it was copied.
const COPIED_PART: u64 = 100;

/// Decided by the device first: what writes the contents is no reflink, however quick.
pub(super) fn copies_nothing(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let reflink = plain(target, CopyMethod::Reflink)?;
    let copy = plain(target, CopyMethod::ReadWrite)?;
    let bytes = data_bytes(&reflink)?;
    let pair = Pair::of(target, [copy, reflink])?;
    let copied = bytes > reflink.case().size_bytes / COPIED_PART;
    let verdict = if copied {
        Verdict::Refuted
    } else {
        pair.time.is(Relation::LONGER)
    };
    let mut because = format!(
        "{}; the device took {} of contents for the reflink",
        pair.words(COMPARED),
        short(bytes)
    );
    if let Ok(bytes) = data_bytes(&copy) {
        because = format!("{because} and {} for the copy", short(bytes));
    }
    let mut rows = vec![copy, reflink];
    let shares = [CopyMethod::CopyFileRange, CopyMethod::Cp].map(|method| plain(target, method));
    for row in shares.into_iter().flatten() {
        if data_bytes(&row).is_ok_and(|bytes| bytes <= row.case().size_bytes / COPIED_PART) {
            because = format!("{because}; {} shares blocks as well", row.row.name());
            rows.push(row);
        }
    }
    Ok(Finding::new(verdict, because, numbers(&rows)))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{SIZE_BYTES, judge, made};
    use super::*;
    use crate::copy::Case;
    use crate::judge::fixture::{around, noisy};
    use crate::lab::Row;

    fn pair(reflink: Row<Case>) -> Vec<Row<Case>> {
        let copy = made(CopyMethod::ReadWrite)
            .timed(&around(60.0))
            .writing(0, SIZE_BYTES);
        vec![reflink, copy]
    }

    fn reflink(times_ms: &[f64]) -> Row<Case> {
        made(CopyMethod::Reflink).timed(times_ms)
    }

    #[test]
    fn no_data_and_less_time_hold() {
        let finding = judge("a reflink", pair(reflink(&around(1.0)).writing(0, 0))).unwrap();
        assert_eq!(finding.verdict, Verdict::Holds);
        assert!(
            finding
                .because
                .contains("0 B of contents for the reflink and 95.4 MiB for the copy"),
            "{}",
            finding.because
        );
    }

    #[test]
    fn data_refutes_whatever_the_times_say() {
        let made = reflink(&around(1.0)).writing(0, SIZE_BYTES);
        let finding = judge("a reflink", pair(made)).unwrap();
        assert_eq!(finding.verdict, Verdict::Refuted);
    }

    #[test]
    fn more_time_refutes_and_noise_leaves_it_open() {
        let verdict = |times: &[f64]| {
            judge("a reflink", pair(reflink(times).writing(0, 0)))
                .unwrap()
                .verdict
        };
        assert_eq!(verdict(&around(90.0)), Verdict::Refuted);
        assert_eq!(verdict(&noisy(60.0)), Verdict::Inconclusive);
    }

    #[test]
    fn lost_events_and_no_observer_say_nothing() {
        let lossy = reflink(&around(1.0)).writing(0, 0).losing(3);
        for made in [lossy, reflink(&around(1.0))] {
            assert!(matches!(
                judge("a reflink", pair(made)),
                Err(Missing::Evidence(_))
            ));
        }
    }

    #[test]
    fn who_else_shares_is_named() {
        let mut rows = pair(reflink(&around(1.0)).writing(0, 0));
        rows.push(made(CopyMethod::Cp).timed(&around(2.0)).writing(0, 0));
        let finding = judge("a reflink", rows).unwrap();
        assert_eq!(finding.rows, [2, 1, 3]);
        assert!(finding.because.ends_with("; cp shares blocks as well"));
    }
}
