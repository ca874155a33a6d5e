//! `lab atime`: the answers, then what updates an access time, then the cost of reading.

mod costs;
mod matrix;

use iostrata_core::atime::AtimeResult;

use super::view::Unshown;
use super::{Frame, footnotes, made};
use crate::lab::Facts;
use crate::view::page::Page;

/// Adds what is below the experiment's heading.
pub(super) fn draw(page: &mut Page, frame: &Frame<'_>, result: &AtimeResult) {
    // Only loops have times and evidence that could be missing.
    let loops = result.loops();
    let loops: Vec<Facts<'_>> = loops.map(|(at, row)| Facts::of(at, &row.row)).collect();
    frame.answers(page);
    let mut unshown = Unshown::default();
    matrix::draw(page, result, &mut unshown);
    matrix::probes(page, result, &mut unshown);
    costs::draw(page, result, &mut unshown);
    footnotes::draw(page, &loops);
    let made = frame.of_rows(&loops, 0, &unshown);
    if result.method.timing_runs.1 > 0 || !loops.is_empty() {
        made::draw(page, frame.result, &made);
    } else {
        page.blank();
        made::limits(page, &made);
    }
}

#[cfg(test)]
mod tests;
