//! `lab page-cache`: what could not be had, the answers, the tables they rest on, how they
//! were made and what is missing.

mod parsing;
mod rows;
mod series;
mod unlike;

use iostrata_core::page_cache::{PageCacheResult, PageCacheRow};

use super::view::{self, distinct};
use super::{Extent, Frame, notes};
use crate::fields::lab;
use crate::view::page::Page;

type View<'a> = view::View<'a, PageCacheRow>;
type Numbered<'a> = view::Numbered<'a, PageCacheRow>;

/// Adds what is below the experiment's heading.
pub(super) fn draw<'a>(
    page: &mut Page,
    frame: &Frame<'a>,
    result: &'a PageCacheResult,
    extent: Extent,
) {
    let mut view = View::of(&frame.whole, &result.rows, lab::page_cache(), extent);
    // The first file system is the one that was asked for first, also where it is an image.
    let mut targets = distinct(view.all().iter().map(Numbered::target));
    if !extent.all_rows() {
        targets.truncate(1);
    }
    let shown = view.which(|row| targets.contains(&row.target()));
    view.show(&shown);
    unlike::draw(page, &view);
    frame.answers(page);
    rows::draw(page, &mut view, &targets);
    series::draw(page, &mut view);
    parsing::draw(page, result, &mut view, &targets);
    notes(page, &view);
    frame.made(page, &view);
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
