//! The verdicts of the experiment, computed from its rows.
//!
//! Times are compared by [`crate::stats::ratio`]; a difference inside the noise, like
//! missing evidence, gives [`Verdict::Inconclusive`](crate::Verdict::Inconclusive).

mod projected;
mod rate;
mod requests;
mod time;
mod view;

#[cfg(test)]
pub(super) mod fixture;

use super::SyncResult;
use crate::answer::Answer;
use crate::judge::{self, Finding, Missing};
use view::TargetRows;

/// Judges one claim on one target.
type Judge = fn(&TargetRows<'_>) -> Result<Finding, Missing>;

/// The claims, in the order they are printed.
const CLAIMS: [(&str, Judge); 12] = [
    (
        "one small append and its fsync make about five device requests",
        requests::about_five,
    ),
    (
        "more than 10,000 syncs a second are real here",
        rate::ten_thousand,
    ),
    (
        "the rate of syncs is steady after its warm-up",
        rate::is_steady,
    ),
    (
        "an append and its fsync cost more than an overwrite and its fsync",
        time::append_costs_more,
    ),
    (
        "preallocating the file makes an fsync cheaper than an append's",
        time::preallocation_helps,
    ),
    (
        "fdatasync is cheaper than fsync for an append",
        time::fdatasync_of_an_append,
    ),
    (
        "fdatasync is cheaper than fsync for an overwrite",
        time::fdatasync_of_an_overwrite,
    ),
    (
        "O_DSYNC asks the device for what a write and fdatasync ask",
        requests::o_dsync_equals_fdatasync,
    ),
    (
        "O_SYNC asks the device for what a write and fsync ask",
        requests::o_sync_equals_fsync,
    ),
    (
        "sync and syncfs make the device do more than fsync does",
        requests::sync_asks_for_more,
    ),
    (
        "writers that sync at the same time share transactions",
        requests::writers_share,
    ),
    (
        "requests and latencies of a device tell its rate of syncs",
        projected::the_projection_holds,
    ),
];

/// Judges the experiment's claims on its rows.
///
/// A claim about rows that were not measured on any target is not made.
pub fn answers(result: &SyncResult) -> Vec<Answer> {
    judge::answers(&CLAIMS, &TargetRows::of(result), |target| target.name)
}

#[cfg(test)]
mod tests {
    use super::fixture::{Made, result};
    use super::*;
    use crate::answer::Verdict;
    use crate::sync::{Call, Write};

    #[test]
    fn nothing_is_claimed_about_rows_that_were_not_measured() {
        assert!(answers(&result(Vec::new())).is_empty());
        let one = Made::new(Call::Sync, Write::Preallocated).timed(&[9.0; 5]);
        assert!(answers(&result(vec![one])).is_empty());
    }

    #[test]
    fn without_device_evidence_the_times_still_answer() {
        let made = vec![
            Made::new(Call::Fsync, Write::Append).timed(&[70.0, 71.0, 72.0, 73.0, 74.0]),
            Made::new(Call::Fsync, Write::Overwrite).timed(&[50.0, 51.0, 52.0, 53.0, 54.0]),
        ];
        let found = answers(&result(made));
        let of = |word: &str| {
            let found = found.iter().find(|answer| answer.claim.contains(word));
            found.map(|answer| (answer.verdict, answer.because.clone()))
        };
        assert_eq!(of("cost more").unwrap().0, Verdict::Holds);
        let (verdict, because) = of("about five").unwrap();
        assert_eq!(verdict, Verdict::Inconclusive);
        assert!(because.contains("not permitted"), "{because}");
    }
}
