//! Where the time of a warm read of a large file goes.

use super::{Pair, TargetRows, in_state};
use crate::bytes::grouped;
use crate::figures::{duration, number};
use crate::judge::{Also, Compared, Finding, Missing, Relation};
use crate::page_cache::{PageCacheResult, PageCacheRow, Reader, State};

/// A read within this factor of a plain copy of as many bytes counts as one: looking
/// the pages up and entering the kernel come on top.
const NEAR_A_COPY: f64 = 1.5;

pub(super) const MINOR_FAULTS: Also<PageCacheRow, PageCacheResult> =
    Also::Each("; {0} and {1} minor faults", |row| {
        row.evidence().faults.minor.map(grouped)
    });

/// Share of the time of a read that its new buffer takes, 0 to 1.
pub(super) fn new_buffer_share(pair: &Pair<'_, '_>) -> f64 {
    let [fresh_s, reused_s] = pair.time.median_s;
    (fresh_s - reused_s).max(0.0) / fresh_s
}

/// `98.3 % of the read is spent faulting in the new buffer; 1,025 and 1 minor faults, 69.1 ns
/// each`.
pub(super) fn of_the_new_buffer(pair: &Pair<'_, '_>) -> String {
    let [fresh_s, reused_s] = pair.time.median_s;
    let longer_s = (fresh_s - reused_s).max(0.0);
    let share = number(new_buffer_share(pair) * 100.0);
    let mut said = format!("; {share} % of the read is spent faulting in the new buffer");
    if let [Some(many), Some(few)] = pair.rows.map(|row| row.evidence().faults.minor) {
        said.extend(MINOR_FAULTS.said(pair));
        if many > few && longer_s > 0.0 {
            said = format!("{said}, {} each", duration(longer_s / (many - few) as f64));
        }
    }
    said
}

/// A reused buffer against a copy of as many bytes in the same process.
pub(super) fn reused_is_a_copy(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let rows = in_state(target, State::Warm)?.into_iter();
    let reused = rows
        .filter(|row| row.case().reader == Reader::ReadReused)
        .max_by_key(|row| row.case().size_bytes)
        .ok_or(Missing::Rows)?;
    let copy = reused.row.memory_copy.as_ref().ok_or_else(|| {
        Missing::Evidence(format!(
            "no memory copy was timed with row {}",
            reused.number
        ))
    })?;
    let compared = Compared::of(
        (reused.number, &reused.times_s()?),
        (reused.number, &copy.samples_s),
    )?;
    let [read_s, copy_s] = compared.median_s;
    let rate = |seconds: f64| number(reused.row.read_bytes as f64 / seconds / 1e9);
    Ok(Finding {
        verdict: compared.is(Relation::AtMost(NEAR_A_COPY)),
        because: format!(
            "{}: read_reused {}, a copy in memory {}, {}; {} and {} GB/s",
            reused.size(),
            duration(read_s),
            duration(copy_s),
            compared.times(),
            rate(read_s),
            rate(copy_s)
        ),
        rows: vec![reused.number],
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{judge, made};
    use super::*;
    use crate::answer::Verdict;
    use crate::judge::fixture::{FAST, SLOW, SLOW_TOO, WIDE};

    const GIB: u64 = 1 << 30;

    fn warm(reader: Reader, times: &[f64]) -> PageCacheRow {
        made(State::Warm, reader, GIB).timed(times)
    }

    #[test]
    fn a_new_buffer_against_a_used_one() {
        let case = |fresh: &[f64], reused: &[f64]| {
            vec![
                warm(Reader::Read, fresh).faulting(1025),
                warm(Reader::ReadReused, reused).faulting(1),
            ]
        };
        let found = judge("is page faults", case(&SLOW, &FAST)).unwrap();
        assert_eq!((found.verdict, found.rows), (Verdict::Holds, vec![1, 2]));
        assert!(
            found.because.contains(
                "98.3 % of the read is spent faulting in the new buffer; 1,025 and 1 minor \
                 faults, 69.1 ns each"
            ),
            "{}",
            found.because
        );
        for (fresh, reused, due) in [
            (&FAST, &SLOW, Verdict::Refuted),
            (&SLOW, &SLOW_TOO, Verdict::Refuted),
            (&WIDE, &SLOW.map(|time| time / 2.0), Verdict::Inconclusive),
        ] {
            let found = judge("is page faults", case(fresh, reused)).unwrap();
            assert_eq!(found.verdict, due, "{}", found.because);
        }
    }

    #[test]
    fn a_used_buffer_against_a_copy() {
        let case = |read: &[f64], copy: &[f64]| vec![warm(Reader::ReadReused, read).copying(copy)];
        for (read, copy, due) in [
            (&SLOW, &SLOW_TOO, Verdict::Holds),
            (&FAST, &SLOW, Verdict::Holds),
            (&SLOW, &FAST, Verdict::Refuted),
            (&WIDE, &SLOW.map(|time| time / 1.5), Verdict::Inconclusive),
        ] {
            let found = judge("speed of a memory copy", case(read, copy)).unwrap();
            assert_eq!(found.verdict, due, "{}", found.because);
        }
        let without = judge(
            "speed of a memory copy",
            vec![warm(Reader::ReadReused, &FAST)],
        );
        assert_eq!(
            without.unwrap_err().into_why(),
            "no memory copy was timed with row 1"
        );
    }

    #[test]
    fn a_mapping_against_a_new_buffer() {
        let case = |read: &[f64], mapped: &[f64]| {
            vec![warm(Reader::Read, read), warm(Reader::Mmap, mapped)]
        };
        for (read, mapped, due) in [
            (&SLOW, &FAST, Verdict::Holds),
            (&FAST, &SLOW, Verdict::Refuted),
            (&SLOW, &SLOW_TOO, Verdict::Inconclusive),
        ] {
            let found = judge("mapping a large", case(read, mapped)).unwrap();
            assert_eq!(found.verdict, due);
        }
    }

    #[test]
    fn the_largest_size_is_judged() {
        let small = |reader| made(State::Warm, reader, 1024).timed(&FAST);
        let made = vec![
            warm(Reader::Read, &SLOW),
            warm(Reader::ReadReused, &FAST),
            small(Reader::Read),
            small(Reader::ReadReused),
        ];
        let found = judge("is page faults", made).unwrap();
        assert_eq!((found.verdict, found.rows), (Verdict::Holds, vec![1, 2]));
    }
}
