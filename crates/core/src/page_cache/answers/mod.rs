//! The verdicts of the experiment, computed from its rows.
//!
//! Rows that are not in the state they were asked for decide nothing. Times are
//! compared by [`crate::stats::ratio`]; a difference inside the noise, like missing
//! evidence, gives [`Verdict::Inconclusive`](crate::Verdict::Inconclusive).

mod again;
mod memory;
mod parse;
mod residency;
mod sizes;
mod view;

#[cfg(test)]
pub(super) mod fixture;

use super::PageCacheResult;
use crate::answer::Answer;
use crate::judge::{self, Finding, Missing};
use view::TargetRows;

/// Judges one claim on one target.
type Judge = fn(&TargetRows<'_>) -> Result<Finding, Missing>;

/// The claims, in the order they are printed.
const CLAIMS: [(&str, Judge); 12] = [
    (
        "a file that is cached is read faster than one that is not",
        sizes::warm_is_faster,
    ),
    (
        "for a large file it no longer matters whether it is cached",
        sizes::stops_mattering,
    ),
    (
        "most of the time of a warm read of a large file goes into page faults of its new buffer",
        memory::faults_are_most,
    ),
    (
        "a warm read into a buffer that is used again is a copy at the speed of memory",
        memory::reused_is_a_copy,
    ),
    (
        "mapping a large cached file is faster than reading it into a new buffer",
        memory::mapping_is_faster,
    ),
    (
        "the second read is faster because the first left the file in the cache",
        again::the_cache_explains_it,
    ),
    (
        "a read that bypasses the cache is faster the second time",
        again::without_the_cache,
    ),
    (
        "reading a file once leaves all of it in the cache",
        residency::all_is_cached,
    ),
    (
        "RWF_DONTCACHE leaves nothing of the file in the cache",
        residency::dontcache_leaves_nothing,
    ),
    (
        "what is called cold came from the device, what is called warm did not",
        residency::cold_is_from_the_device,
    ),
    (
        "for a program that parses JSON the cache hardly matters",
        parse::json_hides_the_cache,
    ),
    (
        "for a program that only adds the bytes up the cache matters",
        parse::cheap_work_shows_it,
    ),
];

/// Judges the experiment's claims on its rows.
///
/// A claim about rows that were not measured on any target is not made: who asks for
/// one state gets no verdicts that compare it with another.
pub fn answers(result: &PageCacheResult) -> Vec<Answer> {
    judge::answers(&CLAIMS, &TargetRows::of(result), |target| target.name)
}

#[cfg(test)]
mod tests {
    use super::fixture::{Made, result};
    use super::*;
    use crate::page_cache::{Reader, State};

    #[test]
    fn nothing_is_claimed_about_rows_that_were_not_measured() {
        assert!(answers(&result(Vec::new())).is_empty());
        let warm = Made::new(State::Warm, Reader::Read, 4096).timed(&[5.0; 5]);
        assert!(answers(&result(vec![warm])).is_empty());
    }

    #[test]
    fn a_cold_row_that_was_not_cold_decides_nothing() {
        let warm = Made::new(State::Warm, Reader::Read, 4096).timed(&[5.0; 5]);
        let held = Made::new(State::Warm, Reader::Read, 4096)
            .timed(&[50.0, 51.0, 52.0, 53.0, 54.0])
            .asked(State::Cold, "mapped by process 7");
        let answers = answers(&result(vec![warm, held]));
        assert_eq!(answers.len(), 5, "{answers:?}");
        for answer in answers {
            assert_eq!(answer.verdict, crate::Verdict::Inconclusive);
            assert_eq!(
                answer.because,
                "row 2 was to be cold and is warm: mapped by process 7"
            );
        }
    }
}
