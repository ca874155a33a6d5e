//! `lab sync`: the answers, then the tables they rest on, then how they were made and
//! what is missing.

mod projection;
mod series;
mod storage;

use iostrata_core::bytes::exact;
use iostrata_core::sync::{SyncCall, SyncResult, SyncRow, Write};

use super::comparison::{self, Compared};
use super::rows::{self, Tables};
use super::view::{self, RANGES};
use super::{Extent, Frame, notes};
use crate::fields::{Group, lab};
use crate::lab::Named;
use crate::view::page::{Page, Tone};

type View<'a> = view::View<'a, SyncRow>;
type Numbered<'a> = view::Numbered<'a, SyncRow>;

/// The syncs that are compared.
const COMPARED: [(SyncCall, Write); 3] = [
    (SyncCall::Fsync, Write::Append),
    (SyncCall::Fsync, Write::Preallocated),
    (SyncCall::Fdatasync, Write::Overwrite),
];

/// Adds what is below the experiment's heading.
pub(super) fn draw<'a>(page: &mut Page, frame: &Frame<'a>, result: &'a SyncResult, extent: Extent) {
    let mut view = View::of(&frame.whole, &result.rows, lab::sync(), extent);
    storage::draw(page, result);
    frame.answers(page);
    let tables = Tables {
        names: ["rates and latencies", "device I/O"],
        head: "per sync",
        times: |view, head, rows| view.table(head, rows, [], &[Group::Times]),
    };
    rows::draw(page, &mut view, &tables);
    let compared = Compared {
        per: "per sync",
        is_usual: |row: &SyncRow| {
            let case = &row.row.case;
            case.writers == 1 && COMPARED.contains(&(case.call, case.write))
        },
        order: |_| 0,
        heads: |row| (row.title(), row.title()),
    };
    comparison::draw(page, &mut view, &result.answers, &compared);
    legend(page, &view);
    series::draw(page, &mut view);
    projection::draw(page, result, &mut view);
    notes(page, &view);
    frame.made(page, &view);
}

/// The meaning of the columns of both tables.
fn legend(page: &mut Page, view: &View<'_>) {
    if view.shown().is_empty() {
        return;
    }
    page.blank();
    page.styled(
        0,
        "latency: from the end of one sync to the end of the next, including the write, in µs; a \
         percentile is shown if at least ten syncs lie beyond it; append: the file grows; \
         overwrite: its blocks were written before; preallocated: its blocks were allocated but \
         never written; × 8: eight concurrent writers, each with its own file",
        Tone::Quiet,
    );
    let seen = |row: &Numbered<'_>| row.row.per_sync.flushes.is_some();
    if view.shown().iter().any(seen) {
        page.styled(
            0,
            "per sync: write requests to the device, by cause, flushes of its cache, and bytes \
             written",
            Tone::Quiet,
        );
    }
    if view.has_ranges() {
        page.styled(0, RANGES, Tone::Quiet);
    }
}

impl Named for SyncRow {
    /// `fsync append`, with the number of writers where there are several.
    fn name(&self) -> String {
        let case = &self.row.case;
        let several = match case.writers {
            1 => String::new(),
            writers => format!(" × {writers}"),
        };
        format!("{} {}{several}", case.call.as_str(), case.write.as_str())
    }

    /// `1 KiB a write`.
    fn title(&self) -> String {
        format!("{} a write", exact(self.row.case.size_bytes))
    }
}

#[cfg(test)]
mod tests;
