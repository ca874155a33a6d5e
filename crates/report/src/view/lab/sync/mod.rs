//! `lab sync`: the answers, then the tables they rest on, then how they were made and
//! what is missing.

mod projection;

use crate::view::section::SectionId;
use iostrata_core::bytes::exact;
use iostrata_core::environment::Device;
use iostrata_core::figures::percent;
use iostrata_core::lab::machine_of;
use iostrata_core::sync::{Second, SyncCall, SyncResult, SyncRow, Write};

use super::rows::{self, Compared, Tables};
use super::view::{self, distinct};
use super::{Extent, Frame, Named, notes};
use crate::fields::{Group, lab};
use crate::format::{join, number};
use crate::view::page::{GLUE, Page, SEPARATOR};
use crate::view::table::{Column, Table};

type View<'a> = view::View<'a, SyncRow>;
type Numbered<'a> = view::Numbered<'a, SyncRow>;

const COMPARED: [(SyncCall, Write); 3] = [
    (SyncCall::Fsync, Write::Append),
    (SyncCall::Fsync, Write::Preallocated),
    (SyncCall::Fdatasync, Write::Overwrite),
];

pub(super) fn draw<'a>(page: &mut Page, frame: &Frame<'a>, result: &'a SyncResult, extent: Extent) {
    let mut view = View::of(&frame.rows, &result.rows, lab::sync(), extent);
    storage(page, result);
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
    rows::compare(page, &mut view, &result.answers, &compared);
    legend(page, &view);
    series(page, &mut view);
    projection::draw(page, result, &mut view);
    notes(page, &view);
    frame.made(page, &view);
}

fn legend(page: &mut Page, view: &View<'_>) {
    if view.shown().is_empty() {
        return;
    }
    let text = "latency: from the end of one sync to the end of the next, including the write, in µs; \
         a percentile is shown if at least ten syncs lie beyond it; append: the file grows; \
         overwrite: its blocks were written before; preallocated: its blocks were allocated but \
         never written; × 8: eight concurrent writers, each with its own file";
    let of_requests = "per sync: write requests to the device, by cause, flushes of its cache, and \
         bytes written";
    let seen = |row: &Numbered<'_>| row.row.per_sync.requests.flushes.is_some();
    let texts = [text, of_requests];
    let told = if view.shown().iter().any(seen) { 2 } else { 1 };
    view.legend(page, &texts[..told]);
}

/// The disks under the measured file systems, and the settings that determine the work left for a
/// sync.
fn storage(page: &mut Page, result: &SyncResult) {
    let disks = result.targets.iter().flat_map(|target| {
        let devices = target.storage.devices.iter();
        devices.map(|disk| (machine_of(&target.name), disk))
    });
    // Images made by iostrata say nothing about the machine.
    let disks = disks.filter(|(_, disk)| !disk.name.starts_with("loop"));
    for (machine, disk) in distinct(disks) {
        let whose = machine.map(|machine| format!("{machine}: "));
        page.paragraph(0, &(whose.unwrap_or_default() + &identity(disk)));
    }
    let settings = result.settings.iter().flatten();
    let settings = settings.filter(|setting| setting.name.starts_with("vm."));
    let settings = settings.map(|one| format!("{} {}", one.name, one.value).replace(' ', GLUE));
    let settings = join(settings, SEPARATOR);
    if !settings.is_empty() {
        page.paragraph(0, &settings);
    }
}

/// `vda: no model · rotational · write cache write back · no FUA · scheduler mq-deadline`.
fn identity(disk: &Device) -> String {
    let known = |value: Option<bool>, yes: &str, no: &str, unknown: &str| {
        value
            .map_or(unknown, |is| if is { yes } else { no })
            .to_owned()
    };
    let text = |name: &str, value: &Option<String>| match value {
        Some(value) => format!("{name} {value}"),
        None => format!("{name} unknown"),
    };
    let words = [
        disk.model
            .clone()
            .unwrap_or_else(|| "model unknown".to_owned()),
        known(
            disk.rotational,
            "reports rotational=1",
            "reports rotational=0",
            "rotation unknown",
        ),
        text("write cache", &disk.write_cache),
        known(disk.fua, "FUA", "no FUA", "FUA unknown"),
        text("scheduler", &disk.scheduler),
    ];
    format!("{}: {}", disk.name, words.join(SEPARATOR))
}

/// Fewer seconds than this are no series.
const FEWEST: usize = 2;

/// The series of the targets that are drawn in full; of the others, whether they are steady.
fn series(page: &mut Page, view: &mut View<'_>) {
    let in_full = view.in_full();
    let series = view.which(|row| row.row.series.seconds.len() >= FEWEST);
    if series.is_empty() {
        return;
    }
    page.heading(SectionId::Seconds, "per second, observed");
    let first = series
        .iter()
        .position(|row| in_full.contains(&row.facts.target));
    for (position, row) in series.iter().enumerate() {
        if first == Some(position)
            || (view.extent.all_rows() && in_full.contains(&row.facts.target))
        {
            let table = seconds(row).named(format!("per second, {}", row.place()));
            view.draw(
                page,
                &format!("the seconds of row {}", row.facts.number),
                table,
            );
        }
    }
    for row in &series {
        if let Some(text) = steadiness(row) {
            page.paragraph(2, &text);
        }
    }
}

fn seconds(row: &Numbered<'_>) -> Table {
    let seconds = &row.row.series.seconds;
    let names = (1..=seconds.len()).map(|second| format!("second {second}"));
    let mut columns = vec![Column::label(&row.place(), names)];
    let seconds: Vec<&Second> = seconds.iter().collect();
    columns.extend(lab::second().columns(&[Group::Seconds], &seconds));
    Table::new(0, columns)
}

fn steadiness(row: &Numbered<'_>) -> Option<String> {
    let series = &row.row.series;
    let found = series.steadiness?;
    let (range, slope) = (percent(found.range), percent(found.slope));
    let mean = number(found.mean_per_s);
    let figures = format!("{mean} syncs/s, range {range}, slope {slope}");
    let name = row.place();
    let seconds = series.seconds.len();
    Some(match (found.steady, found.warm_up_seconds) {
        (true, 0) => format!("{name}: steady from the first of {seconds} seconds: {figures}"),
        (true, warm_up) => format!(
            "{name}: steady after {warm_up} of {seconds} seconds, which are excluded as warm-up: \
             {figures}"
        ),
        (false, _) => format!("{name}: not steady in {seconds} seconds: {figures}"),
    })
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
