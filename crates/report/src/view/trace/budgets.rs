//! Budgets and what the run used of them.

use iostrata_core::trace::budget::{Judged, Outcome};

use crate::view::page::Page;
use crate::view::table::{Cell, Column, Table};

/// The budgets that were exceeded, or could not be judged; nothing when all were kept.
pub(crate) fn show(page: &mut Page, judged: &[Judged<'_>]) {
    let failed: Vec<&Judged<'_>> = judged
        .iter()
        .filter(|judged| judged.outcome != Outcome::Kept)
        .collect();
    if failed.is_empty() {
        return;
    }
    let budgets = failed.iter().map(|judged| judged.budget.to_string());
    let used = failed.iter().map(|judged| {
        let used = Cell::seen(judged.used, |used| used.to_string());
        match judged.at_most {
            Some(most) => format!("{used} to {most}").into(),
            None => used,
        }
    });
    let outcomes = failed.iter().map(|judged| match &judged.outcome {
        Outcome::Kept => String::new(),
        Outcome::Exceeded => "exceeded".to_owned(),
        Outcome::Unknown(why) => format!("unknown: {why}"),
    });
    let columns = vec![
        Column::label("budget", budgets),
        Column::label("used", used),
        Column::text("", outcomes),
    ];
    Table::new(0, columns).draw(page);
}
