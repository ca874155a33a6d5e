//! Methods against each other, from a warm source to the page cache, and a reflink against a copy.

use super::{COMPARED, Numbered, Pair, TargetRows, data_bytes, plain, yardstick_s};
use crate::answer::Verdict;
use crate::bytes::short;
use crate::copy::{CopyMethod, CopyRow, Measure};
use crate::figures::duration;
use crate::judge::{Finding, Judged as _, Missing, Relation, numbers};

/// Whether the bytes stay in the kernel and are really copied there.
fn copies_inside(row: &CopyRow) -> bool {
    let inside = matches!(
        row.kind(),
        Some(CopyMethod::Sendfile | CopyMethod::Splice | CopyMethod::CopyFileRange)
    );
    // A file system that shares blocks copies no data; another question covers that.
    inside && row.figures.is_shared != Some(true)
}

/// The quickest buffer, and the quickest of `sendfile`, `splice` and `copy_file_range`.
pub(super) fn buffered_and_inside<'a>(
    target: &TargetRows<'a>,
) -> Result<[Numbered<'a>; 2], Missing> {
    let buffered = plain(target, CopyMethod::ReadWrite)?;
    let size = buffered.row.size_bytes();
    let inside = target.best(|row| row.size_bytes() == size && copies_inside(row))?;
    Ok([buffered, inside])
}

/// Whether a row is a copy by this program through the page cache.
pub(super) fn is_rival(row: &CopyRow) -> bool {
    let others = [
        Some(CopyMethod::Cp),
        Some(CopyMethod::Reflink),
        Some(CopyMethod::Direct),
        None,
    ];
    !others.contains(&row.kind())
}

/// The quickest method, and `cp`, whose time includes starting it. A reflink is no
/// match for it: `cp` is one itself where it can be.
pub(super) fn quickest_and_cp<'a>(target: &TargetRows<'a>) -> Result<[Numbered<'a>; 2], Missing> {
    let cp = plain(target, CopyMethod::Cp)?;
    let size = cp.row.size_bytes();
    let quickest = target.best(|row| row.size_bytes() == size && is_rival(row))?;
    Ok([quickest, cp])
}

pub(super) fn start_of_cp(pair: &Pair<'_, '_>) -> Option<String> {
    let start_s = yardstick_s(pair.target, Measure::ProgramStart, &pair.rows[1])?;
    Some(format!(
        "; starting cp alone takes {} of its time",
        duration(start_s)
    ))
}

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

    /// The verdicts of a slower first row, of a quicker one, and inside the noise.
    fn verdicts(by: &str, first: &Row<Case>, second: &Row<Case>) -> [Verdict; 3] {
        let verdict = |one: &[f64], other: &[f64]| {
            let made = vec![first.clone().timed(one), second.clone().timed(other)];
            judge(by, made).unwrap().verdict
        };
        [
            verdict(&around(90.0), &around(40.0)),
            verdict(&around(40.0), &around(90.0)),
            verdict(&noisy(40.0), &noisy(41.0)),
        ]
    }

    const FLIPS: [Verdict; 3] = [Verdict::Holds, Verdict::Refuted, Verdict::Inconclusive];

    #[test]
    fn opposite_times_flip_every_verdict() {
        let row = |method| made(method).faults(10);
        for (by, first, second) in [
            (
                "fgetc",
                row(CopyMethod::FgetcFputc),
                row(CopyMethod::GetcUnlocked),
            ),
            (
                "memcpy beats",
                row(CopyMethod::MmapWrite),
                row(CopyMethod::MmapMemcpy),
            ),
            (
                "inside the kernel",
                row(CopyMethod::ReadWrite),
                row(CopyMethod::CopyFileRange),
            ),
            (
                "as fast as cp",
                row(CopyMethod::Cp),
                row(CopyMethod::Sendfile),
            ),
        ] {
            assert_eq!(verdicts(by, &first, &second), FLIPS);
        }
    }

    #[test]
    fn the_quickest_copy_in_the_kernel_decides() {
        let made = vec![
            made(CopyMethod::ReadWrite)
                .timed(&around(60.0))
                .calling("read", (1, 0, SIZE_BYTES))
                .calling("write", (1, 0, SIZE_BYTES)),
            made(CopyMethod::Sendfile).timed(&around(70.0)),
            made(CopyMethod::Splice)
                .timed(&around(40.0))
                .writing(0, SIZE_BYTES)
                .calling("splice", (1, 0, SIZE_BYTES)),
        ];
        let finding = judge("inside the kernel", made).unwrap();
        assert_eq!(
            (finding.verdict, finding.rows),
            (Verdict::Holds, vec![1, 3])
        );
        assert!(
            finding
                .because
                .contains("passes through user memory 2 and 0 times"),
            "{}",
            finding.because
        );
    }

    #[test]
    fn shared_blocks_are_no_copy() {
        let made = vec![
            made(CopyMethod::ReadWrite).timed(&around(60.0)),
            made(CopyMethod::CopyFileRange)
                .timed(&around(0.1))
                .writing(0, 0),
        ];
        assert!(matches!(
            judge("inside the kernel", made),
            Err(Missing::Rows)
        ));
    }

    #[test]
    fn neither_direct_nor_reflink_nor_another_state_is_a_rival_of_cp() {
        let made = vec![
            made(CopyMethod::Cp).timed(&around(60.0)),
            made(CopyMethod::Reflink).timed(&around(0.1)),
            made(CopyMethod::Direct).timed(&around(1.0)),
            made(CopyMethod::Sendfile).durable().timed(&around(1.0)),
            made(CopyMethod::Splice).timed(&around(62.0)),
        ];
        let finding = judge("as fast as cp", made).unwrap();
        assert_eq!(
            (finding.verdict, finding.rows),
            (Verdict::Holds, vec![5, 1])
        );
    }

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
