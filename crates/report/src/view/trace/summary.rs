//! The summary: one sentence, then as much as fits a screen.

use iostrata_core::gap::Missing;

use super::{Style, View, calls, descent, files, findings, heading, headline, runs, wall};
use crate::format::join;
use crate::terminal::text_of;
use crate::view::page::{Page, Tone};
use crate::view::unseen::{self, Line};
use crate::words;

/// Lines of a screen, without the typed command and the next prompt.
const SCREEN: usize = 45;

#[derive(Clone, Copy)]
struct Extent {
    /// Findings, each with its advice.
    findings: usize,
    files: usize,
    calls: usize,
    /// Whether gaps are shown with their reasons.
    reasons: bool,
}

/// From rich to poor: the first that fits is used, otherwise the last. Rows of tables are dropped
/// before findings and their advice.
const EXTENTS: [Extent; 11] = [
    extent(8, 12, 8, true),
    extent(6, 8, 6, true),
    extent(5, 6, 5, true),
    extent(5, 5, 4, true),
    extent(5, 4, 3, false),
    extent(5, 3, 2, false),
    extent(5, 2, 1, false),
    extent(5, 1, 1, false),
    extent(5, 0, 0, false),
    extent(3, 0, 0, false),
    extent(2, 0, 0, false),
];

const fn extent(findings: usize, files: usize, calls: usize, reasons: bool) -> Extent {
    Extent {
        findings,
        files,
        calls,
        reasons,
    }
}

pub(super) fn draw(page: &mut Page, view: &View<'_>, style: &Style) {
    let drafted = |extent| {
        let mut draft = page.draft();
        parts(&mut draft, view, style, extent);
        draft
    };
    let fits = |draft: &Page| view.selection.top.is_some() || lines(draft) <= SCREEN;
    let [richer @ .., poorest] = EXTENTS;
    let mut best = drafted(poorest);
    // Summaries that still do not fit may have megabytes of names, and are not drawn for every
    // amount.
    if fits(&best) {
        best = richer.into_iter().map(&drafted).find(fits).unwrap_or(best);
    }
    page.append(best);
}

/// Number of lines on a terminal of the page's width.
fn lines(page: &Page) -> usize {
    text_of(page, false).lines().count()
}

/// A table drawn completely below is left out here.
fn parts(page: &mut Page, view: &View<'_>, style: &Style, extent: Extent) {
    headline::draw(page, view);
    page.blank();
    heading::brief(page, view);
    page.blank();
    runs::draw(page, view);
    wall::draw(page, view);
    descent::draw(page, view);
    if !style.findings {
        findings::worst(page, view, extent.findings);
    }
    chosen(page, view);
    if !style.files {
        files::top(page, view, extent.files);
    }
    if !style.calls {
        calls::top(page, view, extent.calls);
    }
    missing(page, view, extent.reasons);
}

/// Which rows the tables have, if not all.
fn chosen(page: &mut Page, view: &View<'_>) {
    let path = view.selection.path.as_ref();
    let call = view.selection.call.as_ref();
    let mut words = Vec::new();
    words.extend(path.map(|pattern| format!("match {pattern}")));
    words.extend(call.map(|call| format!("{call} was called on")));
    if !words.is_empty() {
        page.blank();
        let words = words.join(" and that ");
        let text = format!("below, only files that {words}; the part above covers the whole run");
        page.styled(0, &text, Tone::Quiet);
    }
}

/// Gaps, with their reasons if there is room.
pub(super) fn missing(page: &mut Page, view: &View<'_>, reasons: bool) {
    let missing = view.missing();
    if reasons || missing.is_empty() {
        if missing.is_empty() {
            page.blank();
        }
        let entries: Vec<Line> = missing.into_iter().map(Line::of).collect();
        unseen::draw(page, &entries);
        return;
    }
    page.blank();
    // What would have shown most of it comes first.
    let (without, missing): (Vec<_>, Vec<_>) = missing
        .into_iter()
        .partition(|gap| gap.what == Missing::CacheAndDevice);
    for gap in without {
        let why = words::reason(&gap.why);
        page.paragraph(0, &format!("not observed by eBPF: {why}"));
    }
    let names = missing.iter().map(|gap| words::missing(&gap.what));
    let names = join(names, ", ");
    let text = format!("not measured: {names}; --findings gives the reasons");
    page.paragraph(0, &text);
}
