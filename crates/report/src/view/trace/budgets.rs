//! Budgets and what the run used of them.

use iostrata_core::trace::budget::{Judged, Outcome};

use crate::view::page::Page;
use crate::view::table::{Cell, Rows};

/// The budgets that were exceeded, or could not be judged; nothing when all were kept.
pub(crate) fn show(page: &mut Page, judged: &[Judged<'_>]) {
    let failed: Vec<&Judged<'_>> = judged
        .iter()
        .filter(|judged| judged.outcome != Outcome::Kept)
        .collect();
    if failed.is_empty() {
        return;
    }
    Rows::of(&failed)
        .label("budget", |judged| judged.budget.to_string())
        .label("used", |judged| {
            let used = Cell::seen(judged.used, |used| used.to_string());
            match judged.at_most {
                Some(most) => format!("{used} to {most}").into(),
                None => used,
            }
        })
        .text("", |judged| match &judged.outcome {
            Outcome::Kept => String::new(),
            Outcome::Exceeded => "exceeded".to_owned(),
            Outcome::Unknown(why) => format!("unknown: {why}"),
        })
        .table(0)
        .draw(page);
}
