//! Sharing blocks instead of copying them.

use super::view::TargetRows;
use super::{compared, numbers};
use crate::answer::Verdict;
use crate::bytes::short;
use crate::copy::Method;
use crate::judge::{Finding, Missing};

/// Contents above this part of the file mean that it was copied.
const COPIED_PART: u64 = 100;

/// Decided by the device first: what writes the contents is no reflink, however quick.
pub(super) fn copies_nothing(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let reflink = target.plain(Method::Reflink)?;
    let copy = target.plain(Method::ReadWrite)?;
    let bytes = reflink.data_bytes()?;
    let time = copy.time_over(&reflink)?;
    let copied = bytes > reflink.case().size_bytes / COPIED_PART;
    let verdict = if copied {
        Verdict::Refuted
    } else {
        time.longer()
    };
    let mut because = format!(
        "{}; the device took {} of contents for the reflink",
        compared([&copy, &reflink], &time),
        short(bytes)
    );
    if let Ok(bytes) = copy.data_bytes() {
        because = format!("{because} and {} for the copy", short(bytes));
    }
    let mut rows = vec![copy, reflink];
    let shares = [Method::CopyFileRange, Method::Cp].map(|method| target.plain(method));
    for row in shares.into_iter().flatten() {
        if row
            .data_bytes()
            .is_ok_and(|bytes| bytes <= row.case().size_bytes / COPIED_PART)
        {
            because = format!("{because}; {} shares blocks as well", row.name());
            rows.push(row);
        }
    }
    Ok(Finding {
        verdict,
        because,
        rows: numbers(&rows),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Made, SIZE_BYTES, around, judge, noisy};
    use super::*;

    fn pair(reflink: Made) -> Vec<Made> {
        let copy = Made::new(Method::ReadWrite)
            .timed(&around(60.0))
            .writing(0, SIZE_BYTES);
        vec![reflink, copy]
    }

    fn reflink(times_ms: &[f64]) -> Made {
        Made::new(Method::Reflink).timed(times_ms)
    }

    #[test]
    fn no_data_and_less_time_hold() {
        let finding = judge(copies_nothing, pair(reflink(&around(1.0)).writing(0, 0))).unwrap();
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
        let finding = judge(copies_nothing, pair(made)).unwrap();
        assert_eq!(finding.verdict, Verdict::Refuted);
    }

    #[test]
    fn more_time_refutes_and_noise_leaves_it_open() {
        let verdict = |times: &[f64]| {
            judge(copies_nothing, pair(reflink(times).writing(0, 0)))
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
                judge(copies_nothing, pair(made)),
                Err(Missing::Evidence(_))
            ));
        }
    }

    #[test]
    fn who_else_shares_is_named() {
        let mut made = pair(reflink(&around(1.0)).writing(0, 0));
        made.push(Made::new(Method::Cp).timed(&around(2.0)).writing(0, 0));
        let finding = judge(copies_nothing, made).unwrap();
        assert_eq!(finding.rows, [2, 1, 3]);
        assert!(finding.because.ends_with("; cp shares blocks as well"));
    }
}
