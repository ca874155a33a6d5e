//! What is missing from a result, and why.

use iostrata_core::Gap;

use super::page::{Page, Tone};
use crate::view::section::SectionId;
use crate::words::{self, Words};

/// Longer names are on a separate line.
const LONGEST_NAME: usize = 30;

#[derive(Debug, PartialEq)]
pub(super) struct Line {
    pub(super) what: Words,
    pub(super) why: Words,
}

impl Line {
    pub(super) fn of(gap: &Gap) -> Self {
        Self {
            what: words::missing(&gap.what),
            why: words::reason(&gap.why),
        }
    }
}

/// Each gap with its reason; a reason shared by several is shown once, next to the last of them.
pub(super) fn draw(page: &mut Page, entries: &[Line]) {
    if entries.is_empty() {
        page.part(SectionId::Missing, "not measured");
        page.paragraph(0, "not measured: nothing");
        return;
    }
    page.heading(SectionId::Missing, "not measured");
    let names = entries.iter().map(|line| line.what.width());
    let column = names
        .filter(|name| *name <= LONGEST_NAME)
        .max()
        .unwrap_or(4)
        + 4;
    for (position, Line { what, why }) in entries.iter().enumerate() {
        let next = entries.get(position + 1);
        let told_below = next.is_some_and(|next| next.why == *why);
        let text = if told_below { "".into() } else { why.clone() };
        page.entry(format!("  {what}"), Tone::Plain, column, text);
    }
}
