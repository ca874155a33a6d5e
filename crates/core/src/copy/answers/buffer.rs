//! Whether the size of the buffer matters, and from where on it does not.

use super::{Numbered, TargetRows};
use crate::bytes;
use crate::copy::CopyMethod;
use crate::figures::duration;
use crate::judge::{Compared, Finding, Judged as _, Missing, Relation, SAME_WITHIN, numbers};

/// The slowest buffer against the quickest; the smallest one that is as good as the
/// quickest is where it stops to matter.
pub(super) fn its_size_matters(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let rows = by_size(target);
    if rows.len() < 2 {
        return Err(Missing::Rows);
    }
    let (_, _, time) = extremes(&rows)?;
    let from = smallest_as_good(&rows).ok_or(Missing::Rows)?;
    let times: Vec<String> = rows.iter().map(figure).collect();
    Ok(Finding {
        verdict: time.is(Relation::LONGER),
        because: format!(
            "{}; slowest over quickest {}; from {} on a larger buffer gains less than 10 %",
            times.join(", "),
            time.times(),
            size(&from)
        ),
        rows: numbers(&rows),
    })
}

/// The quickest row, the slowest, and how many times as long that took.
pub(super) fn extremes<'a>(
    rows: &[Numbered<'a>],
) -> Result<(Numbered<'a>, Numbered<'a>, Compared), Missing> {
    if rows.iter().any(|row| row.row.row.timing.is_none()) {
        return Err(Missing::Evidence(
            "not every read_write buffer was timed".to_owned(),
        ));
    }
    let by_time =
        |one: &&Numbered<'_>, other: &&Numbered<'_>| one.median_s().total_cmp(&other.median_s());
    let quickest = rows.iter().copied().min_by(|a, b| by_time(&a, &b));
    let quickest = quickest.ok_or(Missing::Rows)?;
    // Tiny buffers may have had time for too few runs; the others tell as well.
    let tells =
        |row: &&Numbered<'_>| row.number != quickest.number && row.time_over(&quickest).is_ok();
    let telling = rows.iter().filter(tells).copied();
    let slowest = telling.max_by(|a, b| by_time(&a, &b));
    let any = || rows.iter().copied().max_by(|a, b| by_time(&a, &b));
    let slowest = slowest.or_else(any).ok_or(Missing::Rows)?;
    let time = slowest.time_over(&quickest)?;
    Ok((quickest, slowest, time))
}

/// Of rows by size the first that is as good as the quickest.
pub(super) fn smallest_as_good<'a>(rows: &[Numbered<'a>]) -> Option<Numbered<'a>> {
    let times = rows.iter().map(Numbered::median_s);
    let quickest_s = times.min_by(f64::total_cmp)?;
    let as_good = |row: &&Numbered<'_>| row.median_s() <= quickest_s * SAME_WITHIN;
    rows.iter().find(as_good).copied()
}

/// Plain `read_write` rows of the largest file, by buffer.
pub(super) fn by_size<'a>(target: &TargetRows<'a>) -> Vec<Numbered<'a>> {
    let wanted = |row: &&Numbered<'_>| row.row.kind() == Some(CopyMethod::ReadWrite);
    let largest = target.rows.iter().filter(wanted);
    let largest = largest.map(|row| row.case().size_bytes).max();
    let mut rows: Vec<Numbered<'a>> = target
        .rows
        .iter()
        .filter(|row| wanted(row) && Some(row.case().size_bytes) == largest)
        .copied()
        .collect();
    rows.sort_by_key(|row| row.case().buffer_bytes);
    rows
}

pub(super) fn size(row: &Numbered<'_>) -> String {
    if row.case().has_whole_buffer() {
        "the whole file".to_owned()
    } else {
        row.case()
            .buffer_bytes
            .map_or_else(String::new, bytes::exact)
    }
}

pub(super) fn figure(row: &Numbered<'_>) -> String {
    format!("{} {}", size(row), duration(row.median_s()))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{SIZE_BYTES, judge, made};
    use super::*;
    use crate::answer::Verdict;
    use crate::copy::Case;
    use crate::judge::fixture::{around, noisy};
    use crate::lab::Row;

    fn buffers(times: [&[f64]; 4]) -> Vec<Row<Case>> {
        [64, 4096, 1 << 16, SIZE_BYTES]
            .into_iter()
            .zip(times)
            .map(|(bytes, times)| made(CopyMethod::ReadWrite).buffer(bytes).timed(times))
            .collect()
    }

    #[test]
    fn where_it_stops_to_matter_is_the_first_that_is_as_good() {
        let made = buffers([&around(900.0), &around(70.0), &around(42.0), &around(40.0)]);
        let finding = judge("size of the buffer", made).unwrap();
        assert_eq!(finding.verdict, Verdict::Holds);
        assert!(
            finding.because.starts_with(
                "64 B 900 ms, 4 KiB 70.0 ms, 64 KiB 42.0 ms, the whole file 40.0 ms; "
            ),
            "{}",
            finding.because
        );
        assert!(
            finding.because.contains("from 64 KiB on"),
            "{}",
            finding.because
        );
    }

    #[test]
    fn buffers_inside_the_noise_are_inconclusive() {
        let made = buffers([&noisy(42.0), &noisy(41.0), &noisy(40.0), &noisy(41.0)]);
        let finding = judge("size of the buffer", made).unwrap();
        assert_eq!(finding.verdict, Verdict::Inconclusive);
    }

    #[test]
    fn a_buffer_with_too_few_runs_leaves_the_verdict_to_the_others() {
        let made = buffers([&[900.0], &around(70.0), &around(42.0), &around(40.0)]);
        let finding = judge("size of the buffer", made).unwrap();
        assert_eq!(finding.verdict, Verdict::Holds);
        assert!(
            finding.because.contains("slowest over quickest 1.75 times"),
            "{}",
            finding.because
        );
    }

    #[test]
    fn one_buffer_says_nothing_and_one_without_times_little() {
        let one = vec![made(CopyMethod::ReadWrite).timed(&around(40.0))];
        assert!(matches!(
            judge("size of the buffer", one),
            Err(Missing::Rows)
        ));
        let untimed = buffers([&[], &around(70.0), &around(42.0), &around(40.0)]);
        assert!(matches!(
            judge("size of the buffer", untimed),
            Err(Missing::Evidence(_))
        ));
    }
}
