//! Where the time of a warm read of a large file goes.

use super::view::{Numbered, TargetRows, numbers};
use crate::answer::Verdict;
use crate::bytes::grouped;
use crate::judge::figures::{duration, number};
use crate::judge::{Compared, Finding, Missing};
use crate::page_cache::{Reader, State};

/// A read within this factor of a plain copy of as many bytes counts as one: looking
/// the pages up and entering the kernel come on top.
const NEAR_A_COPY: f64 = 1.5;

fn largest<'a>(
    target: &TargetRows<'a>,
    first: Reader,
    second: Reader,
) -> Result<[Numbered<'a>; 2], Missing> {
    let pairs = target.pairs((State::Warm, first), (State::Warm, second))?;
    let last = pairs.last().copied();
    last.ok_or_else(|| Missing::Rows(format!("no warm rows on {}", target.name)))
}

fn against(compared: &Compared, limit: f64) -> Verdict {
    if compared.bounds.low > limit {
        Verdict::Holds
    } else if compared.bounds.high < limit {
        Verdict::Refuted
    } else {
        Verdict::Inconclusive
    }
}

/// A new buffer against one that is used again: what it takes longer, its faults took.
/// Most of it when it takes more than twice as long.
pub(super) fn faults_are_most(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let rows @ [fresh, reused] = largest(target, Reader::Read, Reader::ReadReused)?;
    let compared = fresh.time_over(&reused)?;
    let [fresh_s, reused_s] = compared.median_s;
    let longer_s = (fresh_s - reused_s).max(0.0);
    let mut because = format!(
        "{}: read {}, read_reused {}, {}; {} % of the read is its new buffer",
        fresh.size(),
        duration(fresh_s),
        duration(reused_s),
        compared.times(),
        number(longer_s / fresh_s * 100.0)
    );
    if let (Some(many), Some(few)) = (fresh.minor_faults(), reused.minor_faults()) {
        because.push_str("; ");
        because.push_str(&grouped(many));
        because.push_str(" and ");
        because.push_str(&grouped(few));
        because.push_str(" minor faults");
        if many > few && longer_s > 0.0 {
            because.push_str(", ");
            because.push_str(&duration(longer_s / (many - few) as f64));
            because.push_str(" each");
        }
    }
    Ok(Finding {
        verdict: against(&compared, 2.0),
        because,
        rows: numbers(&rows),
    })
}

/// A reused buffer against a copy of as many bytes in the same process.
pub(super) fn reused_is_a_copy(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let rows = target.in_state(State::Warm)?;
    let reused = rows
        .iter()
        .filter(|row| row.row.row.case.reader == Reader::ReadReused)
        .max_by_key(|row| row.row.row.case.size_bytes);
    let reused = reused
        .ok_or_else(|| Missing::Rows(format!("no warm row of read_reused on {}", target.name)))?;
    let copy = reused.row.memory_copy.as_ref().ok_or_else(|| {
        Missing::Evidence(format!(
            "no memory copy was timed with row {}",
            reused.number
        ))
    })?;
    let compared = Compared::of(
        (reused.number, &reused.timing()?.samples_s),
        (reused.number, &copy.samples_s),
    )?;
    let [read_s, copy_s] = compared.median_s;
    let verdict = match against(&compared, NEAR_A_COPY) {
        Verdict::Holds => Verdict::Refuted,
        Verdict::Refuted => Verdict::Holds,
        Verdict::Inconclusive => Verdict::Inconclusive,
    };
    let rate = |seconds: f64| number(reused.row.read_bytes as f64 / seconds / 1e9);
    Ok(Finding {
        verdict,
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

/// A mapping clears no pages and copies nothing.
pub(super) fn mapping_is_faster(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let rows @ [read, mapped] = largest(target, Reader::Read, Reader::Mmap)?;
    let compared = read.time_over(&mapped)?;
    let [read_s, mapped_s] = compared.median_s;
    let mut because = format!(
        "{}: read {}, mmap {} with every byte added up, {}",
        read.size(),
        duration(read_s),
        duration(mapped_s),
        compared.times()
    );
    if let (Some(fresh), Some(mapped)) = (read.minor_faults(), mapped.minor_faults()) {
        because.push_str("; ");
        because.push_str(&grouped(fresh));
        because.push_str(" and ");
        because.push_str(&grouped(mapped));
        because.push_str(" minor faults");
    }
    Ok(Finding {
        verdict: compared.longer(),
        because,
        rows: numbers(&rows),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{FAST, Made, SLOW, SLOW_TOO, WIDE, judge};
    use super::*;

    const GIB: u64 = 1 << 30;

    fn warm(reader: Reader, times: &[f64]) -> Made {
        Made::new(State::Warm, reader, GIB).timed(times)
    }

    #[test]
    fn a_new_buffer_against_a_used_one() {
        let case = |fresh: &[f64], reused: &[f64]| {
            vec![
                warm(Reader::Read, fresh).faulting(1025),
                warm(Reader::ReadReused, reused).faulting(1),
            ]
        };
        let found = judge(faults_are_most, case(&SLOW, &FAST)).unwrap();
        assert_eq!((found.verdict, found.rows), (Verdict::Holds, vec![1, 2]));
        assert!(
            found.because.contains(
                "98.3 % of the read is its new buffer; 1,025 and 1 minor faults, 69.1 ns each"
            ),
            "{}",
            found.because
        );
        for (fresh, reused, due) in [
            (&FAST, &SLOW, Verdict::Refuted),
            (&SLOW, &SLOW_TOO, Verdict::Refuted),
            (&WIDE, &SLOW.map(|time| time / 2.0), Verdict::Inconclusive),
        ] {
            let found = judge(faults_are_most, case(fresh, reused)).unwrap();
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
            let found = judge(reused_is_a_copy, case(read, copy)).unwrap();
            assert_eq!(found.verdict, due, "{}", found.because);
        }
        let without = judge(reused_is_a_copy, vec![warm(Reader::ReadReused, &FAST)]);
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
            let found = judge(mapping_is_faster, case(read, mapped)).unwrap();
            assert_eq!(found.verdict, due);
        }
    }

    #[test]
    fn the_largest_size_is_judged() {
        let small = |reader| Made::new(State::Warm, reader, 1024).timed(&FAST);
        let made = vec![
            warm(Reader::Read, &SLOW),
            warm(Reader::ReadReused, &FAST),
            small(Reader::Read),
            small(Reader::ReadReused),
        ];
        let found = judge(faults_are_most, made).unwrap();
        assert_eq!((found.verdict, found.rows), (Verdict::Holds, vec![1, 2]));
    }
}
