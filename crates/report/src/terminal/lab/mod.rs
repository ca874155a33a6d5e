//! `iostrata lab` on a terminal.

mod answers;
mod buffering;
mod facts;
mod footnotes;
mod heading;
mod made;
mod page_cache;
mod sync;

use iostrata_core::lab::{Experiment, LabResult};

use super::page::Page;

/// What the drawing may use and should hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// Colour, which only repeats what the text says.
    pub colour: bool,
    /// Every row of every file system, instead of those of the first one and a
    /// comparison of its syncs with the others'.
    pub all_rows: bool,
}

/// Text of the result, at most `width` columns wide from 80 columns on.
pub fn draw(result: &LabResult, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style.colour);
    for (position, experiment) in result.experiments.iter().enumerate() {
        if position > 0 {
            page.blank();
        }
        match experiment {
            Experiment::Buffering(measured) => {
                buffering::draw(&mut page, &result.environment, measured, style.all_rows);
            }
            Experiment::PageCache(measured) => {
                page_cache::draw(&mut page, &result.environment, measured, style.all_rows);
            }
            Experiment::Sync(measured) => {
                sync::draw(&mut page, &result.environment, measured, style.all_rows);
            }
        }
    }
    page.finish()
}
