//! Methods against each other, from a warm source to the page cache.

use super::view::{Numbered, TargetRows, is_plain};
use super::{compared, numbers};
use crate::answer::Verdict;
use crate::bytes::grouped;
use crate::copy::{Case, Measure, Method};
use crate::judge::figures::duration;
use crate::judge::{Finding, Missing, SAME_WITHIN};

/// `fgetc` and `fputc` against the same library's buffer without a lock for each byte, and
/// with about as many system calls.
pub(super) fn characters_are_slow(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let locked = target.plain(Method::FgetcFputc)?;
    let plain = target.plain(Method::GetcUnlocked)?;
    let time = locked.time_over(&plain)?;
    let mut because = compared([&locked, &plain], &time);
    if let Some((many, few)) = locked.row.figures.calls.zip(plain.row.figures.calls) {
        because = format!(
            "{because}; system calls {} and {}",
            grouped(many),
            grouped(few)
        );
    }
    Ok(Finding {
        verdict: time.longer(),
        because,
        rows: numbers(&[locked, plain]),
    })
}

/// The article's suggestion to try memcpy: two mappings against one and a write.
pub(super) fn memcpy_beats_write(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let write = target.plain(Method::MmapWrite)?;
    let memcpy = target.plain(Method::MmapMemcpy)?;
    let time = write.time_over(&memcpy)?;
    let mut because = compared([&write, &memcpy], &time);
    if let Some((few, many)) = write.row.figures.faults.zip(memcpy.row.figures.faults) {
        because = format!(
            "{because}; page faults {} and {}",
            grouped(few),
            grouped(many)
        );
    }
    Ok(Finding {
        verdict: time.longer(),
        because,
        rows: numbers(&[write, memcpy]),
    })
}

/// Whether the bytes stay in the kernel and are really copied there.
fn copies_inside(row: &Numbered<'_>) -> bool {
    let inside = matches!(
        row.case().method,
        Method::Sendfile | Method::Splice | Method::CopyFileRange
    );
    // A file system that shares blocks copies nothing: that is another question.
    inside && row.row.figures.is_shared != Some(true)
}

/// The quickest of `sendfile`, `splice` and `copy_file_range` against the quickest buffer.
pub(super) fn the_kernel_is_faster(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let buffered = target.plain(Method::ReadWrite)?;
    let size = buffered.case().size_bytes;
    let inside = target
        .rows
        .iter()
        .filter(|row| is_plain(row.case()) && row.case().size_bytes == size && copies_inside(row))
        .min_by(|one, other| one.median_s().total_cmp(&other.median_s()))
        .copied();
    let inside = inside.ok_or_else(|| {
        Missing::Rows(format!("no row of a copy in the kernel on {}", target.name))
    })?;
    let time = buffered.time_over(&inside)?;
    let mut because = compared([&buffered, &inside], &time);
    if let Some((theirs, ours)) = buffered
        .row
        .figures
        .user_bytes
        .zip(inside.row.figures.user_bytes)
    {
        let each = |bytes: u64| bytes as f64 / size as f64;
        because = format!(
            "{because}; each byte passes user memory {:.0} and {:.0} times",
            each(theirs),
            each(ours)
        );
    }
    Ok(Finding {
        verdict: time.longer(),
        because,
        rows: numbers(&[buffered, inside]),
    })
}

/// The quickest method against `cp`, whose time includes starting it. A reflink is no
/// match for it: `cp` is one itself where it can be.
pub(super) fn as_fast_as_cp(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let cp = target.plain(Method::Cp)?;
    let rival = |case: &Case| {
        is_plain(case)
            && case.size_bytes == cp.case().size_bytes
            && !matches!(case.method, Method::Cp | Method::Reflink | Method::Direct)
    };
    let quickest = target.best("any other method", rival)?;
    let time = quickest.time_over(&cp)?;
    let verdict = if time.bounds.high <= SAME_WITHIN {
        Verdict::Holds
    } else if time.bounds.low > SAME_WITHIN {
        Verdict::Refuted
    } else {
        Verdict::Inconclusive
    };
    let mut because = compared([&quickest, &cp], &time);
    if let Some(start_s) = target.yardstick_s(Measure::ProgramStart, &cp) {
        because = format!(
            "{because}; starting cp without a copy takes {} of its time",
            duration(start_s)
        );
    }
    Ok(Finding {
        verdict,
        because,
        rows: numbers(&[quickest, cp]),
    })
}

#[cfg(test)]
mod tests {
    use super::super::Judge;
    use super::super::fixture::{Made, SIZE_BYTES, around, judge, noisy};
    use super::*;

    /// The verdicts of a slower first row, of a quicker one, and inside the noise.
    fn verdicts(by: Judge, first: &Made, second: &Made) -> [Verdict; 3] {
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
        let made = |method| Made::new(method).faults(10);
        for (by, first, second) in [
            (
                characters_are_slow as Judge,
                made(Method::FgetcFputc),
                made(Method::GetcUnlocked),
            ),
            (
                memcpy_beats_write,
                made(Method::MmapWrite),
                made(Method::MmapMemcpy),
            ),
            (
                the_kernel_is_faster,
                made(Method::ReadWrite),
                made(Method::CopyFileRange),
            ),
            (as_fast_as_cp, made(Method::Cp), made(Method::Sendfile)),
        ] {
            assert_eq!(verdicts(by, &first, &second), FLIPS);
        }
    }

    #[test]
    fn the_quickest_copy_in_the_kernel_decides() {
        let made = vec![
            Made::new(Method::ReadWrite)
                .timed(&around(60.0))
                .calling("read", 1, SIZE_BYTES)
                .calling("write", 1, SIZE_BYTES),
            Made::new(Method::Sendfile).timed(&around(70.0)),
            Made::new(Method::Splice)
                .timed(&around(40.0))
                .writing(0, SIZE_BYTES)
                .calling("splice", 1, SIZE_BYTES),
        ];
        let finding = judge(the_kernel_is_faster, made).unwrap();
        assert_eq!(
            (finding.verdict, finding.rows),
            (Verdict::Holds, vec![1, 3])
        );
        assert!(
            finding.because.contains("passes user memory 2 and 0 times"),
            "{}",
            finding.because
        );
    }

    #[test]
    fn shared_blocks_are_no_copy() {
        let made = vec![
            Made::new(Method::ReadWrite).timed(&around(60.0)),
            Made::new(Method::CopyFileRange)
                .timed(&around(0.1))
                .writing(0, 0),
        ];
        assert!(matches!(
            judge(the_kernel_is_faster, made),
            Err(Missing::Rows(_))
        ));
    }

    #[test]
    fn neither_direct_nor_reflink_nor_another_state_is_a_rival_of_cp() {
        let made = vec![
            Made::new(Method::Cp).timed(&around(60.0)),
            Made::new(Method::Reflink).timed(&around(0.1)),
            Made::new(Method::Direct).timed(&around(1.0)),
            Made::new(Method::Sendfile).durable().timed(&around(1.0)),
            Made::new(Method::Splice).timed(&around(62.0)),
        ];
        let finding = judge(as_fast_as_cp, made).unwrap();
        assert_eq!(
            (finding.verdict, finding.rows),
            (Verdict::Holds, vec![5, 1])
        );
    }
}
