//! The verdicts of the experiment, computed from its rows.

mod article;
mod buffer;
mod durable;
mod methods;
mod reflink;
mod view;

#[cfg(test)]
pub(super) mod fixture;

use super::CopyResult;
use crate::answer::Answer;
use crate::judge::{self, Compared, Finding, Missing, figures::duration};
use view::{Numbered, TargetRows};

/// Judges one claim on one target.
type Judge = fn(&TargetRows<'_>) -> Result<Finding, Missing>;

/// The claims, in the order they are printed.
const CLAIMS: [(&str, Judge); 10] = [
    (
        "a copy with mmap is 4 to 5 times as fast as one with read and write",
        article::mmap_is_four_times_as_fast,
    ),
    (
        "read and write are slow because one buffer takes the whole file",
        article::the_whole_buffer_is_slow,
    ),
    (
        "the size of the buffer of read and write matters",
        buffer::its_size_matters,
    ),
    (
        "fgetc and fputc are slow because of their calls for each byte, not because of system calls",
        methods::characters_are_slow,
    ),
    (
        "mapping both files and memcpy beats handing the mapped source to write",
        methods::memcpy_beats_write,
    ),
    (
        "a copy inside the kernel is faster than read and write with the best buffer",
        methods::the_kernel_is_faster,
    ),
    (
        "the quickest method here is at least as fast as cp",
        methods::as_fast_as_cp,
    ),
    (
        "a durable copy takes longer than one to the page cache",
        durable::it_takes_longer,
    ),
    (
        "a copy from a cold source takes longer than from a warm one",
        durable::cold_takes_longer,
    ),
    (
        "a reflink copies no data, and takes less time than a copy",
        reflink::copies_nothing,
    ),
];

/// Judges the experiment's claims on its rows. Claims about rows that were not measured
/// on any target are not made.
pub fn answers(result: &CopyResult) -> Vec<Answer> {
    judge::answers(&CLAIMS, &TargetRows::of(result), |target| target.name)
}

/// `mmap_memcpy 30.0 ms, read_write whole file 140 ms, 0.21 times (95 %: 0.20–0.22)`.
fn compared(rows: [&Numbered<'_>; 2], compared: &Compared) -> String {
    format!(
        "{} {}, {} {}, {}",
        rows[0].name(),
        duration(compared.median_s[0]),
        rows[1].name(),
        duration(compared.median_s[1]),
        compared.times()
    )
}

fn numbers(rows: &[Numbered<'_>]) -> Vec<usize> {
    rows.iter().map(|row| row.number).collect()
}

#[cfg(test)]
mod tests {
    use super::fixture::{Made, around, result};
    use super::*;
    use crate::answer::Verdict;
    use crate::copy::Method;

    #[test]
    fn nothing_is_claimed_about_rows_that_were_not_measured() {
        assert!(answers(&result(Vec::new())).is_empty());
        let one = vec![Made::new(Method::Sendfile).timed(&around(50.0))];
        assert!(answers(&result(one)).is_empty());
    }

    #[test]
    fn rows_without_times_are_inconclusive_and_say_why() {
        let rows = [Method::Sendfile, Method::Cp].map(Made::new).to_vec();
        let answers = answers(&result(rows));
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert_eq!(answers[0].verdict, Verdict::Inconclusive);
        assert!(answers[0].because.contains("no timing run"));
    }
}
