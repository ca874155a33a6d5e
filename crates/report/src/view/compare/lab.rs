//! The rows of two lab results.

use iostrata_core::compare::{Comparison, Row};

use super::{counts, more};
use crate::compared::{
    Listed, busy, factor, interval, or_dash, row_counts, row_name, rows, seconds, visible,
};
use crate::format::counted;
use crate::view::page::Page;
use crate::view::table::{Column, Table};

pub(super) fn draw(page: &mut Page, comparison: &Comparison, all: bool) {
    experiments(page, comparison);
    let changed = rows(comparison, all);
    let title = if all {
        "rows"
    } else {
        "rows that differ by themselves"
    };
    if !changed.is_empty() {
        page.heading("rows", title);
        let listed = Listed::of(changed, all);
        table(page, &listed.shown);
        more(page, listed.more);
    }
    let (differing, below) = row_counts(comparison, all);
    let named = differing
        .into_iter()
        .map(|(row, count)| (row_name(row), count));
    let listed = Listed::of(named, all);
    if !listed.shown.is_empty() {
        counts(
            page,
            "counts that differ",
            "row",
            &listed.shown,
            listed.more,
        );
    }
    if let Some(below) = below {
        page.blank();
        page.paragraph(0, &below);
    }
}

fn experiments(page: &mut Page, comparison: &Comparison) {
    let wholes = || comparison.lab.iter().flat_map(|lab| &lab.experiments);
    let time = |text: fn(&_) -> String| wholes().map(move |one| or_dash(one.time.as_ref(), text));
    let rounds = match comparison.further.as_slice() {
        [] => "rounds",
        _ => "pairs",
    };
    page.blank();
    let columns = vec![
        Column::label("experiment", wholes().map(|one| one.id.clone())),
        Column::number("timed rows", wholes().map(|one| one.timed.to_string())).rank(3),
        Column::number(
            rounds,
            time(|time: &iostrata_core::compare::Change| time.rounds.to_string()),
        )
        .rank(3),
        Column::number("times as long", time(|time| factor(time.ratio))),
        Column::number("interval", time(interval)),
        Column::number("visible from", time(visible)).rank(1),
        Column::number("others' CPUs", wholes().map(|one| busy(one.others_cpus))).rank(2),
        Column::text("", wholes().map(|one| one.judgement.as_str().to_owned())),
    ];
    Table::new(2, columns).draw(page);
    let paired: usize = comparison.lab.iter().map(|lab| lab.rows.len()).sum();
    page.paragraph(2, &format!("{} paired", counted(paired, "row")));
}

fn table(page: &mut Page, rows: &[&Row]) {
    let time =
        |text: fn(&_) -> String| rows.iter().map(move |row| or_dash(row.time.as_ref(), text));
    let columns = vec![
        Column::label("row", rows.iter().map(|row| row_name(row))),
        Column::number(
            "base",
            rows.iter().map(|row| seconds(row, row.median_s.base)),
        )
        .rank(1),
        Column::number("new", rows.iter().map(|row| seconds(row, row.median_s.new))).rank(1),
        Column::number("times", time(|time| factor(time.ratio))),
        Column::number("interval", time(interval)),
        Column::number("visible from", time(visible)).rank(2),
        Column::text("", rows.iter().map(|row| row.judgement.as_str().to_owned())),
    ];
    Table::new(2, columns).draw(page);
}
