//! `lab copy`: the answers, then every row beside its limit, then the system calls, then
//! how it was made and what is missing.

mod calls;
mod rows;
mod yardsticks;

use iostrata_core::bytes::grouped;
use iostrata_core::copy::{CopyMethod, CopyResult, CopyRow};

use super::view::{self, HOST};
use super::{Extent, Frame, notes};
use crate::fields::lab;
use crate::view::page::{Page, Tone};

type View<'a> = view::View<'a, CopyRow>;
type Numbered<'a> = view::Numbered<'a, CopyRow>;

/// Rows of a further file system that are few enough to be drawn with the host's.
const FEW_ROWS: usize = 8;

/// Adds what is below the experiment's heading.
pub(super) fn draw<'a>(page: &mut Page, frame: &Frame<'a>, result: &'a CopyResult, extent: Extent) {
    let mut view = View::of(&frame.whole, &result.rows, lab::copy(), extent);
    let shown = shown(&view);
    view.show(&shown);
    frame.answers(page);
    rows::draw(page, &mut view);
    yardsticks::draw(page, result);
    calls::draw(page, &view);
    notes(page, &view);
    page.blank();
    let verified = grouped(result.method.own.verified_copies);
    let text = format!("{verified} copies verified against the BLAKE3 hash of their source");
    page.styled(0, &text, Tone::Quiet);
    frame.made(page, &view);
}

/// Rows that are drawn: all of the first target, the host where it is there. Of further
/// targets with many rows only those that tell whether blocks are shared.
fn shown<'a>(view: &View<'a>) -> Vec<Numbered<'a>> {
    let mut names = view.all().iter().map(Numbered::target);
    let first = names.clone().find(|name| *name == HOST).or(names.next());
    let tells_sharing = |method| {
        matches!(
            method,
            CopyMethod::Reflink | CopyMethod::CopyFileRange | CopyMethod::Cp
        )
    };
    view.which(|row| {
        let of_target = view.all().iter();
        let of_target = of_target.filter(|other| other.target() == row.target());
        view.extent.all_rows()
            || Some(row.target()) == first
            || of_target.count() <= FEW_ROWS
            || tells_sharing(row.row.row.case.method)
    })
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
