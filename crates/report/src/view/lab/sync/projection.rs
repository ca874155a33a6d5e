//! What other devices would give, beside how well the model meets this one.

use iostrata_core::sync::{Figures, Projection};

use super::view::{Numbered, View};
use crate::format::{NOT_APPLICABLE, microseconds, number, or_not_seen};
use crate::view::lab::facts::distinct;
use crate::view::page::{Page, Tone};
use crate::view::table::{Column, Table};

pub(super) fn draw(page: &mut Page, view: &mut View<'_>) {
    let all = &view.result.projections;
    let others: Vec<&Projection> = all.iter().filter(|one| one.error.is_none()).collect();
    if !others.is_empty() {
        page.heading(
            "projection",
            "projection, not measured: syncs a second of one writer on other devices",
        );
        let left_out = devices(view, &others)
            .named("projected syncs a second")
            .draw(page);
        view.unshown.add("the projections", left_out);
        page.styled(
            0,
            "from the requests that one sync makes here: each cause of write and each flush is \
             waited for; --json and `iostrata explain sync` have the sources of the latencies \
             and what is assumed",
            Tone::Quiet,
        );
    }
    let checks: Vec<&Projection> = all.iter().filter(|one| one.error.is_some()).collect();
    if !checks.is_empty() {
        page.blank();
        let left_out = check(view, &checks)
            .named("check of the projection")
            .draw(page);
        view.unshown.add("the check of the projections", left_out);
    }
}

/// Devices one below the other, a column for each row that was projected.
fn devices(view: &View<'_>, projections: &[&Projection]) -> Table {
    let devices: Vec<&Figures> = distinct(projections.iter().map(|one| &one.device));
    let rows = distinct(projections.iter().map(|one| one.row));
    let figure = |value: fn(&Figures) -> Option<f64>, text: fn(f64) -> String| {
        let cells = devices
            .iter()
            .map(move |device| value(device).map_or_else(|| NOT_APPLICABLE.to_owned(), text));
        cells.collect::<Vec<String>>()
    };
    let mut columns = vec![
        Column::label("device", devices.iter().map(|device| device.name.clone())),
        Column::number(
            "write µs",
            figure(|device| Some(device.write_s), microseconds),
        ),
        Column::number(
            "flush µs",
            figure(|device| Some(device.flush_s), microseconds),
        ),
        Column::number("IOPS", figure(|device| device.iops, number)).rank(1),
    ];
    for row in rows {
        let target = view.rows.which(|known| known.number == row);
        let name = target.first().map_or("", |known| known.target());
        let cells = devices.iter().map(|device| {
            let found = projections
                .iter()
                .find(|one| one.row == row && one.device == **device);
            or_not_seen(found.map(|one| one.syncs_per_s), number)
        });
        columns.push(Column::number(&format!("{name} [{row}]"), cells));
    }
    Table::new(0, columns)
}

/// The measured device projected: where the model is right, and where it is not.
fn check(view: &View<'_>, checks: &[&Projection]) -> Table {
    let in_full = view.rows.in_full();
    let mut others: Vec<&str> = Vec::new();
    let mut drawn: Vec<(&Projection, Numbered<'_>)> = Vec::new();
    for &check in checks {
        for row in view.rows.which(|row| row.number == check.row) {
            if in_full.contains(&row.target()) || !others.contains(&row.target()) {
                others.push(row.target());
                drawn.push((check, row));
            }
        }
    }
    let name =
        |(_, row): &(&Projection, Numbered<'_>)| format!("{} on {}", row.name(), row.target());
    let names: Vec<String> = drawn.iter().map(name).collect();
    let checks: Vec<&Projection> = drawn.iter().map(|(check, _)| *check).collect();
    Table::new(
        0,
        vec![
            Column::row_numbers(checks.iter().map(|one| one.row)),
            Column::label("check: this device", names),
            Column::number(
                "write µs",
                checks.iter().map(|one| microseconds(one.device.write_s)),
            )
            .rank(2),
            Column::number(
                "flush µs",
                checks.iter().map(|one| microseconds(one.device.flush_s)),
            )
            .rank(2),
            Column::number(
                "projected/s",
                checks.iter().map(|one| number(one.syncs_per_s)),
            ),
            Column::number(
                "measured/s",
                checks
                    .iter()
                    .map(|one| or_not_seen(one.measured_per_s, number)),
            ),
            Column::number(
                "error",
                checks
                    .iter()
                    .map(|one| or_not_seen(one.error, |error| format!("{:+.0} %", error * 100.0))),
            ),
        ],
    )
}
