//! `lab buffering`: the answers, then the tables they rest on, then how they were
//! made and what is missing.

mod memory;
mod runtimes;
mod timeline;

use iostrata_core::buffering::{BufferingResult, BufferingRow, Mode};
use iostrata_core::bytes::{exact, grouped};

use super::comparison::{self, Compared};
use super::rows::{self, Tables};
use super::view::{self, RANGES, medians};
use super::{Extent, Frame, notes};
use crate::fields::{Group, lab};
use crate::format::Seconds;
use crate::lab::Named;
use crate::view::cell::Cell;
use crate::view::page::{Page, Tone};
use crate::view::table::{Column, Table};

type View<'a> = view::View<'a, BufferingRow>;
type Numbered<'a> = view::Numbered<'a, BufferingRow>;

/// The syncs that are compared: after each record, after each without the times
/// of the file, and inside the write.
const SYNCS: [Mode; 3] = [Mode::Fsync, Mode::Fdatasync, Mode::ODsync];

/// Adds what is below the experiment's heading.
pub(super) fn draw<'a>(
    page: &mut Page,
    frame: &Frame<'a>,
    result: &'a BufferingResult,
    extent: Extent,
) {
    let mut view = View::of(&frame.whole, &result.rows, lab::buffering(), extent);
    frame.answers(page);
    let tables = Tables {
        names: ["times and system calls", "device I/O"],
        head: "per write",
        times: in_seconds,
    };
    let counted = rows::draw(page, &mut view, &tables);
    let compared = Compared {
        per: "per write",
        is_usual: |row: &BufferingRow| SYNCS.contains(&row.row.case.mode),
        order,
        heads: |row| {
            let size = exact(row.row.case.size_bytes);
            (format!("of {size}"), format!("per write of {size}"))
        },
    };
    comparison::draw(page, &mut view, &result.answers, &compared);
    legend(page, &view, counted);
    timeline::draw(page, result);
    runtimes::draw(page, result, &mut view);
    memory::draw(page, &mut view);
    notes(page, &view);
    frame.made(page, &view);
}

/// Modes stand in their own order.
fn order(row: &BufferingRow) -> usize {
    let mode = row.row.case.mode;
    Mode::ALL.iter().take_while(|other| **other != mode).count()
}

/// Times with the decimals that the shortest one needs.
fn in_seconds<'a>(view: &View<'a>, head: &str, rows: &[Numbered<'a>]) -> Table {
    let timings = rows.iter().map(Numbered::timing);
    let times = timings.clone().flatten();
    let seconds = Seconds::showing(times.map(|timing| timing.median_s));
    let text = |time_s| seconds.text(time_s);
    let user = timings
        .clone()
        .map(|timing| Cell::seen(timing, |timing| text(timing.user_s)));
    let system = timings
        .clone()
        .map(|timing| Cell::seen(timing, |timing| text(timing.system_s)));
    let (user, system) = (
        Column::number("user s", user),
        Column::number("system s", system),
    );
    let [real, interval] = medians("real s", timings, text);
    view.table(head, rows, [real, interval, user, system], &[Group::Times])
}

/// The meaning of the columns of both tables.
fn legend(page: &mut Page, view: &View<'_>, counted: bool) {
    if view.shown().is_empty() {
        return;
    }
    page.blank();
    if counted {
        let text = "per write: pages dirtied in the page cache; then write requests to the \
                    device, by cause, and flushes of its cache; device B: bytes of those \
                    requests; bytes ×: those bytes relative to the record; later B: bytes \
                    written to the device only after the program had ended";
        page.styled(0, text, Tone::Quiet);
    }
    if view.has_ranges() {
        page.styled(0, RANGES, Tone::Quiet);
    }
}

impl Named for BufferingRow {
    fn name(&self) -> String {
        self.row.case.mode.as_str().to_owned()
    }

    /// `2,000 × 1 B`.
    fn title(&self) -> String {
        let case = &self.row.case;
        format!("{} × {}", grouped(case.count), exact(case.size_bytes))
    }
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
