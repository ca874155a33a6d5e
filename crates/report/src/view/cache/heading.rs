//! The answer in a line or two, and what was skipped.

use iostrata_core::bytes::grouped;
use iostrata_core::cache::{Action, CacheResult, Cached, Totals};
use iostrata_core::noun::counted;

use crate::format::{number, size};
use crate::view::page::{Page, SEPARATOR, Tone};
use crate::view::place::machine;

pub(super) fn draw(page: &mut Page, result: &CacheResult) {
    let totals = &result.totals;
    let name = format!("cache {}", result.action.as_str());
    let facts = vec![files(totals.files), size(totals.size_bytes)];
    page.title("cache", &name, facts);
    if result.interrupted_by.is_some() {
        let text = "interrupted: only finished files are listed";
        page.styled(0, text, Tone::Warning);
    }
    for line in answer(result.action, totals) {
        page.paragraph(0, &line);
    }
    page.paragraph(0, &machine(&result.environment));
}

fn answer(action: Action, totals: &Totals) -> Vec<String> {
    let mut lines = Vec::new();
    match (action, totals.before, totals.after) {
        (Action::Show, Some(now), _) => lines.push(format!(
            "resident {} of {}{}{}",
            size(now.resident_bytes),
            size(totals.known_bytes),
            share(now.resident_bytes, totals.known_bytes),
            unwritten(&now)
        )),
        (_, Some(before), Some(after)) => lines.push(format!(
            "resident before {}, after {} of {}{}{}",
            size(before.resident_bytes),
            size(after.resident_bytes),
            size(totals.known_bytes),
            share(after.resident_bytes, totals.known_bytes),
            unwritten(&after)
        )),
        _ => {}
    }
    if totals.unknown_files > 0 {
        lines.push(format!(
            "residency unknown for {}; totals do not include them",
            files(totals.unknown_files)
        ));
    }
    if totals.failed_files > 0 {
        lines.push(format!("not as requested: {}", files(totals.failed_files)));
    }
    lines
}

/// ` (67 %)`.
fn share(part: u64, whole: u64) -> String {
    match part as f64 / whole as f64 * 100.0 {
        _ if whole == 0 => String::new(),
        percent => format!(" ({} %)", number(percent)),
    }
}

fn unwritten(cached: &Cached) -> String {
    let part = |bytes: Option<u64>, what: &str| match bytes {
        None => format!("{SEPARATOR}{what} unknown"),
        Some(bytes) => format!("{SEPARATOR}{what} {}", size(bytes)),
    };
    part(cached.dirty_bytes, "dirty") + &part(cached.writeback_bytes, "being written")
}

fn files(count: u64) -> String {
    counted(count, "file")
}

/// Entries found besides regular files.
pub(super) fn skipped(page: &mut Page, result: &CacheResult) {
    let skipped = &result.skipped;
    let parts = [
        (
            skipped.symbolic_links,
            "symbolic link, not followed",
            "symbolic links, not followed",
        ),
        (
            skipped.hard_links,
            "additional hard link to a listed file",
            "additional hard links to listed files",
        ),
        (
            skipped.special_files,
            "FIFO, socket or device, not opened",
            "FIFOs, sockets and devices, not opened",
        ),
        (
            skipped.other_file_systems,
            "directory or file on another file system (--cross enters it)",
            "directories and files on other file systems (--cross enters them)",
        ),
    ];
    let parts = parts.into_iter().filter(|(count, ..)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, one, several)| {
            format!(
                "{} {}",
                grouped(count),
                if count == 1 { one } else { several }
            )
        })
        .collect();
    if !parts.is_empty() {
        page.blank();
        page.paragraph(0, &format!("skipped: {}", parts.join(SEPARATOR)));
    }
}
