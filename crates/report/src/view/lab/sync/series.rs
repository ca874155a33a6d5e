//! Runs second by second, and whether their rate is steady.

use iostrata_core::sync::Second;

use super::{Numbered, View};
use crate::fields::{Group, lab};
use crate::format::number;
use crate::view::page::Page;
use crate::view::section::SectionId;
use crate::view::table::{Column, Table};

/// Fewer seconds than this are no series.
const FEWEST: usize = 2;

/// The series of the targets that are drawn in full; of the others, whether they are steady.
pub(super) fn draw(page: &mut Page, view: &mut View<'_>) {
    let in_full = view.in_full();
    let series = view.which(|row| row.row.series.seconds.len() >= FEWEST);
    if series.is_empty() {
        return;
    }
    page.heading(SectionId::Seconds, "per second, observed");
    let first = series
        .iter()
        .position(|row| in_full.contains(&row.target()));
    for (position, row) in series.iter().enumerate() {
        if first == Some(position) || (view.extent.all_rows() && in_full.contains(&row.target())) {
            let table = table(row).named(format!("per second, {}", row.place()));
            view.draw(page, &format!("the seconds of row {}", row.number), table);
        }
    }
    for row in &series {
        if let Some(text) = steadiness(row) {
            page.paragraph(2, &text);
        }
    }
}

fn table(row: &Numbered<'_>) -> Table {
    let seconds = &row.row.series.seconds;
    let mut columns = vec![Column::label(
        &row.place(),
        (1..=seconds.len()).map(|second| format!("second {second}")),
    )];
    let seconds: Vec<&Second> = seconds.iter().collect();
    columns.extend(lab::second().columns(&[Group::Seconds], &seconds));
    Table::new(0, columns)
}

fn steadiness(row: &Numbered<'_>) -> Option<String> {
    let series = &row.row.series;
    let found = series.steadiness?;
    // Adding 0 makes −0 a 0.
    let percent = |share: f64| format!("{:.0} %", (share * 100.0).round() + 0.0);
    let figures = format!(
        "{} syncs/s, range {}, slope {}",
        number(found.mean_per_s),
        percent(found.range),
        percent(found.slope)
    );
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
