//! The verdicts of the experiment, computed from its rows.
//!
//! Times are compared by [`crate::stats::ratio`]; a difference inside the noise, like
//! missing evidence, gives [`Verdict::Inconclusive`].

mod device;
mod replies;
mod visibility;

#[cfg(test)]
pub(super) mod fixture;

use super::{BufferingResult, BufferingRow, Mode};
use crate::answer::{Answer, Verdict};
use crate::figures::rate;
use crate::judge::{
    self, Also, By, Claim, Finding, Missing, Pick, Relation, Times, claims, numbers,
};

pub use replies::replies;

type TargetRows<'a> = judge::TargetRows<'a, BufferingRow, BufferingResult>;
type Numbered<'a> = judge::Numbered<'a, BufferingRow>;

/// The claims, in the order they are printed.
const CLAIMS: [Claim<BufferingRow, BufferingResult>; 10] = claims! {
    "a write is visible to other processes only after the user-space buffer is flushed" =>
        By::Rows(visibility::after_the_flush);
    "a flush makes data visible, not durable: only a sync makes the device keep it" =>
        By::Rows(device::only_a_sync_asks_the_device);
    "an fsync after each record costs more than the write alone" => By::Times(Times {
        // The same program without the sync.
        rows: Pick::Smallest([Mode::Fsync, Mode::Flush]),
        relation: Relation::LONGER,
        words: "{size0}: fsync {time0}, flush {time1} per record, {times}",
        also: &[],
    });
    "fdatasync is cheaper than fsync for an append" => By::Rows(fdatasync_is_cheaper);
    "write and fsync cost the same at any record size" => By::Times(Times {
        rows: Pick::Sizes(Mode::Fsync),
        relation: Relation::Same,
        words: "{size0} {time0}, {size1} {time1} per record, {times}",
        also: &[],
    });
    "O_SYNC makes the same device requests as write and fsync, O_DSYNC and RWF_DSYNC \
     the same as write and fdatasync" => By::Rows(device::flags_equal_calls);
    "sync_file_range makes data durable" => By::Rows(device::sync_file_range_is_durable);
    "group commit amortizes the cost of fsync" => By::Times(Times {
        // One for [`super::GROUP_WRITES`] records.
        rows: Pick::Smallest([Mode::Fsync, Mode::GroupFsync]),
        relation: Relation::LONGER,
        words: "{size0}: one fsync each {time0}, one fsync per group {time1} per record, {times}",
        also: &[
            Also::Each("; per record {0} and {1} flushes", |row| {
                Some(rate(row.each(row.device().ok()?.flushes)))
            }),
            Also::Each(", {0} and {1} device writes", |row| {
                Some(rate(row.each(row.device().ok()?.writes().count)))
            }),
        ],
    });
    "small records pay for the system call, large ones for the copy: the larger the \
     record, the less a flush per record adds" => By::Rows(large_records_hide_the_flush);
    "the device writes as many bytes as the program" => By::Rows(device::writes_are_not_amplified);
};

/// Judges the experiment's claims on its rows.
///
/// A claim about rows that were not measured on any target is not made: who asks for
/// two modes gets no verdicts on the other eight.
pub fn answers(result: &BufferingResult) -> Vec<Answer> {
    judge::answers(&CLAIMS, targets(result))
}

fn targets(result: &BufferingResult) -> Vec<TargetRows<'_>> {
    let timelines = result.own.timelines.iter();
    let names = timelines.map(|timeline| timeline.target.as_str());
    TargetRows::of(result, &result.targets, result.numbered(), names)
}

/// An append changes the file's size, which fdatasync must also make durable (fdatasync(2)).
fn fdatasync_is_cheaper(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let kinds = [Mode::Fsync, Mode::Fdatasync];
    let words = "{size0}: fsync {time0}, fdatasync {time1} per record, {times}";
    judge::longer_by_requests(target, kinds, (words, " per record"), |_| {
        "device requests were not observed".to_owned()
    })
}

/// The cost of a flush after each record over buffered writing, for the smallest and
/// the largest records.
fn large_records_hide_the_flush(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let [small, large] = target.extremes([Mode::Flush, Mode::Buffered])?;
    let for_small = small[0].time_over(&small[1])?;
    let for_large = large[0].time_over(&large[1])?;
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
            "time of flush relative to buffered: {} {}, {} {}",
            small[0].size(),
            for_small.times(),
            large[0].size(),
            for_large.times()
        ),
        rows: numbers(small.iter().chain(&large)),
    })
}

#[cfg(test)]
mod tests {
    use super::fixture::{judge, made, result};
    use super::*;
    use crate::buffering::Case;
    use crate::judge::fixture::{FAST, SLOW, SLOW_TOO, target};
    use crate::lab::Row;

    const COSTS_MORE: &str = "costs more than the write alone";

    fn judged(made: Vec<Row<Case>>) -> Answer {
        let mut answers = answers(&result(made)).into_iter();
        answers
            .find(|answer| answer.claim.contains(COSTS_MORE))
            .unwrap()
    }

    fn pair(target: &'static str, fsync_us: f64) -> [Row<Case>; 2] {
        [
            made(Mode::Flush, 1)
                .on(target)
                .timed(&[1.0, 1.1, 1.2, 1.3, 1.4]),
            made(Mode::Fsync, 1).on(target).timed(&[
                fsync_us,
                fsync_us + 0.1,
                fsync_us + 0.2,
                fsync_us + 0.3,
                fsync_us + 0.4,
            ]),
        ]
    }

    #[test]
    fn the_host_leads_and_agreeing_targets_are_silent() {
        let answer = judged([pair("ext4", 90.0), pair("host", 70.0)].concat());
        assert_eq!(
            (answer.verdict, answer.rows.as_slice()),
            (Verdict::Holds, &[3, 4][..])
        );
        assert!(!answer.because.contains("ext4"), "{}", answer.because);
    }

    #[test]
    fn a_target_that_disagrees_is_named_with_its_rows() {
        let answer = judged([pair("host", 70.0), pair("xfs", 0.1)].concat());
        assert_eq!(
            (answer.verdict, answer.rows.as_slice()),
            (Verdict::Holds, &[1, 2, 3, 4][..])
        );
        assert!(
            answer.because.contains("; on xfs refuted: "),
            "{}",
            answer.because
        );
    }

    #[test]
    fn without_the_host_the_first_target_that_can_tell_decides() {
        let lone = vec![made(Mode::Flush, 1).on("host").timed(&[1.0; 5])];
        let answer = judged([lone, pair("ext4", 70.0).to_vec()].concat());
        assert_eq!(answer.verdict, Verdict::Holds);
        assert!(
            answer.because.starts_with("on ext4: "),
            "{}",
            answer.because
        );
        assert_eq!(answer.rows, [2, 3]);
    }

    #[test]
    fn nothing_is_claimed_about_rows_that_were_not_measured() {
        assert!(answers(&result(Vec::new())).is_empty());
        let one = vec![made(Mode::Flush, 1).on("host").timed(&[1.0; 5])];
        assert!(answers(&result(one)).is_empty());
    }

    #[test]
    fn nothing_is_claimed_about_a_device_that_is_not_there() {
        let made = [Mode::Flush, Mode::Fsync]
            .map(|mode| made(mode, 1).on("host").asking([0; 5]))
            .to_vec();
        let mut result = result(made);
        let on_disk = answers(&result).len();
        result.targets = vec![target("host", "tmpfs", None)];
        assert!(answers(&result).len() < on_disk);
    }

    #[test]
    fn missing_evidence_is_named() {
        let made = [Mode::Flush, Mode::Fsync].map(|mode| made(mode, 1).on("host"));
        let answer = judged(made.to_vec());
        assert_eq!(answer.verdict, Verdict::Inconclusive);
        assert!(
            answer.because.contains("no timing run"),
            "{}",
            answer.because
        );
    }

    fn verdict(claim: &str, made: Vec<Row<Case>>) -> Verdict {
        judge(claim, made).unwrap().verdict
    }

    #[test]
    fn fsync_against_flush() {
        let case = |fsync: &[f64], flush: &[f64]| {
            vec![
                made(Mode::Fsync, 1).timed(fsync),
                made(Mode::Flush, 1).timed(flush),
            ]
        };
        let found = judge(COSTS_MORE, case(&SLOW, &FAST)).unwrap();
        assert_eq!((found.verdict, found.rows), (Verdict::Holds, vec![1, 2]));
        assert!(
            found
                .because
                .starts_with("1 B: fsync 72.0 µs, flush 1.20 µs per record, 60.0 times"),
            "{}",
            found.because
        );
        assert_eq!(verdict(COSTS_MORE, case(&FAST, &SLOW)), Verdict::Refuted);
        assert_eq!(
            verdict(COSTS_MORE, case(&SLOW, &SLOW_TOO)),
            Verdict::Inconclusive
        );
        let few = judge(COSTS_MORE, case(&SLOW[..3], &FAST[..3]))
            .unwrap_err()
            .into_why();
        assert!(few.starts_with("3 and 3 timing runs"), "{}", few);
    }

    #[test]
    fn the_smallest_size_both_have_is_compared() {
        let made = vec![
            made(Mode::Fsync, 100_000).timed(&SLOW),
            made(Mode::Flush, 1).timed(&SLOW),
            made(Mode::Flush, 100_000).timed(&FAST),
        ];
        let found = judge(COSTS_MORE, made).unwrap();
        assert_eq!((found.verdict, found.rows), (Verdict::Holds, vec![1, 3]));
        assert!(found.because.starts_with("100 kB: "), "{}", found.because);
    }

    #[test]
    fn records_and_not_runs_are_compared() {
        let made = vec![
            made(Mode::Fsync, 1).records(100).timed(&SLOW),
            made(Mode::Flush, 1).records(10_000).timed(&FAST),
        ];
        let found = judge(COSTS_MORE, made).unwrap();
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
                made(Mode::Fsync, 1).timed(fsync),
                made(Mode::Fdatasync, 1).timed(fdatasync),
            ];
            match (pair, requests) {
                (pair, None) => pair.to_vec(),
                ([fsync, fdatasync], Some(requests)) => {
                    vec![fsync.asking(full), fdatasync.asking(requests)]
                }
            }
        };
        let same = judge("fdatasync is cheaper", case(&SLOW, &SLOW_TOO, Some(full))).unwrap();
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
                verdict("fdatasync is cheaper", case(fsync, fdatasync, requests)),
                verdict_due
            );
        }
        let untimed = case(&[], &[], Some(full));
        assert_eq!(verdict("fdatasync is cheaper", untimed), Verdict::Refuted);
        assert!(judge("fdatasync is cheaper", case(&[], &[], Some(less))).is_err());
    }

    #[test]
    fn fsync_by_size() {
        let case = |large: &[f64]| {
            vec![
                made(Mode::Fsync, 1).timed(&SLOW),
                made(Mode::Fsync, 100_000).timed(large),
            ]
        };
        let slower = SLOW.map(|time| time * 3.0);
        let found = judge("cost the same at any", case(&slower)).unwrap();
        assert_eq!((found.verdict, found.rows), (Verdict::Refuted, vec![2, 1]));
        assert!(
            found.because.starts_with("100 kB 216 µs, 1 B 72.0 µs"),
            "{}",
            found.because
        );
        assert_eq!(
            verdict("cost the same at any", case(&FAST)),
            Verdict::Refuted
        );
        assert_eq!(
            verdict("cost the same at any", case(&SLOW_TOO)),
            Verdict::Holds
        );
        let noisy = [50.0, 60.0, 72.0, 90.0, 110.0];
        assert_eq!(
            verdict("cost the same at any", case(&noisy)),
            Verdict::Inconclusive
        );
        let one = judge(
            "cost the same at any",
            vec![made(Mode::Fsync, 1).timed(&SLOW)],
        );
        assert_eq!(one, Err(Missing::Rows));
    }

    #[test]
    fn group_commit() {
        let case = |each: &[f64], group: &[f64]| {
            vec![
                made(Mode::Fsync, 1).timed(each).asking([1, 1, 1, 0, 2]),
                made(Mode::GroupFsync, 1)
                    .timed(group)
                    .asking([0, 0, 0, 0, 0]),
            ]
        };
        let found = judge("group commit", case(&SLOW, &FAST)).unwrap();
        assert_eq!(found.verdict, Verdict::Holds);
        assert!(
            found
                .because
                .ends_with("2 and 0 flushes, 3 and 0 device writes"),
            "{found:?}"
        );
        assert_eq!(
            verdict("group commit", case(&FAST, &SLOW)),
            Verdict::Refuted
        );
        assert_eq!(
            verdict("group commit", case(&SLOW, &SLOW_TOO)),
            Verdict::Inconclusive
        );
    }

    #[test]
    fn flush_by_size() {
        let case = |small: &[f64], large: &[f64]| {
            vec![
                made(Mode::Buffered, 1).timed(&FAST),
                made(Mode::Flush, 1).timed(small),
                made(Mode::Buffered, 100_000).timed(&SLOW),
                made(Mode::Flush, 100_000).timed(large),
            ]
        };
        let found = judge("small records pay", case(&SLOW, &SLOW_TOO)).unwrap();
        assert_eq!(found.verdict, Verdict::Holds);
        let slowest = SLOW.map(|time| time * 100.0);
        for (small, large, due) in [
            (FAST, slowest, Verdict::Refuted),
            (FAST, SLOW_TOO, Verdict::Inconclusive),
        ] {
            assert_eq!(verdict("small records pay", case(&small, &large)), due);
        }
    }
}
