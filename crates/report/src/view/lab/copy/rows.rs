//! Every row: its time beside its limit, then what it asked of the kernel and the device.

use iostrata_core::bytes::exact;
use iostrata_core::copy::{CopyRow, Destination};
use iostrata_core::timing::Timing;

use super::{Numbered, View};
use crate::fields::Group;
use crate::format::milliseconds;
use crate::lab::Named;
use crate::view::cell::Cell;
use crate::view::lab::view::{RANGES, distinct, medians};
use crate::view::page::{Page, Tone};
use crate::view::section::SectionId;
use crate::view::table::{Column, Table};

/// The rows that are drawn, by file system, size and state.
pub(super) fn draw(page: &mut Page, view: &mut View<'_>) {
    let group = |row: &Numbered<'_>| {
        let case = &row.row.row.case;
        (
            row.target().to_owned(),
            case.size_bytes,
            case.source,
            case.durable,
        )
    };
    let several = view.targets().len() > 1;
    let shown = view.shown();
    page.part(SectionId::Rows, "every row");
    for wanted in distinct(shown.iter().map(group)) {
        let rows = shown.iter().copied();
        let rows: Vec<Numbered<'_>> = rows.filter(|row| group(row) == wanted).collect();
        let title = title(&rows[0], several);
        page.section(&title);
        let table = time(view, &rows).named(format!("times, {title}"));
        view.draw(page, &title, table);
        let table = view.counts("each copy", &rows);
        view.draw_below(page, &title, table.named(format!("counts, {title}")));
    }
    legend(page, view);
}

/// `100 MiB, warm source, to the page cache`.
fn title(row: &Numbered<'_>, several: bool) -> String {
    let case = &row.row.row.case;
    let place = if several {
        format!("on {}: ", row.target())
    } else {
        String::new()
    };
    let end = match (case.durable, case.destination) {
        (false, Destination::Fresh) => "to the page cache",
        (false, Destination::Existing) => "over an existing file, to the page cache",
        (true, Destination::Fresh) => "durable",
        (true, Destination::Existing) => "over an existing file, durable",
    };
    format!("{place}{}, {end}", row.title())
}

fn legend(page: &mut Page, view: &View<'_>) {
    if view.shown().is_empty() {
        return;
    }
    page.blank();
    let text = "of limit: time of the slowest step that such a copy needs (one copy in memory, or \
                reading from or writing to the device), measured alone, relative to the row's \
                time; — where nothing is copied, n/a where the step alone took longer than the \
                row. faults: page faults; user ×: how many times each byte was copied into or out \
                of the program's memory; device MiB and later MiB: written to the device while \
                the program ran, and afterwards";
    page.styled(0, text, Tone::Quiet);
    if view.has_ranges() {
        page.styled(0, RANGES, Tone::Quiet);
    }
}

fn time<'a>(view: &View<'a>, rows: &[Numbered<'a>]) -> Table {
    let timings = rows.iter().map(Numbered::timing);
    let cpu = |head: &str, time_s: fn(&Timing) -> f64| {
        let times = timings.clone();
        let cells = times.map(|timing| Cell::seen(timing, |timing| milliseconds(time_s(timing))));
        Column::number(head, cells).rank(2)
    };
    let user = cpu("user ms", |timing| timing.user_s);
    let system = cpu("system ms", |timing| timing.system_s);
    let [real, interval] = medians("real ms", timings.clone(), milliseconds);
    view.table(
        "method",
        rows,
        [real, interval, user, system],
        &[Group::Times],
    )
}

impl Named for CopyRow {
    /// `read_write 64 KiB`, `read_write whole file`, `sendfile`.
    fn name(&self) -> String {
        let case = &self.row.case;
        let method = case.method.as_str();
        match case.buffer_bytes {
            Some(_) if case.has_whole_buffer() => format!("{method} whole file"),
            Some(size) => format!("{method} {}", exact(size)),
            None => method.to_owned(),
        }
    }

    /// `100 MiB, warm source`.
    fn title(&self) -> String {
        let case = &self.row.case;
        let (size, source) = (exact(case.size_bytes), case.source.as_str());
        format!("{size}, {source} source")
    }
}
