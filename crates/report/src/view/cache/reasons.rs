//! Why files are not in the requested state, or unknown.

use iostrata_core::cache::{CacheFile, CacheResult, Hold};

use crate::format::{ending, size};
use crate::view::page::{Page, Tone};
use crate::view::section::SectionId;

/// Paths get this share of the width.
const SHARE: usize = 3;

pub(super) fn draw(page: &mut Page, result: &CacheResult, most: usize) {
    let with_reasons = result.files.iter().filter(|file| !file.reasons.is_empty());
    let files: Vec<&CacheFile> = with_reasons.collect();
    if files.is_empty() {
        return;
    }
    page.heading(SectionId::Reasons, "why");
    let room = page.width() / SHARE;
    let paths: Vec<String> = files
        .iter()
        .take(most)
        .map(|file| ending(&file.path, room))
        .collect();
    let column = paths.iter().map(|path| path.chars().count()).max();
    let column = column.unwrap_or(0) + 4;
    for ((position, file), path) in files.iter().take(most).enumerate().zip(&paths) {
        // A reason shared by several is shown once, next to the last of them.
        let next = files.get(position + 1).filter(|_| position + 1 < most);
        if next.is_some_and(|next| next.reasons == file.reasons) {
            page.entry(&format!("  {path}"), Tone::Bad, column, "");
            continue;
        }
        for (position, hold) in file.reasons.iter().enumerate() {
            let (lead, style) = match position {
                0 => (format!("  {path}"), Tone::Bad),
                _ => (String::new(), Tone::Plain),
            };
            page.entry(&lead, style, column, &reason(hold));
        }
    }
    let hidden = files.len().saturating_sub(most);
    page.and_more(2, hidden, "", "--all-rows shows all");
}

/// `12.0 MiB mapped by process 4211 (python3)`.
fn reason(hold: &Hold) -> String {
    match hold.bytes {
        Some(bytes) => format!("{} {}", size(bytes), hold.why),
        None => hold.why.clone(),
    }
}
