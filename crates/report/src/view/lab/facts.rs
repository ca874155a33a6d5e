//! What the rows of every experiment have in common.

use iostrata_core::evidence::Evidence;
use iostrata_core::lab::{Interference, Row};
use iostrata_core::timing::Timing;

use crate::view::table::LeftOut;

/// What the row of any experiment has, with the number by which answers cite it.
#[derive(Clone, Copy)]
pub(super) struct Facts<'a> {
    pub(super) number: usize,
    pub(super) timing: Option<&'a Timing>,
    pub(super) evidence: &'a Evidence,
    pub(super) interference: &'a Interference,
    pub(super) notes: &'a [String],
}

impl<'a> Facts<'a> {
    pub(super) fn of<C>(number: usize, row: &'a Row<C>) -> Self {
        Self {
            number,
            timing: row.timing.as_ref(),
            evidence: &row.evidence,
            interference: &row.interference,
            notes: &row.notes,
        }
    }
}

/// What the tables of an experiment did not show.
#[derive(Default)]
pub(super) struct Unshown {
    /// Columns without any value, and where.
    pub(super) columns: Vec<(String, String)>,
    /// Columns that the page is too narrow for.
    pub(super) no_room: Vec<String>,
}

impl Unshown {
    /// Notes what a table left out. `place` says which table it was.
    pub(super) fn add(&mut self, place: &str, left_out: LeftOut) {
        for head in left_out.unseen {
            let entry = (head, place.to_owned());
            if !self.columns.contains(&entry) {
                self.columns.push(entry);
            }
        }
        for head in left_out.no_room {
            if !self.no_room.contains(&head) {
                self.no_room.push(head);
            }
        }
    }
}

/// Each value once, where it comes first.
pub(super) fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.fold(Vec::new(), |mut seen, value| {
        if !seen.contains(&value) {
            seen.push(value);
        }
        seen
    })
}
