//! Experiments.

mod answers;
mod atime;
mod buffering;
mod copy;
pub(crate) mod digest;
#[cfg(test)]
mod drawn;
mod footnotes;
mod heading;
mod made;
mod page_cache;
mod parts;
mod rows;
mod sync;
mod view;

use iostrata_core::lab::{Experiment, Facts, LabResult, Shared};

pub(crate) use self::answers::tone_of;
pub use self::parts::Parts;
pub(crate) use self::parts::show as show_parts;
use self::view::View;
use super::page::Page;

/// The label of a row.
pub(crate) trait Named {
    /// The operation, in a word or two.
    fn name(&self) -> String;

    /// The common value of rows in one table.
    fn title(&self) -> String;
}

/// Which rows are shown of an experiment that measured several file systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Those of the first one, and a comparison of its syncs with the others'.
    Usual,
    /// All of them, which leave nothing to compare.
    AllRows,
    /// All of them, and the comparison.
    Everything,
}

impl Extent {
    fn all_rows(self) -> bool {
        self != Self::Usual
    }

    fn compares(self) -> bool {
        self != Self::AllRows
    }
}

pub(crate) fn show(page: &mut Page, result: &LabResult, extent: Extent) {
    for (position, experiment) in result.experiments.iter().enumerate() {
        if position > 0 {
            page.blank();
        }
        show_one(page, result, experiment, extent);
    }
}

fn show_one(page: &mut Page, result: &LabResult, experiment: &Experiment, extent: Extent) {
    let frame = Frame {
        result,
        experiment,
        shared: experiment.shared(),
        rows: experiment.facts(),
    };
    heading::draw(page, &frame);
    match experiment {
        Experiment::Buffering(measured) => buffering::draw(page, &frame, measured, extent),
        Experiment::PageCache(measured) => page_cache::draw(page, &frame, measured, extent),
        Experiment::Sync(measured) => sync::draw(page, &frame, measured, extent),
        Experiment::Atime(measured) => atime::draw(page, &frame, measured),
        Experiment::Copy(measured) => copy::draw(page, &frame, measured, extent),
    }
}

/// An experiment, and what all have.
struct Frame<'a> {
    result: &'a LabResult,
    experiment: &'a Experiment,
    shared: Shared<'a>,
    rows: Vec<Facts<'a>>,
}

impl Frame<'_> {
    fn answers(&self, page: &mut Page) {
        answers::draw(page, self.shared.answers);
    }

    fn made<R: Named>(&self, page: &mut Page, view: &View<'_, R>) {
        made::draw(page, self, &self.rows, view.hidden(), &view.unshown);
    }
}

fn notes<R: Named>(page: &mut Page, view: &View<'_, R>) {
    let rows = view.shown();
    let facts: Vec<Facts<'_>> = rows.iter().map(|row| row.facts).collect();
    footnotes::draw(page, &facts);
}
