//! Call sites of the program.

use iostrata_core::trace::{Site, call_sites};

use super::View;
use crate::format::{number, time};
use crate::view::page::{Page, SEPARATOR, Tone};
use crate::view::section::SectionId;

/// Column of stacks: after the share.
const COLUMN: usize = 11;

/// Every call on each file whose sites were sampled.
pub(super) fn draw(page: &mut Page, view: &View<'_>) {
    let files = view.result.files.iter();
    let mut all = call_sites(files.filter(|file| view.selection.has(view.result, file)));
    all.retain(|group| view.selection.has_call(group.call));
    all.truncate(view.selection.limit(all.len()));
    if all.is_empty() {
        return;
    }
    page.heading(
        SectionId::Sites,
        "call sites: share of time, and functions, innermost first",
    );
    for group in all {
        let words = [
            group.call.to_owned(),
            time(group.time_s),
            view.path(group.path).to_owned(),
        ];
        page.paragraph(2, &words.join(SEPARATOR));
        for site in &group.sites {
            let share = format!("{:>8} %", number(site.share * 100.0));
            page.entry(&share, Tone::Plain, COLUMN, &stack(site));
        }
    }
}

fn stack(site: &Site) -> String {
    let mut words = Vec::new();
    if !site.stack.is_empty() {
        words.push(site.stack.join(" ← "));
    }
    let why_not = site.why_not.as_ref();
    words.extend(why_not.map(|why| format!("incomplete: {why}")));
    words.join(SEPARATOR)
}
