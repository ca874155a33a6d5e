//! The article's verdict on mmap, and the reasons for its figures.

use super::{COMPARED, Numbered, Pair, TargetRows, plain, yardstick_s};
use crate::bytes::short;
use crate::copy::{CopyMethod, Measure};
use crate::figures::{duration, number};
use crate::judge::{Finding, Judged as _, Missing, Relation, numbers};

/// The article's factor: 1.40 s over 0.30 s, which it calls four to five times.
const ARTICLES_FACTOR: f64 = 4.0;

/// The article's program: one buffer that takes the whole file.
pub(super) fn whole<'a>(target: &TargetRows<'a>) -> Result<Numbered<'a>, Missing> {
    target.best(|row| row.kind() == Some(CopyMethod::ReadWrite) && row.row.case.has_whole_buffer())
}

fn smaller<'a>(target: &TargetRows<'a>, is: impl Fn(u64) -> bool) -> Result<Numbered<'a>, Missing> {
    target.best(|row| {
        let case = &row.row.case;
        row.kind() == Some(CopyMethod::ReadWrite) && !case.has_whole_buffer() && is(case.size_bytes)
    })
}

/// One buffer for the file, and the best smaller one.
pub(super) fn whole_and_smaller_buffer<'a>(
    target: &TargetRows<'a>,
) -> Result<[Numbered<'a>; 2], Missing> {
    let whole = whole(target)?;
    let small = smaller(target, |size_bytes| size_bytes == whole.case().size_bytes)?;
    Ok([whole, small])
}

/// Both files mapped, against one read and one write of the whole file.
pub(super) fn mmap_is_four_times_as_fast(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let mmap = plain(target, CopyMethod::MmapMemcpy)?;
    let whole = whole(target)?;
    let pair = Pair::of(target, [whole, mmap])?;
    let mut parts = vec![pair.words(COMPARED)];
    let mut rows = vec![whole, mmap];
    if let Ok(small) = smaller(target, |_| true)
        && let Ok(against) = small.time_over(&mmap)
    {
        parts.push(format!(
            "{} takes {} as long as mmap_memcpy",
            small.row.name(),
            against.times()
        ));
        rows.push(small);
    }
    parts.extend(nothing_was_forced(&mmap));
    let made_durable = target.like(&mmap, |case| case.durable = true);
    if let Ok(durable) = made_durable
        && let Ok(against) = durable.time_over(&mmap)
    {
        parts.push(format!(
            "with fsync it takes {}, {}",
            duration(against.median_s[0]),
            against.times()
        ));
        rows.push(durable);
    }
    Ok(Finding {
        verdict: pair.time.is(Relation::Above(ARTICLES_FACTOR)),
        because: parts.join("; "),
        rows: numbers(&rows),
    })
}

/// Bytes that the mapped copy left to writeback, as the article's did.
fn nothing_was_forced(mmap: &Numbered<'_>) -> Option<String> {
    let evidence = mmap.evidence();
    let (running, after) = (
        evidence.exact_device()?,
        evidence.exact_device_after_exit()?,
    );
    Some(format!(
        "a mapped copy is not on disk when it ends: {} of it were written while it ran, {} \
         afterwards",
        short(running.data.bytes),
        short(after.data.bytes)
    ))
}

/// The cost of the buffer's own memory, measured without a file: its page faults, and
/// that it is read back from memory instead of from the processor's cache.
pub(super) fn memory(pair: &Pair<'_, '_>) -> Option<String> {
    let yardstick_s = |measure| yardstick_s(pair.target, measure, &pair.rows[0]);
    let fresh_s = yardstick_s(Measure::FreshMemory)?;
    let copy_s = yardstick_s(Measure::MemoryCopy)?;
    let cached_s = yardstick_s(Measure::CachedCopy)?;
    let [whole_s, small_s] = pair.time.median_s;
    Some(format!(
        "; the difference is {}; touching that much new memory alone takes {}, and copying it in \
         memory {}, {} times the {} for as many bytes within 64 KiB, which stay in the CPU cache",
        duration((whole_s - small_s).max(0.0)),
        duration(fresh_s),
        duration(copy_s),
        number(copy_s / cached_s),
        duration(cached_s)
    ))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{SIZE_BYTES, judge, made};
    use super::*;
    use crate::answer::Verdict;
    use crate::copy::Case;
    use crate::judge::fixture::{around, noisy};
    use crate::lab::Row;

    fn pair(mmap_ms: &[f64], whole_ms: &[f64]) -> Vec<Row<Case>> {
        vec![
            made(CopyMethod::MmapMemcpy)
                .timed(mmap_ms)
                .writing(0, SIZE_BYTES),
            made(CopyMethod::ReadWrite)
                .buffer(SIZE_BYTES)
                .timed(whole_ms)
                .faults(24_414),
        ]
    }

    #[test]
    fn the_articles_own_figures_hold_and_equal_times_refute() {
        let verdict = |mmap: &[f64], whole: &[f64]| {
            judge("copy with mmap", pair(mmap, whole)).unwrap().verdict
        };
        assert_eq!(verdict(&around(300.0), &around(1400.0)), Verdict::Holds);
        assert_eq!(verdict(&around(60.0), &around(70.0)), Verdict::Refuted);
        assert_eq!(verdict(&around(70.0), &around(60.0)), Verdict::Refuted);
        assert_eq!(verdict(&noisy(60.0), &noisy(240.0)), Verdict::Inconclusive);
    }

    #[test]
    fn the_reason_is_what_was_left_to_write_back() {
        let finding = judge("copy with mmap", pair(&around(60.0), &around(70.0))).unwrap();
        assert!(
            finding
                .because
                .contains("0 B of it were written while it ran, 95.4 MiB after"),
            "{}",
            finding.because
        );
    }

    #[test]
    fn a_durable_row_and_a_smaller_buffer_are_named_with_it() {
        let mut rows = pair(&around(60.0), &around(70.0));
        rows.push(
            made(CopyMethod::ReadWrite)
                .buffer(65_536)
                .timed(&around(40.0)),
        );
        rows.push(made(CopyMethod::MmapMemcpy).durable().timed(&around(240.0)));
        let finding = judge("copy with mmap", rows).unwrap();
        assert_eq!(finding.rows, [2, 1, 3, 4]);
        assert!(
            finding
                .because
                .contains("read_write 64 KiB takes 0.67 times"),
            "{}",
            finding.because
        );
        assert!(
            finding.because.contains("with fsync it takes 240 ms, 4.00"),
            "{}",
            finding.because
        );
    }

    fn buffers(whole_ms: &[f64], small_ms: &[f64]) -> Result<Finding, Missing> {
        let made = vec![
            made(CopyMethod::ReadWrite)
                .buffer(SIZE_BYTES)
                .timed(whole_ms)
                .faults(24_414),
            made(CopyMethod::ReadWrite)
                .buffer(65_536)
                .timed(small_ms)
                .faults(20),
        ];
        judge("one buffer holds", made)
    }

    #[test]
    fn a_whole_buffer_is_judged_by_its_time() {
        let slow = buffers(&around(70.0), &around(40.0)).unwrap();
        assert_eq!(slow.verdict, Verdict::Holds);
        assert!(
            slow.because.contains("page faults 24,414 and 20"),
            "{}",
            slow.because
        );
        assert!(
            slow.because
                .contains("new memory alone takes 30.0 ms, and copying it in memory 20.0 ms, 2.00"),
            "{}",
            slow.because
        );
        assert_eq!(
            buffers(&around(40.0), &around(70.0)).unwrap().verdict,
            Verdict::Refuted
        );
        assert_eq!(
            buffers(&noisy(70.0), &noisy(60.0)).unwrap().verdict,
            Verdict::Inconclusive
        );
    }

    #[test]
    fn two_runs_are_too_few() {
        let few = buffers(&[70.0, 71.0], &[40.0, 41.0])
            .unwrap_err()
            .into_why();
        assert!(few.contains("too few"), "{}", few);
    }
}
