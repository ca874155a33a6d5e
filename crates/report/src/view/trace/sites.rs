//! Where in the program the calls came from.

use iostrata_core::trace::Site;

use super::View;
use crate::format::{number, time};
use crate::view::page::{Page, SEPARATOR, Tone};

/// Where stacks stand: after the share.
const COLUMN: usize = 11;

/// Every call on each file whose sites were looked for.
pub(super) fn draw(page: &mut Page, view: &View<'_>) {
    let mut begun = false;
    for file in &view.result.files {
        for call in file.calls.iter().filter(|call| !call.sites.is_empty()) {
            if !begun {
                page.heading(
                    "sites",
                    "call sites: share of the time, and functions, the innermost first",
                );
                begun = true;
            }
            let words = [
                call.row.name.clone(),
                time(call.row.time_s),
                view.path(&file.path).to_owned(),
            ];
            page.paragraph(2, &words.join(SEPARATOR));
            for site in &call.sites {
                let share = format!("{:>8} %", number(site.share * 100.0));
                page.entry(&share, Tone::Plain, COLUMN, &stack(site));
            }
        }
    }
}

fn stack(site: &Site) -> String {
    let mut words = Vec::new();
    if !site.stack.is_empty() {
        words.push(site.stack.join(" ← "));
    }
    let why_not = site.why_not.as_ref();
    words.extend(why_not.map(|why| format!("not whole: {why}")));
    words.join(SEPARATOR)
}
