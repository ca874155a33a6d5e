//! The rows of two lab results.

use iostrata_core::compare::{Comparison, Row, Whole};

use super::{Extent, counts, more};
use crate::compared::{Listed, Names, of_ratios, paired, row_counts, rows};
use crate::fields::Group;
use crate::fields::compare::{DETECTABLE, row, whole};
use crate::view::page::{Page, Tone};
use crate::view::section::SectionId;
use crate::view::table::{Column, Table};

pub(super) fn draw(page: &mut Page, comparison: &Comparison, extent: Extent) {
    let names = Names::of(comparison);
    experiments(page, comparison, extent);
    page.heading(SectionId::Rows, &paired(comparison));
    let listed = Listed::of(rows(comparison), extent.most());
    table(page, &names, &listed.shown);
    if let Some(text) = of_ratios(&listed.shown) {
        page.styled(2, text, Tone::Quiet);
    }
    more(page, listed.more);
    let (differing, below) = row_counts(comparison, extent.is_all());
    let named = differing
        .into_iter()
        .map(|(row, count)| (names.name(row), count));
    let listed = Listed::of(named, extent.most());
    if !listed.shown.is_empty() {
        let title = "counts that differ";
        counts(page, title, "row", &listed.shown, listed.more);
    }
    if let Some(below) = below {
        page.blank();
        page.paragraph(0, &below);
    }
}

/// The lines above describe a single experiment.
fn experiments(page: &mut Page, comparison: &Comparison, extent: Extent) {
    let wholes = comparison.lab.iter().flat_map(|lab| &lab.experiments);
    let wholes: Vec<&Whole> = wholes.collect();
    if wholes.len() == 1 && !extent.is_all() {
        return;
    }
    let rounds = match comparison.further.as_slice() {
        [] => Group::Rounds,
        _ => Group::Pairs,
    };
    page.part(SectionId::Experiments, "experiments");
    page.blank();
    let groups = [Group::Both, Group::Page, rounds];
    Table::new(2, whole().columns(&groups, &wholes)).draw(page);
}

fn table(page: &mut Page, names: &Names, rows: &[&Row]) {
    let mut columns = vec![Column::label("row", rows.iter().map(|row| names.name(row)))];
    columns.extend(row().columns(&[Group::Both, Group::Page], rows));
    // If no row has a ratio, the times get its room, and the detectable change is stated above.
    let all = columns.len();
    columns.retain(Column::has_meaning);
    if columns.len() < all {
        columns.retain(|column| column.head != DETECTABLE);
        columns = columns.into_iter().map(|column| column.rank(0)).collect();
    }
    Table::new(2, columns).draw(page);
}
