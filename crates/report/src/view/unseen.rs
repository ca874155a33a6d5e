//! What is missing from a result, and why.

use super::page::{Page, Tone};

/// Longer names are on a separate line.
const LONGEST_NAME: usize = 30;

/// Each gap with its reason; a reason shared by several is shown once, next to the last of them.
pub(super) fn draw(page: &mut Page, entries: &[(String, String)]) {
    if entries.is_empty() {
        page.part("missing", "not measured");
        page.paragraph(0, "not measured: nothing");
        return;
    }
    page.heading("missing", "not measured");
    let names = entries.iter().map(|(what, _)| what.chars().count());
    let column = names
        .filter(|name| *name <= LONGEST_NAME)
        .max()
        .unwrap_or(4)
        + 4;
    for (position, (what, why)) in entries.iter().enumerate() {
        let next = entries.get(position + 1);
        let told_below = next.is_some_and(|(_, next)| next == why);
        let text = if told_below { "" } else { why };
        page.entry(&format!("  {what}"), Tone::Plain, column, text);
    }
}
