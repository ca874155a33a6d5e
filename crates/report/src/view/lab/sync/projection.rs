//! Projections for other devices, and how well the model fits this one.

use iostrata_core::sync::{Figures, Projection, SyncResult, withheld};

use super::{Numbered, View};
use crate::format::{join, microseconds, number};
use crate::view::lab::view::distinct;
use crate::view::page::{Page, Tone};
use crate::view::section::SectionId;
use crate::view::table::{Cell, Column, Rows, Table};

pub(super) fn draw(page: &mut Page, result: &SyncResult, view: &mut View<'_>) {
    let all = &result.own.projections;
    let others: Vec<&Projection> = all.iter().filter(|one| one.error.is_none()).collect();
    if !others.is_empty() {
        let title = "projection, not measured: syncs per second of one writer on other devices";
        page.heading(SectionId::Projection, title);
        let table = devices(view, &others).named("projected syncs per second");
        view.draw(page, "the projections", table);
        let text = "from the requests of one sync here, each kind of write and each flush waited for \
             in turn; --json and `iostrata explain sync` list the sources of the latencies and the \
             assumptions";
        page.styled(0, text, Tone::Quiet);
    }
    let checks: Vec<&Projection> = all.iter().filter(|one| one.error.is_some()).collect();
    if !checks.is_empty() {
        page.blank();
        let table = check(view, &checks).named("check of the projection");
        view.draw(page, "the check of the projections", table);
    }
    if let Some(text) = missed(all) {
        page.styled(0, &text, Tone::Quiet);
    }
}

/// Rows that are not projected, and why.
fn missed(all: &[Projection]) -> Option<String> {
    let missed = all.iter().filter(|one| withheld(all, one.row).is_some());
    let rows =
        missed.filter_map(|one| Some(format!("row {} ({:+.0} %)", one.row, one.error? * 100.0)));
    let rows = join(rows, ", ");
    (!rows.is_empty()).then(|| {
        format!(
            "not projected to other devices, because this check is off by more than 30 %: {rows}"
        )
    })
}

/// Devices one below the other, a column for each row that was projected.
fn devices(view: &View<'_>, projections: &[&Projection]) -> Table {
    let devices: Vec<&Figures> = distinct(projections.iter().map(|one| &one.device));
    let mut rows = Rows::of(&devices)
        .label("device", |device| device.name.as_str())
        .number("write µs", |device| microseconds(device.write_s))
        .number("flush µs", |device| microseconds(device.flush_s))
        .number("IOPS", |device| Cell::applicable(device.iops, number))
        .rank(1);
    for row in distinct(projections.iter().map(|one| one.row)) {
        let target = view.which(|known| known.facts.number == row);
        let name = target.first().map(Numbered::where_at).unwrap_or_default();
        rows = rows.number(&format!("{name} [{row}]"), |device| {
            let mut known = projections.iter();
            let found = known.find(|one| one.row == row && one.device == **device);
            Cell::seen(found.map(|one| one.syncs_per_s), number)
        });
    }
    rows.table(0)
}

/// The measured device projected: where the model is right, and where it is not.
fn check(view: &View<'_>, checks: &[&Projection]) -> Table {
    let in_full = view.in_full();
    let mut others: Vec<&str> = Vec::new();
    let mut drawn: Vec<(&Projection, Numbered<'_>)> = Vec::new();
    for &check in checks {
        for row in view.which(|row| row.facts.number == check.row) {
            if in_full.contains(&row.facts.target) || !others.contains(&row.facts.target) {
                others.push(row.facts.target);
                drawn.push((check, row));
            }
        }
    }
    Rows::of(&drawn)
        .and([Column::row_numbers(
            drawn.iter().map(|(check, _)| check.row),
        )])
        .label("check: this device", |(_, row)| row.place())
        .number("write µs", |(check, _)| microseconds(check.device.write_s))
        .rank(2)
        .number("flush µs", |(check, _)| microseconds(check.device.flush_s))
        .rank(2)
        .number("projected/s", |(check, _)| number(check.syncs_per_s))
        .number("measured/s", |(check, _)| {
            Cell::seen(check.measured_per_s, number)
        })
        .number("error", |(check, _)| {
            Cell::seen(check.error, |error| format!("{:+.0} %", error * 100.0))
        })
        .table(0)
}
