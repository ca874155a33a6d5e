//! `lab atime`: the answers, then what moves an access time, then what reading costs.

mod costs;
mod matrix;

use iostrata_core::Environment;
use iostrata_core::atime::{AtimeResult, AtimeRow};

use super::facts::{Facts, Unshown};
use super::heading::{self, Heading};
use super::made::{self, Made};
use super::{answers, footnotes};
use crate::view::page::Page;

/// Adds the experiment to the page.
pub(super) fn draw(page: &mut Page, environment: &Environment, result: &AtimeResult) {
    let all: Vec<Facts<'_>> = result.rows.iter().enumerate().map(facts).collect();
    // Only loops have times and evidence that could be missing.
    let loops: Vec<Facts<'_>> = result
        .loops()
        .map(|(number, row)| Facts::of(number, &row.row))
        .collect();
    let method = &result.method;
    let heading = Heading {
        name: "atime",
        question: &result.question,
        interrupted: method.interrupted.then_some(method.planned_rows),
        targets: &result.targets,
        rows: &all,
    };
    heading::draw(page, environment, &heading);
    answers::draw(page, &result.answers);
    let mut unshown = Unshown::default();
    matrix::draw(page, result, &mut unshown);
    matrix::probes(page, result, &mut unshown);
    costs::draw(page, result, &mut unshown);
    footnotes::draw(page, &loops);
    let made = Made {
        rows: &loops,
        hidden: 0,
        unshown: &unshown,
        warm_up_runs: method.warm_up_runs,
        own_cost: None,
        missing: &result.missing,
        caveats: &result.caveats,
    };
    if result.method.timing_runs.1 > 0 || !loops.is_empty() {
        made::draw(page, environment, &made);
    } else {
        page.blank();
        made::limits(page, &made);
    }
}

fn facts((index, row): (usize, &AtimeRow)) -> Facts<'_> {
    match row {
        AtimeRow::Touch(row) => Facts::of(index + 1, &row.row),
        AtimeRow::Loop(row) => Facts::of(index + 1, &row.row),
    }
}

#[cfg(test)]
mod tests;
