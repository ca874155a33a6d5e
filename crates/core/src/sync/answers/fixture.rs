//! Rows made by hand for the tests of the judges.

use super::{CLAIMS, targets};
use crate::judge::fixture::{self, Made, row};
use crate::judge::{Finding, Missing};
use crate::lab::Row;
use crate::sync::{Case, Counted, Projected, SyncCall, SyncResult, SyncRow, Write};

/// Syncs of every run.
const SYNCS: u64 = 1000;

impl Made for Case {
    fn units(&self) -> u64 {
        SYNCS
    }
}

/// One writer's syncs of 1 KiB.
pub(in crate::sync) fn made(call: SyncCall, write: Write) -> Row<Case> {
    row(Case {
        call,
        write,
        ..Case::ARTICLE
    })
}

impl Row<Case> {
    pub(in crate::sync) fn writers(mut self, writers: u64) -> Self {
        self.case.writers = writers;
        self
    }

    /// Requests of others on the same disk during the observed run.
    pub(in crate::sync) fn among(mut self, other_requests: u64) -> Self {
        self.interference.other_requests = Some(other_requests);
        self
    }
}

/// A result of these rows.
pub(in crate::sync) fn result(made: Vec<Row<Case>>) -> SyncResult {
    let counted = || Counted {
        syncs_per_run: SYNCS,
        observed_syncs: SYNCS,
        ..Counted::default()
    };
    let rows = made.into_iter().map(|row| SyncRow::new(row, counted()));
    fixture::result(rows.collect(), Projected::default())
}

/// The verdict of these rows on a claim, named by a part of its text.
pub(super) fn judge(claim: &str, made: Vec<Row<Case>>) -> Result<Finding, Missing> {
    judged(claim, &result(made))
}

pub(super) fn judged(claim: &str, result: &SyncResult) -> Result<Finding, Missing> {
    fixture::judge(&CLAIMS, claim, &targets(result))
}
