//! Warm against cold, by size.

use super::view::{Numbered, TargetRows, numbers};
use crate::answer::Verdict;
use crate::judge::figures::{duration, number};
use crate::judge::{Compared, Finding, Missing};
use crate::page_cache::{Reader, State};

/// Cold and warm `read` of one size.
struct Pair<'a> {
    rows: [Numbered<'a>; 2],
    cold_over_warm: Compared,
}

fn pairs<'a>(target: &TargetRows<'a>) -> Result<Vec<Pair<'a>>, Missing> {
    let pairs = target.pairs((State::Cold, Reader::Read), (State::Warm, Reader::Read))?;
    let compared = pairs.into_iter().map(|rows| {
        let cold_over_warm = rows[0].time_over(&rows[1])?;
        Ok(Pair {
            rows,
            cold_over_warm,
        })
    });
    compared.collect()
}

/// `1 MiB 1.75 ms cold, 240 µs warm, 7.29 times (95 %: 7.01–7.51)`.
fn figures(pair: &Pair<'_>) -> String {
    let [cold_s, warm_s] = pair.cold_over_warm.median_s;
    format!(
        "{} {} cold, {} warm, {}",
        pair.rows[0].size(),
        duration(cold_s),
        duration(warm_s),
        pair.cold_over_warm.times()
    )
}

/// At every size that was measured.
pub(super) fn warm_is_faster(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let pairs = pairs(target)?;
    let verdicts = || pairs.iter().map(|pair| pair.cold_over_warm.longer());
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
        let why = format!("only one size was measured on {}", target.name);
        return Err(Missing::Rows(why));
    };
    let same = |pair: &&Pair<'_>| pair.cold_over_warm.same() == Verdict::Holds;
    // The smallest of the sizes from which on all are the same.
    let from = pairs.iter().rev().take_while(same).last();
    let most = pairs
        .iter()
        .max_by(|a, b| f64::total_cmp(&a.cold_over_warm.times, &b.cold_over_warm.times));
    let most = most.unwrap_or(largest);
    let peak = format!(
        "the cache saves most at {}: {} times",
        most.rows[0].size(),
        number(most.cold_over_warm.times)
    );
    let (verdict, end) = match (from, largest.cold_over_warm.same()) {
        (Some(pair), _) => (
            Verdict::Holds,
            format!("from {} on both take the same", pair.rows[0].size()),
        ),
        (None, Verdict::Refuted) => (
            Verdict::Refuted,
            "it matters up to the largest size measured".to_owned(),
        ),
        (None, _) => (
            Verdict::Inconclusive,
            "the noise leaves open whether both are within 10 %".to_owned(),
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
    use super::super::fixture::{FAST, Made, SLOW, SLOW_TOO, WIDE, judge};
    use super::*;

    const KIB: u64 = 1 << 10;
    const GIB: u64 = 1 << 30;

    fn pair(size: u64, cold: &[f64], warm: &[f64]) -> Vec<Made> {
        vec![
            Made::new(State::Cold, Reader::Read, size).timed(cold),
            Made::new(State::Warm, Reader::Read, size).timed(warm),
        ]
    }

    #[test]
    fn warm_against_cold() {
        let found = judge(warm_is_faster, pair(KIB, &SLOW, &FAST)).unwrap();
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
            let found = judge(warm_is_faster, pair(KIB, cold, warm)).unwrap();
            assert_eq!(found.verdict, due);
        }
    }

    #[test]
    fn one_size_that_disagrees_is_enough_to_doubt() {
        let made = [pair(KIB, &SLOW, &FAST), pair(GIB, &SLOW, &SLOW_TOO)].concat();
        let found = judge(warm_is_faster, made).unwrap();
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
        let found = judge(stops_mattering, made).unwrap();
        assert_eq!(found.verdict, Verdict::Holds);
        assert!(
            found.because.contains("from 512 MiB on both take the same")
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
            assert_eq!(judge(stops_mattering, made).unwrap().verdict, due);
        }
    }

    #[test]
    fn one_size_shows_no_trend() {
        let why = judge(stops_mattering, pair(KIB, &SLOW, &FAST)).unwrap_err();
        assert_eq!(why.into_why(), "only one size was measured on host");
    }
}
