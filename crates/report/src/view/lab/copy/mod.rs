//! `lab copy`: the answers, then every row beside its limit, then the system calls, then
//! how it was made and what is missing.

mod calls;
mod rows;
mod view;
mod yardsticks;

use iostrata_core::Environment;
use iostrata_core::bytes::grouped;
use iostrata_core::copy::CopyResult;

use super::facts::Facts;
use super::heading::{self, Heading};
use super::made::{self, Made};
use super::{answers, footnotes};
use crate::view::lab::Extent;
use crate::view::page::{Page, Tone};
use view::{Numbered, View};

/// Adds the experiment to the page.
pub(super) fn draw(
    page: &mut Page,
    environment: &Environment,
    result: &CopyResult,
    extent: Extent,
) {
    let mut view = View::of(result, extent);
    let facts = view.facts();
    let method = &result.method;
    let heading = Heading {
        name: "copy",
        question: &result.question,
        interrupted: method.interrupted.then_some(method.planned_rows),
        targets: &result.targets,
        rows: &facts,
    };
    heading::draw(page, environment, &heading);
    answers::draw(page, &result.answers);
    rows::draw(page, &mut view);
    yardsticks::draw(page, result);
    calls::draw(page, &view);
    let shown: Vec<Facts<'_>> = view.shown().iter().map(Numbered::facts).collect();
    footnotes::draw(page, &shown);
    page.blank();
    let verified = grouped(method.verified_copies);
    let text = format!("{verified} copies made, each with the BLAKE3 hash of its source");
    page.styled(0, &text, Tone::Quiet);
    let made = Made {
        rows: &facts,
        hidden: view.hidden(),
        unshown: &view.unshown,
        warm_up_runs: method.warm_up_runs,
        own_cost: None,
        missing: &result.missing,
        caveats: &result.caveats,
    };
    made::draw(page, environment, &made);
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
