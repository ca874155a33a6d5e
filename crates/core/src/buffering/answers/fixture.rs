//! Rows made by hand for the tests of the judges.

use super::{CLAIMS, targets};
use crate::buffering::{BufferingResult, BufferingRow, Case, Mode, Seen, Step, Timeline};
use crate::judge::fixture::{self, Made, row};
use crate::judge::{Finding, Missing};
use crate::lab::Row;

impl Made for Case {
    fn units(&self) -> u64 {
        self.count
    }
}

/// A row of 1,000 records.
pub(in crate::buffering) fn made(mode: Mode, size_bytes: u64) -> Row<Case> {
    row(Case {
        mode,
        size_bytes,
        count: 1000,
    })
}

impl Row<Case> {
    pub(in crate::buffering) fn records(mut self, count: u64) -> Self {
        self.case.count = count;
        self
    }
}

/// A result of these rows.
pub(in crate::buffering) fn result(made: Vec<Row<Case>>) -> BufferingResult {
    let rows = made.into_iter().map(|row| BufferingRow::new(row, None));
    fixture::result(rows.collect(), Seen::default())
}

/// The verdict of these rows on a claim, named by a part of its text.
pub(super) fn judge(claim: &str, made: Vec<Row<Case>>) -> Result<Finding, Missing> {
    judged(claim, &result(made))
}

pub(super) fn judged(claim: &str, result: &BufferingResult) -> Result<Finding, Missing> {
    fixture::judge(&CLAIMS, claim, &targets(result))
}

/// A timeline on `host` of (action, bytes written, bytes visible).
pub(super) fn timeline(mode: Mode, size_bytes: u64, steps: &[(&str, u64, u64)]) -> Timeline {
    let step = |(action, written_bytes, visible_bytes): &(&str, u64, u64)| Step {
        action: (*action).to_owned(),
        written_bytes: *written_bytes,
        visible_bytes: *visible_bytes,
        durable_bytes: None,
    };
    let steps = steps.iter().map(step).collect();
    Timeline {
        mode,
        target: "host".to_owned(),
        size_bytes,
        steps,
    }
}
