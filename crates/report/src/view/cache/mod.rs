//! The result of `iostrata cache`.

mod files;
mod heading;
mod map;
mod reasons;

use iostrata_core::cache::CacheResult;

use super::page::Page;
use super::unseen::{self, Line};
use crate::format::counted;

/// Maximum rows drawn, unless all are requested.
const MOST: usize = 20;

/// Shows the result: every file, map and reason, or only the first ones.
pub(crate) fn show(page: &mut Page, result: &CacheResult, all: bool) {
    let most = if all { usize::MAX } else { MOST };
    heading::draw(page, result);
    files::draw(page, result, most);
    map::draw(page, result, most);
    reasons::draw(page, result, most);
    heading::skipped(page, result);
    missing(page, result, most);
}

fn missing(page: &mut Page, result: &CacheResult, most: usize) {
    let gaps = result.missing.iter().take(most);
    let gaps: Vec<Line> = gaps.map(Line::of).collect();
    if gaps.is_empty() {
        return;
    }
    unseen::draw(page, &gaps);
    let hidden = result.missing.len() - gaps.len();
    if hidden > 0 {
        let more = counted(hidden, "more path");
        page.paragraph(2, &format!("and {more}; --all-rows shows all"));
    }
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
