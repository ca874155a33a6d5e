//! Claims about cost, decided by the timing runs.

use super::device;
use super::view::{Numbered, TargetRows};
use crate::answer::Verdict;
use crate::buffering::Mode;
use crate::judge::figures::{duration, rate};
use crate::judge::{Compared, Finding, Missing};

/// `fsync 71.0 µs, flush 1.33 µs per record, 53.4 times (95 %: 51.0–55.2)`.
fn figures(compared: &Compared, names: [&str; 2]) -> String {
    format!(
        "{} {}, {} {} per record, {}",
        names[0],
        duration(compared.median_s[0]),
        names[1],
        duration(compared.median_s[1]),
        compared.times()
    )
}

fn numbers(rows: &[Numbered<'_>]) -> Vec<usize> {
    rows.iter().map(|row| row.number).collect()
}

/// `fsync` against `flush`, the same program without the sync.
pub(super) fn fsync_costs_more(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let rows @ [fsync, flush] = target.smallest([Mode::Fsync, Mode::Flush])?;
    let compared = fsync.time_over(&flush)?;
    Ok(Finding {
        verdict: compared.longer(),
        because: format!(
            "{}: {}",
            fsync.size(),
            figures(&compared, ["fsync", "flush"])
        ),
        rows: numbers(&rows),
    })
}

/// Decided by what the device is asked for: with the same requests, fdatasync
/// saves nothing, whatever two noisy times say. An append changes the file's
/// size, which fdatasync must also make durable (fdatasync(2)).
pub(super) fn fdatasync_is_cheaper(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let rows @ [fsync, fdatasync] = target.smallest([Mode::Fsync, Mode::Fdatasync])?;
    let compared = fsync.time_over(&fdatasync);
    let asked = (
        device::Requests::of(&fsync),
        device::Requests::of(&fdatasync),
    );
    let (verdict, reason) = match (&compared, asked) {
        // Far cheaper with the same requests: nothing seen here explains it.
        (Ok(time), (Ok(full), Ok(data))) if full.same_as(&data) && time.far_longer() => (
            Verdict::Inconclusive,
            format!("yet both ask the device for {full} per record"),
        ),
        (_, (Ok(full), Ok(data))) if full.same_as(&data) => (
            Verdict::Refuted,
            format!("both ask the device for {full} per record"),
        ),
        (Ok(time), (Ok(full), Ok(data))) => (
            time.longer(),
            format!("fsync asks for {full}, fdatasync for {data} per record"),
        ),
        (Ok(time), _) => (time.longer(), "device requests were not seen".to_owned()),
        (Err(missing), _) => return Err(missing.clone()),
    };
    let because = match &compared {
        Ok(time) => {
            format!(
                "{}: {}; {reason}",
                fsync.size(),
                figures(time, ["fsync", "fdatasync"])
            )
        }
        Err(_) => format!("{}: {reason}", fsync.size()),
    };
    Ok(Finding {
        verdict,
        because,
        rows: numbers(&rows),
    })
}

/// The smallest records against the largest.
pub(super) fn size_does_not_matter(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let (smallest, largest) = target.extremes(&[Mode::Fsync])?;
    let [small] = target.at([Mode::Fsync], smallest)?;
    let [large] = target.at([Mode::Fsync], largest)?;
    let compared = large.time_over(&small)?;
    Ok(Finding {
        verdict: compared.same(),
        because: figures(&compared, [&large.size(), &small.size()]),
        rows: numbers(&[small, large]),
    })
}

/// One fsync per [`crate::buffering::GROUP_WRITES`] records against one per record.
pub(super) fn group_commit_divides(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let rows @ [fsync, group] = target.smallest([Mode::Fsync, Mode::GroupFsync])?;
    let compared = fsync.time_over(&group)?;
    let figures = figures(&compared, ["one fsync each", "one fsync per group"]);
    let mut because = format!("{}: {figures}", fsync.size());
    if let (Ok(each), Ok(grouped)) = (fsync.device(), group.device()) {
        let flushes = [
            fsync.per_record(each.flushes),
            group.per_record(grouped.flushes),
        ];
        let writes = [
            fsync.per_record(each.writes().count),
            group.per_record(grouped.writes().count),
        ];
        because = format!(
            "{because}; per record {} and {} flushes, {} and {} device writes",
            rate(flushes[0]),
            rate(flushes[1]),
            rate(writes[0]),
            rate(writes[1])
        );
    }
    Ok(Finding {
        verdict: compared.longer(),
        because,
        rows: numbers(&rows),
    })
}

/// What a flush after each record adds to buffered writing, for the smallest and
/// the largest records.
pub(super) fn large_records_hide_the_flush(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let modes = [Mode::Flush, Mode::Buffered];
    let (smallest, largest) = target.extremes(&modes)?;
    let small @ [small_flush, small_buffered] = target.at(modes, smallest)?;
    let large @ [large_flush, large_buffered] = target.at(modes, largest)?;
    let for_small = small_flush.time_over(&small_buffered)?;
    let for_large = large_flush.time_over(&large_buffered)?;
    let verdict = if for_small.bounds.low > for_large.bounds.high {
        Verdict::Holds
    } else if for_small.bounds.high < for_large.bounds.low {
        Verdict::Refuted
    } else {
        Verdict::Inconclusive
    };
    Ok(Finding {
        verdict,
        because: format!(
            "time of flush over that of buffered: {} {}, {} {}",
            small_flush.size(),
            for_small.times(),
            large_flush.size(),
            for_large.times()
        ),
        rows: [numbers(&small), numbers(&large)].concat(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Made, judge};
    use super::*;

    const FAST: [f64; 5] = [1.0, 1.1, 1.2, 1.3, 1.4];
    const SLOW: [f64; 5] = [70.0, 71.0, 72.0, 73.0, 74.0];
    /// Lies within [`SLOW`].
    const SLOW_TOO: [f64; 5] = [69.5, 70.5, 72.5, 73.5, 74.5];

    fn verdict(claim: super::super::Judge, made: Vec<Made>) -> Verdict {
        judge(claim, made).unwrap().verdict
    }

    #[test]
    fn fsync_against_flush() {
        let case = |fsync: &[f64], flush: &[f64]| {
            vec![
                Made::new(Mode::Fsync, 1).timed(fsync),
                Made::new(Mode::Flush, 1).timed(flush),
            ]
        };
        let found = judge(fsync_costs_more, case(&SLOW, &FAST)).unwrap();
        assert_eq!((found.verdict, found.rows), (Verdict::Holds, vec![1, 2]));
        assert!(
            found
                .because
                .starts_with("1 B: fsync 72.0 µs, flush 1.20 µs per record, 60.0 times"),
            "{}",
            found.because
        );
        assert_eq!(
            verdict(fsync_costs_more, case(&FAST, &SLOW)),
            Verdict::Refuted
        );
        assert_eq!(
            verdict(fsync_costs_more, case(&SLOW, &SLOW_TOO)),
            Verdict::Inconclusive
        );
        let few = judge(fsync_costs_more, case(&SLOW[..3], &FAST[..3])).unwrap_err();
        assert!(
            few.why().starts_with("3 and 3 timing runs"),
            "{}",
            few.why()
        );
    }

    #[test]
    fn the_smallest_size_both_have_is_compared() {
        let made = vec![
            Made::new(Mode::Fsync, 100_000).timed(&SLOW),
            Made::new(Mode::Flush, 1).timed(&SLOW),
            Made::new(Mode::Flush, 100_000).timed(&FAST),
        ];
        let found = judge(fsync_costs_more, made).unwrap();
        assert_eq!((found.verdict, found.rows), (Verdict::Holds, vec![1, 3]));
        assert!(found.because.starts_with("100 kB: "), "{}", found.because);
    }

    #[test]
    fn records_and_not_runs_are_compared() {
        let made = vec![
            Made::new(Mode::Fsync, 1).records(100).timed(&SLOW),
            Made::new(Mode::Flush, 1).records(10_000).timed(&FAST),
        ];
        let found = judge(fsync_costs_more, made).unwrap();
        assert!(
            found.because.contains("fsync 72.0 µs, flush 1.20 µs"),
            "{}",
            found.because
        );
    }

    #[test]
    fn fdatasync_of_an_append() {
        // Data, journal, commit, metadata, flushes per record.
        let full = [1, 2, 1, 0, 2];
        let less = [1, 0, 0, 0, 1];
        let case = |fsync: &[f64], fdatasync: &[f64], requests: Option<[u64; 5]>| {
            let pair = [
                Made::new(Mode::Fsync, 1).timed(fsync),
                Made::new(Mode::Fdatasync, 1).timed(fdatasync),
            ];
            match (pair, requests) {
                (pair, None) => pair.to_vec(),
                ([fsync, fdatasync], Some(requests)) => {
                    vec![fsync.asking(full), fdatasync.asking(requests)]
                }
            }
        };
        let same = judge(fdatasync_is_cheaper, case(&SLOW, &SLOW_TOO, Some(full))).unwrap();
        assert_eq!(same.verdict, Verdict::Refuted);
        let asked = "1 data, 2 journal, 1 commit, 0 metadata writes and 2 flushes per record";
        assert!(same.because.contains(asked), "{}", same.because);
        for (fsync, fdatasync, requests, verdict_due) in [
            (&SLOW, &FAST, Some(less), Verdict::Holds),
            (&FAST, &SLOW, Some(less), Verdict::Refuted),
            (&SLOW, &SLOW_TOO, Some(less), Verdict::Inconclusive),
            (&SLOW, &FAST, Some(full), Verdict::Inconclusive),
            (&SLOW, &FAST, None, Verdict::Holds),
            (&SLOW, &SLOW_TOO, None, Verdict::Inconclusive),
        ] {
            assert_eq!(
                verdict(fdatasync_is_cheaper, case(fsync, fdatasync, requests)),
                verdict_due
            );
        }
        let untimed = case(&[], &[], Some(full));
        assert_eq!(verdict(fdatasync_is_cheaper, untimed), Verdict::Refuted);
        assert!(judge(fdatasync_is_cheaper, case(&[], &[], Some(less))).is_err());
    }

    #[test]
    fn fsync_by_size() {
        let case = |large: &[f64]| {
            vec![
                Made::new(Mode::Fsync, 1).timed(&SLOW),
                Made::new(Mode::Fsync, 100_000).timed(large),
            ]
        };
        let slower = SLOW.map(|time| time * 3.0);
        let found = judge(size_does_not_matter, case(&slower)).unwrap();
        assert_eq!((found.verdict, found.rows), (Verdict::Refuted, vec![1, 2]));
        assert!(
            found.because.starts_with("100 kB 216 µs, 1 B 72.0 µs"),
            "{}",
            found.because
        );
        assert_eq!(verdict(size_does_not_matter, case(&FAST)), Verdict::Refuted);
        assert_eq!(
            verdict(size_does_not_matter, case(&SLOW_TOO)),
            Verdict::Holds
        );
        let noisy = [50.0, 60.0, 72.0, 90.0, 110.0];
        assert_eq!(
            verdict(size_does_not_matter, case(&noisy)),
            Verdict::Inconclusive
        );
        let one = judge(
            size_does_not_matter,
            vec![Made::new(Mode::Fsync, 1).timed(&SLOW)],
        );
        assert_eq!(
            one.unwrap_err().into_why(),
            "only one record size was measured on host"
        );
    }

    #[test]
    fn group_commit() {
        let case = |each: &[f64], group: &[f64]| {
            vec![
                Made::new(Mode::Fsync, 1)
                    .timed(each)
                    .asking([1, 1, 1, 0, 2]),
                Made::new(Mode::GroupFsync, 1)
                    .timed(group)
                    .asking([0, 0, 0, 0, 0]),
            ]
        };
        let found = judge(group_commit_divides, case(&SLOW, &FAST)).unwrap();
        assert_eq!(found.verdict, Verdict::Holds);
        assert!(
            found
                .because
                .ends_with("2 and 0 flushes, 3 and 0 device writes"),
            "{found:?}"
        );
        assert_eq!(
            verdict(group_commit_divides, case(&FAST, &SLOW)),
            Verdict::Refuted
        );
        assert_eq!(
            verdict(group_commit_divides, case(&SLOW, &SLOW_TOO)),
            Verdict::Inconclusive
        );
    }

    #[test]
    fn flush_by_size() {
        let case = |small: &[f64], large: &[f64]| {
            vec![
                Made::new(Mode::Buffered, 1).timed(&FAST),
                Made::new(Mode::Flush, 1).timed(small),
                Made::new(Mode::Buffered, 100_000).timed(&SLOW),
                Made::new(Mode::Flush, 100_000).timed(large),
            ]
        };
        let found = judge(large_records_hide_the_flush, case(&SLOW, &SLOW_TOO)).unwrap();
        assert_eq!(found.verdict, Verdict::Holds);
        let slowest = SLOW.map(|time| time * 100.0);
        for (small, large, due) in [
            (FAST, slowest, Verdict::Refuted),
            (FAST, SLOW_TOO, Verdict::Inconclusive),
        ] {
            assert_eq!(
                verdict(large_records_hide_the_flush, case(&small, &large)),
                due
            );
        }
    }
}
