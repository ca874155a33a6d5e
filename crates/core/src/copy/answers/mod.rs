//! The verdicts of the experiment, computed from its rows.

mod article;
mod buffer;
mod durable;
mod methods;
mod replies;

#[cfg(test)]
pub(super) mod fixture;

use super::{CopyMethod, CopyResult, CopyRow, Measure, Yardstick};
use crate::answer::Answer;
use crate::bytes::grouped;
use crate::judge::{
    self, Also, By, Claim, Judged as _, Missing, Pick, Relation, SAME_WITHIN, Times, claims,
};

pub use replies::replies;

type TargetRows<'a> = judge::TargetRows<'a, CopyRow, CopyResult>;
type Numbered<'a> = judge::Numbered<'a, CopyRow>;
type Pair<'a, 'b> = judge::Pair<'a, 'b, CopyRow, CopyResult>;

/// `mmap_memcpy 30.0 ms, read_write whole file 140 ms, 0.21 times (95 %: 0.20–0.22)`.
const COMPARED: &str = "{name0} {time0}, {name1} {time1}, {times}";

const PAGE_FAULTS: Also<CopyRow, CopyResult> = Also::Each("; page faults {0} and {1}", |row| {
    row.row.figures.faults.map(grouped)
});

/// The claims, in the order they are printed.
const CLAIMS: [Claim<CopyRow, CopyResult>; 10] = claims! {
    "a copy with mmap is 4 to 5 times as fast as with read and write" =>
        By::Rows(article::mmap_is_four_times_as_fast);
    "read and write are slow because one buffer holds the whole file" => By::Times(Times {
        rows: Pick::By(article::whole_and_smaller_buffer),
        relation: Relation::LONGER,
        words: COMPARED,
        also: &[PAGE_FAULTS, Also::Both(article::memory)],
    });
    "the size of the buffer of read and write matters" => By::Rows(buffer::its_size_matters);
    "fgetc and fputc are slow because of their per-byte function calls, not because of \
     system calls" => By::Times(Times {
        // The same library's buffer without a lock for each byte, and with about as many
        // system calls.
        rows: Pick::Best([Some(CopyMethod::FgetcFputc), Some(CopyMethod::GetcUnlocked)]),
        relation: Relation::LONGER,
        words: COMPARED,
        also: &[Also::Each("; system calls {0} and {1}", |row| {
            row.row.figures.calls.map(grouped)
        })],
    });
    "mapping both files and memcpy beats writing from the mapped source" => By::Times(Times {
        // The article's suggestion to try memcpy: two mappings against one and a write.
        rows: Pick::Best([Some(CopyMethod::MmapWrite), Some(CopyMethod::MmapMemcpy)]),
        relation: Relation::LONGER,
        words: COMPARED,
        also: &[PAGE_FAULTS],
    });
    "a copy inside the kernel is faster than read and write with the best buffer" =>
        By::Times(Times {
            rows: Pick::By(methods::buffered_and_inside),
            relation: Relation::LONGER,
            words: COMPARED,
            also: &[Also::Each(
                "; each byte passes through user memory {0} and {1} times",
                |row| {
                    let bytes = row.row.figures.user_bytes? as f64;
                    Some(format!("{:.0}", bytes / row.case().size_bytes as f64))
                },
            )],
        });
    "the fastest method here is at least as fast as cp" => By::Times(Times {
        rows: Pick::By(methods::quickest_and_cp),
        relation: Relation::AtMost(SAME_WITHIN),
        words: COMPARED,
        also: &[Also::Both(methods::start_of_cp)],
    });
    "a durable copy takes longer than one to the page cache" => By::Rows(durable::it_takes_longer);
    "a copy from a cold source takes longer than from a warm source" =>
        By::Rows(durable::cold_takes_longer);
    "a reflink copies no data, and takes less time than a copy" =>
        By::Rows(methods::copies_nothing);
};

/// Judges the experiment's claims on its rows. Claims about rows that were not measured
/// on any target are not made.
pub fn answers(result: &CopyResult) -> Vec<Answer> {
    judge::answers(&CLAIMS, targets(result))
}

fn targets(result: &CopyResult) -> Vec<TargetRows<'_>> {
    TargetRows::of(result, &result.targets, result.numbered(), [].into_iter())
}

/// The row of a method, from a warm source, to the page cache.
fn plain<'a>(target: &TargetRows<'a>, method: CopyMethod) -> Result<Numbered<'a>, Missing> {
    target.best(|row| row.kind() == Some(method))
}

/// A yardstick's median for as many bytes as `row` copies, seconds.
fn yardstick_s(target: &TargetRows<'_>, measure: Measure, row: &Numbered<'_>) -> Option<f64> {
    let fits = |yardstick: &&Yardstick| {
        yardstick.measure == measure
            && yardstick.machine.as_deref() == target.machine()
            && (yardstick.size_bytes == row.case().size_bytes || measure == Measure::ProgramStart)
            && (!measure.is_of_target() || yardstick.target.as_deref() == Some(target.key))
    };
    let mut yardsticks = target.result.own.yardsticks.iter();
    Some(yardsticks.find(fits)?.timing.median_s)
}

/// Bytes of file contents that the device took, while it ran and after, if they were
/// counted without loss.
fn data_bytes(row: &Numbered<'_>) -> Result<u64, Missing> {
    row.whole()?;
    row.row.figures.data_bytes.ok_or_else(|| row.unseen())
}

#[cfg(test)]
mod tests {
    use super::fixture::{made, result};
    use super::*;
    use crate::answer::Verdict;
    use crate::judge::fixture::around;

    #[test]
    fn nothing_is_claimed_about_rows_that_were_not_measured() {
        assert!(answers(&result(Vec::new())).is_empty());
        let one = vec![made(CopyMethod::Sendfile).timed(&around(50.0))];
        assert!(answers(&result(one)).is_empty());
    }

    #[test]
    fn rows_without_times_are_inconclusive_and_say_why() {
        let rows = [CopyMethod::Sendfile, CopyMethod::Cp].map(made).to_vec();
        let answers = answers(&result(rows));
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert_eq!(answers[0].verdict, Verdict::Inconclusive);
        assert!(answers[0].because.contains("no timing run"));
    }
}
