//! The summary: as much as fits a screen.

use super::findings::Room;
use super::{View, calls, descent, files, findings, heading, wall};
use crate::terminal::text_of;
use crate::view::page::Page;
use crate::view::unseen;

/// Lines of a screen, less the command that was typed and the next prompt.
const SCREEN: usize = 38;

/// How much of each part is shown.
#[derive(Clone, Copy)]
struct Extent {
    findings: Room,
    files: usize,
    calls: usize,
    /// Whether what is missing is told with its reasons.
    reasons: bool,
}

/// From rich to poor: the first that fits is taken, and the last whether it fits or not.
const EXTENTS: [Extent; 8] = [
    extent(8, true, 12, 8, true),
    extent(6, true, 8, 6, true),
    extent(5, true, 5, 4, true),
    extent(6, false, 6, 5, true),
    extent(5, false, 5, 4, true),
    extent(5, false, 5, 4, false),
    extent(3, false, 3, 3, false),
    extent(2, false, 2, 2, false),
];

const fn extent(most: usize, advice: bool, files: usize, calls: usize, reasons: bool) -> Extent {
    Extent {
        findings: Room { most, advice },
        files,
        calls,
        reasons,
    }
}

pub(super) fn draw(page: &mut Page, view: &View<'_>) {
    let mut best = page.draft();
    for extent in EXTENTS {
        best = page.draft();
        parts(&mut best, view, extent);
        if lines(&best) <= SCREEN {
            break;
        }
    }
    page.append(best);
}

/// Lines that a terminal of the page's width needs.
fn lines(page: &Page) -> usize {
    text_of(page, false).lines().count()
}

fn parts(page: &mut Page, view: &View<'_>, extent: Extent) {
    heading::draw(page, view);
    page.blank();
    wall::draw(page, view);
    descent::draw(page, view);
    findings::worst(page, view, extent.findings);
    files::top(page, view, extent.files);
    calls::top(page, view, extent.calls);
    missing(page, view, extent.reasons);
}

/// What could not be had, with the reasons where there is room for them.
pub(super) fn missing(page: &mut Page, view: &View<'_>, reasons: bool) {
    let missing = view.missing();
    if reasons || missing.is_empty() {
        if missing.is_empty() {
            page.blank();
        }
        let entries = missing
            .iter()
            .map(|gap| (gap.what.clone(), gap.why.clone()));
        unseen::draw(page, &entries.collect::<Vec<_>>());
        return;
    }
    page.blank();
    let names: Vec<&str> = missing.iter().map(|gap| gap.what.as_str()).collect();
    let text = format!("not seen: {}; the saved result says why", names.join(", "));
    page.paragraph(0, &text);
}
