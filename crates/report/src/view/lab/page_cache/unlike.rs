//! Rows that are not in the requested state: shown first.

use super::View;
use crate::format;
use crate::view::page::{Page, Tone};

/// Where the reasons stand.
const COLUMN: usize = 16;

pub(super) fn draw(page: &mut Page, view: &View<'_>) {
    let mut groups: Vec<(String, String, &str, Vec<usize>)> = Vec::new();
    for row in view.all() {
        let Some(why) = row.row.not_as_asked.as_deref() else {
            continue;
        };
        let asked = row.row.asked_state.as_str().to_owned();
        let found = row.row.row.case.state.as_str().to_owned();
        match groups
            .iter_mut()
            .find(|(a, f, w, _)| (a.as_str(), f.as_str(), *w) == (&asked, &found, why))
        {
            Some((.., rows)) => rows.push(row.number),
            None => groups.push((asked, found, why, vec![row.number])),
        }
    }
    if groups.is_empty() {
        return;
    }
    page.blank();
    for (asked, found, why, rows) in groups {
        page.entry(&format!("  not {asked}"), Tone::Warning, COLUMN, why);
        let what = if rows.len() == 1 {
            "the row is"
        } else {
            "the rows are"
        };
        let rows = format::rows(&rows);
        page.more(COLUMN, &format!("{what} reported as {found} [{rows}]"));
    }
}
