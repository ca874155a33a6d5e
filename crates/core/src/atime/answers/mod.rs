//! The verdicts of the experiment, computed from its rows.
//!
//! Claims about what moves an access time are judged on all file systems together, since
//! one that differs contradicts them. Claims about cost are judged on each target.

mod cost;
mod moves;

use super::AtimeResult;
use crate::answer::Answer;

/// Judges the experiment's claims on its rows, probes and comparisons. A claim about rows
/// that were not measured is not made.
pub fn answers(result: &AtimeResult) -> Vec<Answer> {
    let mut answers = moves::answers(result);
    answers.extend(cost::answers(result));
    answers
}
