//! The verdicts of the experiment, computed from its rows.
//!
//! Times are compared by [`crate::stats::ratio`]; a difference inside the noise, like
//! missing evidence, gives [`Verdict::Inconclusive`](crate::Verdict::Inconclusive).

mod rate;
mod replies;
mod requests;

#[cfg(test)]
pub(super) mod fixture;

use super::{SyncCall, SyncResult, SyncRow, Write};
use crate::answer::Answer;
use crate::judge::{self, Also, By, Claim, Finding, Missing, Pick, Relation, Times, claims};

pub use replies::replies;

type TargetRows<'a> = judge::TargetRows<'a, SyncRow, SyncResult>;
type Numbered<'a> = judge::Numbered<'a, SyncRow>;

/// An append of one writer, and its `fsync`.
const APPEND: (SyncCall, Write, u64) = (SyncCall::Fsync, Write::Append, 1);

/// The device requests of both rows.
const REQUESTS: Also<SyncRow, SyncResult> = Also::Each("; {0} against {1}", |row| {
    Some(row.requests().ok()?.to_string())
});

/// The claims, in the order they are printed.
const CLAIMS: [Claim<SyncRow, SyncResult>; 12] = claims! {
    "one small append and its fsync cause about five device requests" =>
        By::Rows(requests::about_five);
    "more than 10,000 syncs a second are durable on this device" => By::Rows(rate::ten_thousand);
    "the rate of syncs is steady after its warm-up" => By::Rows(rate::is_steady);
    "an append and its fsync cost more than an overwrite and its fsync" => By::Times(Times {
        rows: Pick::Smallest([APPEND, (SyncCall::Fsync, Write::Overwrite, 1)]),
        relation: Relation::LONGER,
        words: "{size0}: append {time0}, overwrite {time1} per sync, {times}",
        also: &[REQUESTS],
    });
    "preallocating the file makes an fsync cheaper than an append's" => By::Times(Times {
        rows: Pick::Smallest([APPEND, (SyncCall::Fsync, Write::Preallocated, 1)]),
        relation: Relation::LONGER,
        words: "{size0}: append {time0}, preallocated {time1} per sync, {times}",
        also: &[REQUESTS],
    });
    "fdatasync is cheaper than fsync for an append" =>
        By::Rows(|target| fdatasync_is_cheaper(target, Write::Append));
    "fdatasync is cheaper than fsync for an overwrite" =>
        By::Rows(|target| fdatasync_is_cheaper(target, Write::Overwrite));
    "O_DSYNC makes the same device requests as write and fdatasync" =>
        By::Rows(|target| requests::equal(target, SyncCall::ODsync, SyncCall::Fdatasync));
    "O_SYNC makes the same device requests as write and fsync" =>
        By::Rows(|target| requests::equal(target, SyncCall::OSync, SyncCall::Fsync));
    "sync and syncfs cause more device requests than fsync" =>
        By::Rows(requests::sync_asks_for_more);
    "writers that sync at the same time share transactions" => By::Rows(requests::writers_share);
    "requests and latencies of a device predict its sync rate" =>
        By::Rows(rate::the_projection_holds);
};

/// Judges the experiment's claims on its rows.
///
/// A claim about rows that were not measured on any target is not made.
pub fn answers(result: &SyncResult) -> Vec<Answer> {
    judge::answers(&CLAIMS, targets(result))
}

fn fdatasync_is_cheaper(target: &TargetRows<'_>, write: Write) -> Result<Finding, Missing> {
    let kinds = [SyncCall::Fsync, SyncCall::Fdatasync].map(|call| (call, write, 1));
    let words = "{size0}: fsync {time0}, fdatasync {time1} per sync, {times}";
    judge::longer_by_requests(target, kinds, (words, ""), |why| match why {
        Missing::Rows => format!("{} has no device", target.name),
        Missing::Evidence(why) => why.clone(),
    })
}

fn targets(result: &SyncResult) -> Vec<TargetRows<'_>> {
    TargetRows::of(result, &result.targets, result.numbered(), [].into_iter())
}

#[cfg(test)]
mod tests {
    use super::fixture::{judge, made, result};
    use super::*;
    use crate::answer::Verdict;
    use crate::judge::fixture::{SLOW, SLOW_TOO};
    use crate::lab::Row;
    use crate::sync::Case;

    #[test]
    fn nothing_is_claimed_about_rows_that_were_not_measured() {
        assert!(answers(&result(Vec::new())).is_empty());
        let one = made(SyncCall::Sync, Write::Preallocated).timed(&[9.0; 5]);
        assert!(answers(&result(vec![one])).is_empty());
    }

    #[test]
    fn without_device_evidence_the_times_still_answer() {
        let rows = vec![
            made(SyncCall::Fsync, Write::Append).timed(&[70.0, 71.0, 72.0, 73.0, 74.0]),
            made(SyncCall::Fsync, Write::Overwrite).timed(&[50.0, 51.0, 52.0, 53.0, 54.0]),
        ];
        let found = answers(&result(rows));
        let of = |word: &str| {
            let found = found.iter().find(|answer| answer.claim.contains(word));
            found.map(|answer| (answer.verdict, answer.because.clone()))
        };
        assert_eq!(of("cost more").unwrap().0, Verdict::Holds);
        let (verdict, because) = of("about five").unwrap();
        assert_eq!(verdict, Verdict::Inconclusive);
        assert!(because.contains("not permitted"), "{because}");
    }

    const FAST: [f64; 5] = [50.0, 50.1, 50.2, 50.3, 50.4];

    fn pair(kinds: [(SyncCall, Write); 2], times: [&[f64]; 2]) -> Vec<Row<Case>> {
        kinds
            .into_iter()
            .zip(times)
            .map(|((call, write), times)| made(call, write).timed(times))
            .collect()
    }

    #[test]
    fn an_append_against_what_is_there_already() {
        for (claim, other) in [
            ("cost more than an overwrite", Write::Overwrite),
            ("preallocating", Write::Preallocated),
        ] {
            let kinds = [(SyncCall::Fsync, Write::Append), (SyncCall::Fsync, other)];
            for (times, due) in [
                ([&SLOW[..], &FAST], Verdict::Holds),
                ([&FAST, &SLOW], Verdict::Refuted),
                ([&SLOW, &SLOW_TOO], Verdict::Inconclusive),
            ] {
                let found = judge(claim, pair(kinds, times)).unwrap();
                assert_eq!((found.verdict, found.rows), (due, vec![1, 2]));
            }
            let few = judge(claim, pair(kinds, [&SLOW[..3], &FAST[..3]]))
                .unwrap_err()
                .into_why();
            assert!(few.starts_with("3 and 3 timing runs"), "{few}");
        }
    }

    #[test]
    fn figures_are_per_sync() {
        let kinds = [
            (SyncCall::Fsync, Write::Append),
            (SyncCall::Fsync, Write::Overwrite),
        ];
        let found = judge("cost more than an overwrite", pair(kinds, [&SLOW, &FAST])).unwrap();
        assert!(
            found
                .because
                .contains("append 72.0 µs, overwrite 50.2 µs per sync, 1.43 times"),
            "{}",
            found.because
        );
    }

    #[test]
    fn fdatasync_is_judged_by_what_it_asks_for() {
        let full = [1, 1, 1, 0, 2];
        let less = [1, 0, 0, 0, 1];
        for (fsync, fdatasync, asked, due) in [
            (&SLOW, &FAST, Some(less), Verdict::Holds),
            (&FAST, &SLOW, Some(less), Verdict::Refuted),
            (&SLOW, &SLOW_TOO, Some(less), Verdict::Inconclusive),
            (&SLOW, &SLOW_TOO, Some(full), Verdict::Refuted),
            (&SLOW, &FAST, Some(full), Verdict::Inconclusive),
            (&SLOW, &FAST, None, Verdict::Holds),
            (&SLOW, &SLOW_TOO, None, Verdict::Inconclusive),
        ] {
            let kinds = [SyncCall::Fsync, SyncCall::Fdatasync].map(|call| (call, Write::Overwrite));
            let mut rows = pair(kinds, [fsync, fdatasync]);
            if let Some(asked) = asked {
                rows[0] = rows[0].clone().asking(full);
                rows[1] = rows[1].clone().asking(asked);
            }
            let found = judge("fsync for an overwrite", rows).unwrap();
            assert_eq!(found.verdict, due, "{asked:?} {}", found.because);
        }
    }
}
