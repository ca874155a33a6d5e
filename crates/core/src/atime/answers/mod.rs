//! The verdicts of the experiment, computed from its rows.
//!
//! Claims about what moves an access time are judged on all file systems together, since
//! one that differs contradicts them. Claims about cost are judged on each target.

mod cost;
mod moves;
mod replies;

use super::{AtimeResult, LoopRow};
use crate::answer::Answer;
use crate::judge::{self, By, Claim, claims};

pub use replies::replies;

type TargetRows<'a> = judge::TargetRows<'a, LoopRow, AtimeResult>;

/// The claims about cost, in the order they are printed.
const CLAIMS: [Claim<LoopRow, AtimeResult>; 7] = claims! {
    "reading files causes device writes: about one sector per file, the first time" =>
        By::Rows(cost::first_reading_writes);
    "under relatime, reading files again causes no further writes" =>
        By::Rows(cost::second_reading_writes_nothing);
    "a loop over one file shows what relatime costs" => By::Rows(cost::one_file_shows_the_cost);
    "noatime makes the loop over one file 12 % faster, as in the article" =>
        By::Rows(cost::as_in_the_article);
    "noatime makes reading changed files faster than relatime, their write-back included" =>
        By::Rows(cost::faster_at_first);
    "noatime makes reading files again faster than relatime" => By::Rows(cost::faster_again);
    "lazytime avoids the device writes of relatime" => By::Rows(cost::lazytime_spares_writes);
};

/// Judges the experiment's claims on its rows, probes and comparisons. A claim about rows
/// that were not measured is not made.
pub fn answers(result: &AtimeResult) -> Vec<Answer> {
    let targets = TargetRows::of(result, &result.targets, result.loops(), [].into_iter());
    let mut answers = moves::answers(result);
    answers.extend(judge::answers(&CLAIMS, targets));
    answers
}
