//! `lab buffering`: the answers, then the tables they rest on, then how they were
//! made and what is missing.

mod comparison;
mod footnotes;
mod heading;
mod made;
mod memory;
mod rows;
mod runtimes;
mod timeline;
mod view;

use iostrata_core::Environment;
use iostrata_core::buffering::BufferingResult;

use super::answers;
use crate::terminal::page::Page;
use view::View;

/// Adds the experiment to the page.
pub(super) fn draw(
    page: &mut Page,
    environment: &Environment,
    result: &BufferingResult,
    all_rows: bool,
) {
    let mut view = View::of(result, all_rows);
    heading::draw(page, environment, result);
    answers::draw(page, &result.answers);
    rows::draw(page, &mut view);
    comparison::draw(page, &mut view);
    rows::legend(page, &view);
    timeline::draw(page, result);
    runtimes::draw(page, &mut view);
    memory::draw(page, &mut view);
    footnotes::draw(page, &view);
    made::draw(page, environment, &view);
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
