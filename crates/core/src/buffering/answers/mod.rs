//! The verdicts of the experiment, computed from its rows.
//!
//! Times are compared by [`crate::stats::ratio`]; a difference inside the noise, like
//! missing evidence, gives [`Verdict::Inconclusive`](crate::Verdict::Inconclusive).

mod device;
mod time;
mod view;
mod visibility;

#[cfg(test)]
pub(super) mod fixture;

use super::BufferingResult;
use crate::answer::Answer;
use crate::judge::{self, Finding, Missing};
use view::TargetRows;

/// Judges one claim on one target.
type Judge = fn(&TargetRows<'_>) -> Result<Finding, Missing>;

/// The claims, in the order they are printed.
const CLAIMS: [(&str, Judge); 10] = [
    (
        "a write is visible to other processes only after the user-space buffer is flushed",
        visibility::after_the_flush,
    ),
    (
        "a flush makes data visible, not durable: only a sync asks the device to keep it",
        device::only_a_sync_asks_the_device,
    ),
    (
        "an fsync after each record costs more than only writing it",
        time::fsync_costs_more,
    ),
    (
        "fdatasync is cheaper than fsync for an append",
        time::fdatasync_is_cheaper,
    ),
    (
        "write and fsync cost the same whatever is written",
        time::size_does_not_matter,
    ),
    (
        "O_SYNC asks the device for what write and fsync ask, O_DSYNC and RWF_DSYNC for what \
         write and fdatasync ask",
        device::flags_equal_calls,
    ),
    (
        "sync_file_range makes data durable",
        device::sync_file_range_is_durable,
    ),
    (
        "group commit divides the cost of fsync",
        time::group_commit_divides,
    ),
    (
        "small records pay for the system call, large ones for the copy: the larger the record, \
         the less a flush after each one adds",
        time::large_records_hide_the_flush,
    ),
    (
        "what the program writes is what the device writes",
        device::writes_are_not_amplified,
    ),
];

/// Judges the experiment's claims on its rows.
///
/// A claim about rows that were not measured on any target is not made: who asks for
/// two modes gets no verdicts on the other eight.
pub fn answers(result: &BufferingResult) -> Vec<Answer> {
    judge::answers(&CLAIMS, &TargetRows::of(result), |target| target.name)
}

#[cfg(test)]
mod tests {
    use super::fixture::{Made, result};
    use super::*;
    use crate::answer::Verdict;
    use crate::buffering::Mode;
    use crate::environment::Target;
    use crate::lab::MeasuredTarget;

    const FSYNC_COSTS_MORE: usize = 2;

    fn judged(made: Vec<Made>) -> Answer {
        let claim = CLAIMS[FSYNC_COSTS_MORE].0;
        let mut answers = answers(&result(made)).into_iter();
        answers.find(|answer| answer.claim == claim).unwrap()
    }

    fn pair(target: &'static str, fsync_us: f64) -> [Made; 2] {
        [
            Made::new(Mode::Flush, 1)
                .on(target)
                .timed(&[1.0, 1.1, 1.2, 1.3, 1.4]),
            Made::new(Mode::Fsync, 1).on(target).timed(&[
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
        let lone = vec![Made::new(Mode::Flush, 1).on("host").timed(&[1.0; 5])];
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
        let one = vec![Made::new(Mode::Flush, 1).on("host").timed(&[1.0; 5])];
        assert!(answers(&result(one)).is_empty());
    }

    #[test]
    fn nothing_is_claimed_about_a_device_that_is_not_there() {
        let made = [Mode::Flush, Mode::Fsync]
            .map(|mode| Made::new(mode, 1).on("host").asking([0; 5]))
            .to_vec();
        let mut result = result(made);
        let on_disk = answers(&result).len();
        result.targets = vec![MeasuredTarget {
            name: "host".to_owned(),
            image: false,
            storage: Target {
                path: "/dev/shm".to_owned(),
                filesystem: "tmpfs".to_owned(),
                mount_options: String::new(),
                journal: None,
                devices: Vec::new(),
            },
        }];
        assert!(answers(&result).len() < on_disk);
    }

    #[test]
    fn missing_evidence_is_named() {
        let made = [Mode::Flush, Mode::Fsync].map(|mode| Made::new(mode, 1).on("host"));
        let answer = judged(made.to_vec());
        assert_eq!(answer.verdict, Verdict::Inconclusive);
        assert!(
            answer.because.contains("no timing run"),
            "{}",
            answer.because
        );
    }
}
