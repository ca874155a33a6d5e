//! Projections for other devices, and how well the model fits this one.

use iostrata_core::sync::{Figures, Projection, SyncResult, withheld};

use super::{Numbered, View};
use crate::format::{microseconds, number};
use crate::view::lab::view::distinct;
use crate::view::page::{Page, Tone};
use crate::view::section::SectionId;
use crate::view::table::{Cell, Column, Table};

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
    let missed = all
        .iter()
        .filter(|one| one.error.is_some() && withheld(all, one.row).is_some());
    let rows: Vec<String> = missed
        .filter_map(|one| Some(format!("row {} ({:+.0} %)", one.row, one.error? * 100.0)))
        .collect();
    (!rows.is_empty()).then(|| {
        format!(
            "not projected to other devices, because this check is off by more than 30 %: {}",
            rows.join(", ")
        )
    })
}

/// Devices one below the other, a column for each row that was projected.
fn devices(view: &View<'_>, projections: &[&Projection]) -> Table {
    let devices: Vec<&Figures> = distinct(projections.iter().map(|one| &one.device));
    let times = |head: &str, time_s: fn(&Figures) -> f64| {
        let times = devices.iter().map(|device| microseconds(time_s(device)));
        Column::number(head, times)
    };
    let rates = devices
        .iter()
        .map(|device| Cell::applicable(device.iops, number));
    let mut columns = vec![
        Column::label("device", devices.iter().map(|device| device.name.as_str())),
        times("write µs", |device| device.write_s),
        times("flush µs", |device| device.flush_s),
        Column::number("IOPS", rates).rank(1),
    ];
    for row in distinct(projections.iter().map(|one| one.row)) {
        let target = view.which(|known| known.facts.number == row);
        let name = target.first().map(Numbered::where_at).unwrap_or_default();
        let cells = devices.iter().map(|device| {
            let found = projections
                .iter()
                .find(|one| one.row == row && one.device == **device);
            Cell::seen(found.map(|one| one.syncs_per_s), number)
        });
        columns.push(Column::number(&format!("{name} [{row}]"), cells));
    }
    Table::new(0, columns)
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
    let figures = |head: &str, value: fn(&Projection) -> Option<f64>, text: fn(f64) -> String| {
        let cells = drawn
            .iter()
            .map(|(check, _)| Cell::seen(value(check), text));
        Column::number(head, cells)
    };
    Table::new(
        0,
        vec![
            Column::row_numbers(drawn.iter().map(|(check, _)| check.row)),
            Column::label(
                "check: this device",
                drawn.iter().map(|(_, row)| row.place()),
            ),
            figures("write µs", |one| Some(one.device.write_s), microseconds).rank(2),
            figures("flush µs", |one| Some(one.device.flush_s), microseconds).rank(2),
            figures("projected/s", |one| Some(one.syncs_per_s), number),
            figures("measured/s", |one| one.measured_per_s, number),
            figures(
                "error",
                |one| one.error,
                |error| format!("{:+.0} %", error * 100.0),
            ),
        ],
    )
}
