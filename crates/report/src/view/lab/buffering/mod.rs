//! `lab buffering`: the answers, then the tables they rest on, then how they were
//! made and what is missing.

mod comparison;
mod memory;
mod rows;
mod runtimes;
mod timeline;
mod view;

use iostrata_core::Environment;
use iostrata_core::buffering::BufferingResult;

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
    result: &BufferingResult,
    extent: Extent,
) {
    let mut view = View::of(result, extent);
    let facts = view.rows.facts();
    let method = &result.method;
    let heading = Heading {
        name: "buffering",
        question: &result.question,
        interrupted: method.interrupted.then_some(method.planned_rows),
        targets: &result.targets,
        rows: &facts,
    };
    heading::draw(page, environment, &heading);
    answers::draw(page, &result.answers);
    rows::draw(page, &mut view);
    comparison::draw(page, &mut view);
    rows::legend(page, &view);
    timeline::draw(page, result);
    runtimes::draw(page, &mut view);
    memory::draw(page, &mut view);
    let shown: Vec<Facts<'_>> = view.rows.shown().iter().map(Numbered::facts).collect();
    footnotes::draw(page, &shown);
    let own_cost = |nanoseconds| format!("{} ns per record", number(nanoseconds));
    let made = Made {
        rows: &facts,
        hidden: view.rows.hidden(),
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
