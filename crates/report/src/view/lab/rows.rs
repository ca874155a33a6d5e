//! Every row of the targets that are drawn in full, in two tables for each kind of case, and the same
//! case on every file system, one below the other.

use iostrata_core::Answer;

use super::Named;
use super::view::{Numbered, View, distinct, names_on};
use crate::fields::Group;
use crate::view::page::Page;
use crate::view::section::SectionId;
use crate::view::table::Table;

pub(super) struct Tables<'a, R> {
    /// The contents of each table, and the head of the second one's names.
    pub(super) names: [&'static str; 2],
    pub(super) head: &'static str,
    /// Makes the first one under a head.
    pub(super) times: fn(&View<'a, R>, &str, &[Numbered<'a, R>]) -> Table,
}

/// Adds them. Says whether the second table has had anything to show.
pub(super) fn draw<'a, R: Named>(
    page: &mut Page,
    view: &mut View<'a, R>,
    tables: &Tables<'a, R>,
) -> bool {
    let several = view.targets().len() > 1;
    let titles = distinct(view.all().iter().map(Numbered::title));
    let mut counted = false;
    page.part(SectionId::Rows, "every row");
    for target in view.in_full() {
        if several {
            page.section(&format!("on {target}"));
        }
        for (position, title) in titles.iter().enumerate() {
            let rows = view.which(|row| row.facts.target == target && row.title() == *title);
            if rows.is_empty() {
                continue;
            }
            if !several || position > 0 {
                page.blank();
            }
            let place = format!("the rows of {target}");
            let [times, counts] = tables
                .names
                .map(|name| format!("{name}, {title} on {target}"));
            let table = (tables.times)(view, title, &rows).named(times);
            view.draw(page, &place, table);
            let table = view.counts(tables.head, &rows).named(counts);
            counted |= table.has_values();
            view.draw_below(page, &place, table);
            view.show(&rows);
        }
    }
    counted
}

/// The differences between experiments: the same case on every file system, one below the other.
pub(super) struct Compared<R> {
    /// Of what each file system is shown: `per sync`.
    pub(super) per: &'static str,
    /// Whether a row is compared also where no answer cites it.
    pub(super) is_usual: fn(&R) -> bool,
    /// Where a row's name stands.
    pub(super) order: fn(&R) -> usize,
    /// Head of the names of such rows, and what the table is called.
    pub(super) heads: fn(&R) -> (String, String),
}

/// Adds a table for each kind of case. Nothing when there is one file system, or when all its rows
/// are drawn anyway.
pub(super) fn compare<R: Named>(
    page: &mut Page,
    view: &mut View<'_, R>,
    answers: &[Answer],
    compared: &Compared<R>,
) {
    if !view.extent.compares() || view.targets().len() < 2 {
        return;
    }
    let titles = distinct(view.all().iter().map(Numbered::title));
    let tables = titles
        .iter()
        .map(|title| compared_rows(view, title, answers, compared));
    let tables: Vec<_> = tables.filter(|rows| !rows.is_empty()).collect();
    if tables.is_empty() {
        return;
    }
    let heading = format!("each file system, {}", compared.per);
    page.heading(SectionId::FileSystems, &heading);
    for (position, rows) in tables.into_iter().enumerate() {
        if position > 0 {
            page.blank();
        }
        let (head, of) = (compared.heads)(rows[0].row);
        let mut columns = names_on(&head, &rows);
        columns.extend(view.columns(&[Group::Compared, Group::Shared, Group::Cost], &rows));
        let table = Table::new(0, columns).named(format!("each file system, {of}"));
        view.draw(page, "the comparison of file systems", table);
        view.show(&rows);
    }
}

/// Rows with one title, by name and then by file system: the compared ones, and what an answer
/// cites of a file system whose rows are not all drawn.
fn compared_rows<'a, R: Named>(
    view: &View<'a, R>,
    title: &str,
    answers: &[Answer],
    compared: &Compared<R>,
) -> Vec<Numbered<'a, R>> {
    let in_full = view.targets().into_iter().next();
    let is_cited = |row: &Numbered<'_, R>| {
        let mut answers = answers.iter();
        Some(row.facts.target) != in_full
            && answers.any(|answer| answer.rows.contains(&row.facts.number))
    };
    let alike = view.which(|row| row.title() == title);
    let wanted = alike.iter();
    let mut wanted: Vec<_> = wanted
        .filter(|row| (compared.is_usual)(row.row) || is_cited(row))
        .collect();
    wanted.sort_by_key(|row| (compared.order)(row.row));
    let mut rows = Vec::new();
    for name in distinct(wanted.into_iter().map(Numbered::name)) {
        for target in view.targets() {
            let same = alike.iter();
            let same = same.filter(|row| row.name() == name && row.facts.target == target);
            rows.extend(same.copied());
        }
    }
    rows
}
