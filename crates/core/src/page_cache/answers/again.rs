//! The second read of the same file.

use super::{Numbered, TargetRows, in_state};
use crate::answer::Verdict;
use crate::bytes::short;
use crate::figures::duration;
use crate::judge::{Compared, Finding, Missing, Relation};
use crate::page_cache::{Reader, SeriesRead, State};

/// First and second read of the largest file of a state.
pub(super) struct Twice<'a> {
    pub(super) row: Numbered<'a>,
    first: &'a SeriesRead,
    second: &'a SeriesRead,
    pub(super) first_over_second: Compared,
}

pub(super) fn twice<'a>(target: &TargetRows<'a>, state: State) -> Result<Twice<'a>, Missing> {
    let rows = in_state(target, state)?.into_iter();
    let row = rows
        .filter(|row| row.case().reader == Reader::Read && row.row.series.len() > 1)
        .max_by_key(|row| row.case().size_bytes)
        .ok_or(Missing::Rows)?;
    let [first, second, ..] = row.row.series.as_slice() else {
        return Err(Missing::Rows);
    };
    let first_over_second = Compared::of(
        (row.number, &first.timing.samples_s),
        (row.number, &second.timing.samples_s),
    )?;
    Ok(Twice {
        row,
        first,
        second,
        first_over_second,
    })
}

impl Twice<'_> {
    /// `cold 1 GiB: first 788 ms, second 724 ms, ...; 1 GiB and 0 B from storage, ...`.
    fn figures(&self) -> String {
        let [first_s, second_s] = self.first_over_second.median_s;
        let mut text = format!(
            "{} {}: first {}, second {}, {}; {} and {} resident before them",
            self.row.row.asked_state.as_str(),
            self.row.size(),
            duration(first_s),
            duration(second_s),
            self.first_over_second.times(),
            short(self.first.resident_before_bytes),
            short(self.second.resident_before_bytes)
        );
        if let (Some(first), Some(second)) = (
            self.first.storage_read_bytes,
            self.second.storage_read_bytes,
        ) {
            text.push_str(", ");
            text.push_str(&short(first));
            text.push_str(" and ");
            text.push_str(&short(second));
            text.push_str(" from storage");
        }
        text
    }
}

/// Faster, with all of the file resident before it and nothing fetched.
pub(super) fn the_cache_explains_it(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let twice = twice(target, State::Cold)?;
    let cached = twice.second.resident_before_bytes >= twice.row.case().size_bytes;
    let fetched = twice
        .second
        .storage_read_bytes
        .is_none_or(|bytes| bytes > 0);
    let (verdict, but) = match twice.first_over_second.is(Relation::LONGER) {
        Verdict::Holds if !cached => (
            Verdict::Refuted,
            "; it is faster only with part of the file resident",
        ),
        Verdict::Holds if fetched => (
            Verdict::Inconclusive,
            "; it is not known whether it fetched anything",
        ),
        verdict => (verdict, ""),
    };
    Ok(Finding {
        verdict,
        because: format!("{}{but}", twice.figures()),
        rows: vec![twice.row.number],
    })
}

/// The article's riddle: reads meant to be uncached got faster. Judged on the state
/// that leaves nothing in the cache, and told with the residency of both.
pub(super) fn without_the_cache(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let twice = twice(target, State::Direct)?;
    let verdict = match (
        twice.first_over_second.is(Relation::LONGER),
        twice.first_over_second.is(Relation::Same),
    ) {
        (_, Verdict::Holds) | (Verdict::Refuted, _) => Verdict::Refuted,
        (verdict, _) => verdict,
    };
    Ok(Finding::new(
        verdict,
        twice.figures(),
        vec![twice.row.number],
    ))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{judge, made};
    use super::*;
    use crate::judge::fixture::{FAST, SLOW, SLOW_TOO, WIDE};
    use crate::page_cache::PageCacheRow;

    const GIB: u64 = 1 << 30;

    fn series(
        state: State,
        second: &[f64],
        resident: u64,
        storage: Option<u64>,
    ) -> Vec<PageCacheRow> {
        vec![
            made(state, Reader::Read, GIB)
                .timed(&SLOW)
                .then(&SLOW, 0, Some(GIB))
                .then(second, resident, storage),
        ]
    }

    #[test]
    fn the_cache_must_hold_the_file_and_nothing_be_fetched() {
        let found = judge(
            "because the first",
            series(State::Cold, &FAST, GIB, Some(0)),
        )
        .unwrap();
        assert_eq!((found.verdict, found.rows), (Verdict::Holds, vec![1]));
        assert!(
            found
                .because
                .ends_with("0 B and 1.0 GiB resident before them, 1.0 GiB and 0 B from storage"),
            "{}",
            found.because
        );
        for (second, resident, storage, due) in [
            (&SLOW_TOO, GIB, Some(0), Verdict::Inconclusive),
            (&SLOW.map(|time| time * 2.0), GIB, Some(0), Verdict::Refuted),
            (&FAST, 4096, Some(0), Verdict::Refuted),
            (&FAST, GIB, Some(4096), Verdict::Inconclusive),
            (&FAST, GIB, None, Verdict::Inconclusive),
        ] {
            let made = series(State::Cold, second, resident, storage);
            let found = judge("because the first", made).unwrap();
            assert_eq!(found.verdict, due, "{}", found.because);
        }
    }

    #[test]
    fn a_direct_read_done_twice() {
        for (second, due) in [
            (&FAST, Verdict::Holds),
            (&SLOW_TOO, Verdict::Refuted),
            (&SLOW.map(|time| time * 2.0), Verdict::Refuted),
            (&WIDE, Verdict::Inconclusive),
        ] {
            let made = series(State::Direct, second, 0, Some(GIB));
            let found = judge("bypasses the cache", made).unwrap();
            assert_eq!(found.verdict, due, "{}", found.because);
        }
    }

    #[test]
    fn a_file_read_once_says_nothing() {
        let once = vec![made(State::Cold, Reader::Read, GIB).timed(&SLOW)];
        assert!(judge("because the first", once).is_err());
    }
}
