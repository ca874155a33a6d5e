//! Warm against cold, by size.

use super::{Pair, TargetRows, WARM_READ};
use crate::answer::Verdict;
use crate::figures::number;
use crate::judge::{Finding, Missing, Relation, numbers};
use crate::page_cache::{Parse, Reader, State};

/// Cold and warm `read` of each size.
pub(super) fn pairs<'a, 'b>(target: &'b TargetRows<'a>) -> Result<Vec<Pair<'a, 'b>>, Missing> {
    let cold = (State::Cold, Reader::Read, Parse::None);
    let pairs = target.each_size([cold, WARM_READ])?.into_iter();
    pairs.map(|rows| Pair::of(target, rows)).collect()
}

/// `1 MiB 1.75 ms cold, 240 µs warm, 7.29 times (95 %: 7.01–7.51)`.
fn figures(pair: &Pair<'_, '_>) -> String {
    pair.words("{size0} {time0} cold, {time1} warm, {times}")
}

/// At every size that was measured.
pub(super) fn warm_is_faster(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let pairs = pairs(target)?;
    let verdicts = || pairs.iter().map(|pair| pair.time.is(Relation::LONGER));
    let verdict = if verdicts().all(|verdict| verdict == Verdict::Holds) {
        Verdict::Holds
    } else if verdicts().any(|verdict| verdict == Verdict::Refuted) {
        Verdict::Refuted
    } else {
        Verdict::Inconclusive
    };
    let because: Vec<String> = pairs.iter().map(figures).collect();
    Ok(Finding {
        verdict,
        because: because.join("; "),
        rows: numbers(pairs.iter().flat_map(|pair| &pair.rows)),
    })
}

/// Whether cold and warm take the same from some size on. One size shows no trend.
pub(super) fn stops_mattering(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let pairs = pairs(target)?;
    let [_, .., largest] = pairs.as_slice() else {
        return Err(Missing::Rows);
    };
    let same = |pair: &&Pair<'_, '_>| pair.time.is(Relation::Same) == Verdict::Holds;
    // The smallest of the sizes above which all are the same.
    let from = pairs.iter().rev().take_while(same).last();
    let most = pairs
        .iter()
        .max_by(|a, b| f64::total_cmp(&a.time.times, &b.time.times));
    let most = most.unwrap_or(largest);
    let peak = format!(
        "the cache saves most at {}: {} times",
        most.rows[0].size(),
        number(most.time.times)
    );
    let (verdict, end) = match (from, largest.time.is(Relation::Same)) {
        (Some(pair), _) => (
            Verdict::Holds,
            format!("from {} up both take the same time", pair.rows[0].size()),
        ),
        (None, Verdict::Refuted) => (
            Verdict::Refuted,
            "it matters up to the largest measured size".to_owned(),
        ),
        (None, _) => (
            Verdict::Inconclusive,
            "noise hides whether both are within 10 %".to_owned(),
        ),
    };
    Ok(Finding {
        verdict,
        because: format!("{}; {end}; {peak}", figures(largest)),
        rows: numbers(largest.rows.iter().chain(&most.rows)),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{judge, made};
    use super::*;
    use crate::judge::fixture::{FAST, SLOW, SLOW_TOO, WIDE};
    use crate::page_cache::PageCacheRow;

    const KIB: u64 = 1 << 10;
    const GIB: u64 = 1 << 30;

    fn pair(size: u64, cold: &[f64], warm: &[f64]) -> Vec<PageCacheRow> {
        vec![
            made(State::Cold, Reader::Read, size).timed(cold),
            made(State::Warm, Reader::Read, size).timed(warm),
        ]
    }

    #[test]
    fn warm_against_cold() {
        let found = judge("is read faster", pair(KIB, &SLOW, &FAST)).unwrap();
        assert_eq!((found.verdict, found.rows), (Verdict::Holds, vec![1, 2]));
        assert!(
            found
                .because
                .starts_with("1 KiB 72.0 µs cold, 1.20 µs warm, 60.0 times"),
            "{}",
            found.because
        );
        for (cold, warm, due) in [
            (&FAST, &SLOW, Verdict::Refuted),
            (&SLOW, &SLOW_TOO, Verdict::Inconclusive),
        ] {
            let found = judge("is read faster", pair(KIB, cold, warm)).unwrap();
            assert_eq!(found.verdict, due);
        }
    }

    #[test]
    fn one_size_that_disagrees_is_enough_to_doubt() {
        let made = [pair(KIB, &SLOW, &FAST), pair(GIB, &SLOW, &SLOW_TOO)].concat();
        let found = judge("is read faster", made).unwrap();
        assert_eq!(found.verdict, Verdict::Inconclusive);
        assert_eq!(found.rows, [1, 2, 3, 4]);
    }

    #[test]
    fn the_size_from_which_the_cache_does_not_matter() {
        let made = [
            pair(KIB, &SLOW, &FAST),
            pair(GIB / 2, &SLOW, &SLOW_TOO),
            pair(GIB, &SLOW, &SLOW_TOO),
        ]
        .concat();
        let found = judge("does not matter", made).unwrap();
        assert_eq!(found.verdict, Verdict::Holds);
        assert!(
            found
                .because
                .contains("from 512 MiB up both take the same time")
                && found.because.contains("saves most at 1 KiB: 60.0 times"),
            "{}",
            found.because
        );
        assert_eq!(found.rows, [5, 6, 1, 2]);

        for (cold, warm, due) in [
            (&SLOW, &FAST, Verdict::Refuted),
            (&WIDE, &SLOW, Verdict::Inconclusive),
        ] {
            let made = [pair(KIB, &SLOW, &FAST), pair(GIB, cold, warm)].concat();
            assert_eq!(judge("does not matter", made).unwrap().verdict, due);
        }
    }

    #[test]
    fn one_size_shows_no_trend() {
        let said = judge("does not matter", pair(KIB, &SLOW, &FAST));
        assert_eq!(said, Err(Missing::Rows));
    }
}
