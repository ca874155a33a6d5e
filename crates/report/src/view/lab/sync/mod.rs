//! `lab sync`: the answers, then the tables they rest on, then how they were made and
//! what is missing.

mod comparison;
mod projection;
mod rows;
mod series;
mod storage;
mod view;

use iostrata_core::Environment;
use iostrata_core::sync::SyncResult;

use super::facts::Facts;
use super::heading::{self, Heading};
use super::made::{self, Made};
use super::{answers, footnotes};
use crate::view::lab::Extent;
use crate::view::page::Page;
use view::{Numbered, View};

/// Adds the experiment to the page.
pub(super) fn draw(
    page: &mut Page,
    environment: &Environment,
    result: &SyncResult,
    extent: Extent,
) {
    let mut view = View::of(result, extent);
    let facts: Vec<Facts<'_>> = view.rows.facts();
    let method = &result.method;
    let heading = Heading {
        name: "sync",
        question: &result.question,
        interrupted: method.interrupted.then_some(method.planned_rows),
        targets: &result.targets,
        rows: &facts,
    };
    heading::draw(page, environment, &heading);
    storage::draw(page, result);
    answers::draw(page, &result.answers);
    rows::draw(page, &mut view);
    comparison::draw(page, &mut view);
    rows::legend(page, &view);
    series::draw(page, &mut view);
    projection::draw(page, &mut view);
    let shown: Vec<Facts<'_>> = view.rows.shown().iter().map(Numbered::facts).collect();
    footnotes::draw(page, &shown);
    let made = Made {
        rows: &facts,
        hidden: view.rows.hidden(),
        unshown: &view.unshown,
        warm_up_runs: method.warm_up_runs,
        own_cost: None,
        missing: &result.missing,
        caveats: &result.caveats,
    };
    made::draw(page, environment, &made);
}

#[cfg(test)]
mod tests;
