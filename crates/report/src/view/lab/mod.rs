//! Experiments.

mod answers;
mod atime;
mod buffering;
mod copy;
#[cfg(test)]
mod drawn;
mod facts;
mod footnotes;
mod heading;
mod made;
mod numbered;
mod page_cache;
mod sync;

use iostrata_core::lab::{Experiment, LabResult};

use super::page::Page;

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

/// Adds every experiment.
pub(crate) fn show(page: &mut Page, result: &LabResult, extent: Extent) {
    let environment = &result.environment;
    for (position, experiment) in result.experiments.iter().enumerate() {
        if position > 0 {
            page.blank();
        }
        match experiment {
            Experiment::Buffering(measured) => {
                buffering::draw(page, environment, measured, extent);
            }
            Experiment::PageCache(measured) => {
                page_cache::draw(page, environment, measured, extent);
            }
            Experiment::Sync(measured) => sync::draw(page, environment, measured, extent),
            Experiment::Atime(measured) => atime::draw(page, environment, measured),
            Experiment::Copy(measured) => copy::draw(page, environment, measured, extent),
        }
    }
}
