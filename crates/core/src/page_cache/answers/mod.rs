//! The verdicts of the experiment, computed from its rows.
//!
//! Rows that are not in the requested state decide nothing. Times are
//! compared by [`crate::stats::ratio`]; a difference inside the noise, like missing
//! evidence, gives [`Verdict::Inconclusive`](crate::Verdict::Inconclusive).

mod again;
mod memory;
mod parse;
mod replies;
mod residency;
mod sizes;

#[cfg(test)]
pub(super) mod fixture;

use super::{PageCacheResult, PageCacheRow, Parse, Reader, State};
use crate::answer::Answer;
use crate::judge::{self, Also, By, Claim, Missing, Pick, Relation, Times, claims};

pub use replies::replies;

type TargetRows<'a> = judge::TargetRows<'a, PageCacheRow, PageCacheResult>;
type Numbered<'a> = judge::Numbered<'a, PageCacheRow>;
type Pair<'a, 'b> = judge::Pair<'a, 'b, PageCacheRow, PageCacheResult>;

/// Reading all of a cached file into a new buffer.
const WARM_READ: (State, Reader, Parse) = (State::Warm, Reader::Read, Parse::None);

/// The claims, in the order they are printed.
const CLAIMS: [Claim<PageCacheRow, PageCacheResult>; 12] = claims! {
    "a file that is cached is read faster than one that is not" => By::Rows(sizes::warm_is_faster);
    "for a large file it does not matter whether it is cached" => By::Rows(sizes::stops_mattering);
    "most of a warm read of a large file is page faults in its new buffer" => By::Times(Times {
        // The difference to a reused buffer is the time of the page faults:
        // most of it when it takes more than twice as long.
        rows: Pick::Largest([WARM_READ, (State::Warm, Reader::ReadReused, Parse::None)]),
        relation: Relation::Above(2.0),
        words: "{size0}: read {time0}, read_reused {time1}, {times}",
        also: &[Also::Both(|pair| Some(memory::of_the_new_buffer(pair)))],
    });
    "a warm read into a reused buffer runs at the speed of a memory copy" =>
        By::Rows(memory::reused_is_a_copy);
    "mapping a large cached file is faster than reading it into a new buffer" => By::Times(Times {
        // A mapping clears no pages and copies nothing.
        rows: Pick::Largest([WARM_READ, (State::Warm, Reader::Mmap, Parse::None)]),
        relation: Relation::LONGER,
        words: "{size0}: read {time0}, mmap {time1} with every byte summed, {times}",
        also: &[memory::MINOR_FAULTS],
    });
    "the second read is faster because the first left the file in the cache" =>
        By::Rows(again::the_cache_explains_it);
    "a read that bypasses the cache is faster the second time" =>
        By::Rows(again::without_the_cache);
    "reading a file once leaves all of it in the cache" => By::Rows(residency::all_is_cached);
    "RWF_DONTCACHE leaves none of the file in the cache" =>
        By::Rows(residency::dontcache_leaves_nothing);
    "cold reads came from the device, warm reads did not" =>
        By::Rows(residency::cold_is_from_the_device);
    // Faster when cold: the cache does not help either.
    "for a program that parses JSON, the cache hardly matters" =>
        By::Rows(|target| parse::matters(target, Parse::Json, Relation::SameOrLess));
    // The other end: work as cheap as can be.
    "for a program that only sums the bytes, the cache matters" => By::Rows(|target| {
        parse::matters(target, Parse::Checksum, Relation::Above(judge::SAME_WITHIN))
    });
};

/// Judges the experiment's claims on its rows.
///
/// A claim about rows that were not measured on any target is not made: who asks for
/// one state gets no verdicts that compare it with another.
pub fn answers(result: &PageCacheResult) -> Vec<Answer> {
    judge::answers(&CLAIMS, targets(result))
}

fn targets(result: &PageCacheResult) -> Vec<TargetRows<'_>> {
    TargetRows::of(result, &result.targets, result.numbered(), [].into_iter())
}

/// Rows of a state without parser, of any reader and size; never empty.
fn in_state<'a>(target: &TargetRows<'a>, state: State) -> Result<Vec<Numbered<'a>>, Missing> {
    let asked = || {
        let rows = target.rows.iter().copied();
        rows.filter(|row| row.row.asked_state == state && row.case().parse == Parse::None)
    };
    let right: Vec<Numbered<'a>> = asked().filter(|row| row.row.is_as_asked()).collect();
    if right.is_empty() {
        return Err(asked().find_map(|row| row.unfit()).unwrap_or(Missing::Rows));
    }
    Ok(right)
}

#[cfg(test)]
mod tests {
    use super::fixture::{made, result};
    use super::*;

    #[test]
    fn nothing_is_claimed_about_rows_that_were_not_measured() {
        assert!(answers(&result(Vec::new())).is_empty());
        let warm = made(State::Warm, Reader::Read, 4096).timed(&[5.0; 5]);
        assert!(answers(&result(vec![warm])).is_empty());
    }

    #[test]
    fn a_cold_row_that_was_not_cold_decides_nothing() {
        let warm = made(State::Warm, Reader::Read, 4096).timed(&[5.0; 5]);
        let held = made(State::Warm, Reader::Read, 4096)
            .timed(&[50.0, 51.0, 52.0, 53.0, 54.0])
            .asked(State::Cold, "mapped by process 7");
        let answers = answers(&result(vec![warm, held]));
        assert_eq!(answers.len(), 5, "{answers:?}");
        for answer in answers {
            assert_eq!(answer.verdict, crate::Verdict::Inconclusive);
            assert_eq!(
                answer.because,
                "row 2 should be cold but is warm: mapped by process 7"
            );
        }
    }
}
