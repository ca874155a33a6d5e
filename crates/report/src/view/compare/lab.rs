//! The rows of two lab results.

use iostrata_core::compare::{Comparison, Row, Whole};

use super::{counts, more};
use crate::compared::{Listed, row_counts, row_name, rows};
use crate::fields::Group;
use crate::fields::compare::{row, whole};
use crate::format::counted;
use crate::view::page::Page;
use crate::view::table::Table;

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
    let wholes = comparison.lab.iter().flat_map(|lab| &lab.experiments);
    let wholes: Vec<&Whole> = wholes.collect();
    let rounds = match comparison.further.as_slice() {
        [] => Group::Rounds,
        _ => Group::Pairs,
    };
    page.blank();
    Table::new(2, whole().columns(&[Group::Page, rounds], &wholes)).draw(page);
    let paired: usize = comparison.lab.iter().map(|lab| lab.rows.len()).sum();
    page.paragraph(2, &format!("{} paired", counted(paired, "row")));
}

fn table(page: &mut Page, rows: &[&Row]) {
    Table::new(2, row().columns(&[Group::Both, Group::Page], rows)).draw(page);
}
