//! `lab page-cache`: what could not be had, the answers, the tables they rest on, how they
//! were made and what is missing.

mod parsing;
mod rows;
mod series;
mod unlike;
mod view;

use iostrata_core::Environment;
use iostrata_core::page_cache::PageCacheResult;

use super::facts::Facts;
use super::heading::{self, Heading};
use super::made::{self, Made};
use super::{answers, footnotes};
use crate::format::number;
use crate::view::lab::Extent;
use crate::view::page::Page;
use view::{Numbered, View};

/// Adds the experiment to the page.
pub(super) fn draw(
    page: &mut Page,
    environment: &Environment,
    result: &PageCacheResult,
    extent: Extent,
) {
    let mut view = View::of(result, extent);
    let facts: Vec<Facts<'_>> = view.all().iter().map(Numbered::facts).collect();
    let method = &result.method;
    let heading = Heading {
        name: "page-cache",
        question: &result.question,
        interrupted: method.interrupted.then_some(method.planned_rows),
        targets: &result.targets,
        rows: &facts,
    };
    heading::draw(page, environment, &heading);
    unlike::draw(page, &view);
    answers::draw(page, &result.answers);
    rows::draw(page, &mut view);
    series::draw(page, &mut view);
    parsing::draw(page, &mut view);
    let shown: Vec<Facts<'_>> = view.shown().iter().map(Numbered::facts).collect();
    footnotes::draw(page, &shown);
    let own_cost = |nanoseconds| format!("{} ns per random read", number(nanoseconds));
    let made = Made {
        rows: &facts,
        hidden: facts.len() - shown.len(),
        unshown: &view.unshown,
        warm_up_runs: method.warm_up_runs,
        own_cost: method.own_cost_ns.map(own_cost),
        missing: &result.missing,
        caveats: &result.caveats,
    };
    made::draw(page, environment, &made);
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
