//! Every row of a target: a table of times and of what the cache and the device did for each
//! size, and one of where the time went.

use iostrata_core::bytes::exact;
use iostrata_core::page_cache::{PageCacheRow, Parse, Reader};

use super::{Numbered, View};
use crate::fields::Group;
use crate::format::microseconds;
use crate::lab::Named;
use crate::view::lab::view::{RANGES, distinct, medians};
use crate::view::page::{Page, Tone};
use crate::view::section::SectionId;
use crate::view::table::Column;

pub(super) fn draw(page: &mut Page, view: &mut View<'_>, targets: &[&str]) {
    page.part(SectionId::Rows, "every row");
    for target in targets {
        let of_target =
            view.which(|row| row.target() == *target && row.row.row.case.parse == Parse::None);
        if of_target.is_empty() {
            continue;
        }
        if targets.len() > 1 {
            page.section(&format!("on {target}"));
        }
        for size in distinct(of_target.iter().map(Numbered::title)) {
            let rows = of_target.iter().copied();
            let rows: Vec<Numbered<'_>> = rows.filter(|row| row.title() == size).collect();
            page.blank();
            let times = medians("real µs", rows.iter().map(Numbered::timing), microseconds);
            let table = view.table(&size, &rows, times, &[Group::Times]);
            let table = table.named(format!("times, {size} on {target}"));
            view.draw(page, &format!("the rows of {target}"), table);
            let name = format!("time breakdown, {size} on {target}");
            let spent = view.counts("breakdown, µs", &rows).named(name);
            view.draw_below(page, &format!("the times of {target}"), spent);
        }
        latencies(page, view, &of_target);
        legend(page, view);
    }
}

fn legend(page: &mut Page, view: &View<'_>) {
    page.blank();
    let text = "cached %: pages of the file in the cache before and after (cachestat); device: \
                read requests and their bytes; waited, ahead: pages that a read waited for, and \
                pages brought in by read-ahead; copy and faults are estimates: the time to copy \
                as many bytes in memory, and the row's minor faults at the cost of one in a new \
                buffer of this size; blocked and on CPU are from the observed run";
    page.styled(0, text, Tone::Quiet);
    if view.has_ranges() {
        page.styled(0, RANGES, Tone::Quiet);
    }
}

fn latencies<'a>(page: &mut Page, view: &mut View<'a>, rows: &[Numbered<'a>]) {
    let mut rows = rows.to_vec();
    rows.retain(|row| {
        row.row.row.case.reader == Reader::PreadRandom && row.row.latency_s.is_some()
    });
    if rows.is_empty() {
        return;
    }
    page.heading(SectionId::RandomReads, "random 4 KiB reads, one at a time");
    let of = Column::label("of", rows.iter().map(Numbered::title));
    let table = view.table("µs", &rows, [of], &[Group::Latencies]);
    let table = table.named("latencies of random reads");
    view.draw(page, "the random reads", table);
}

impl Named for PageCacheRow {
    /// `cold read`, `warm read, json`.
    fn name(&self) -> String {
        let case = &self.row.case;
        let (state, reader) = (case.state.as_str(), case.reader.as_str());
        match case.parse {
            Parse::None => format!("{state} {reader}"),
            parse => format!("{state} {reader}, {}", parse.as_str()),
        }
    }

    fn title(&self) -> String {
        exact(self.row.case.size_bytes)
    }
}
