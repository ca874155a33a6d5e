//! Every row of the targets that are drawn in full, in two tables for each kind of case.

use super::view::{Numbered, View, distinct};
use crate::lab::Named;
use crate::view::page::Page;
use crate::view::section::SectionId;
use crate::view::table::Table;

/// The differences between experiments.
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
            let rows = view.which(|row| row.target() == target && row.title() == *title);
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
