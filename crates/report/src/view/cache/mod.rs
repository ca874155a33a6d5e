//! The result of `iostrata cache`.

mod map;

use crate::view::section::SectionId;
use iostrata_core::cache::{Action, CacheFile, CacheResult, Cached, Hold, Outcome, Totals};
use iostrata_core::noun::counted;

use super::page::{Page, SEPARATOR, Tone};
use super::place::machine;
use super::table::{Cell, Column, Rows};
use super::unseen::{self, Line};
use crate::format::{ending, join, number, size};
use crate::words::counted_as;

/// Maximum rows drawn, unless all are requested.
const MOST: usize = 20;

/// Paths get this share of the width.
const SHARE: usize = 3;

/// Shows the result: every file, map and reason, or only the first ones.
pub(crate) fn show(page: &mut Page, result: &CacheResult, all: bool) {
    let most = if all { usize::MAX } else { MOST };
    heading(page, result);
    files(page, result, most);
    map::draw(page, result, most);
    reasons(page, result, most);
    skipped(page, result);
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
        let more = counted(hidden as u64, "more path");
        page.paragraph(2, &format!("and {more}; --all-rows shows all"));
    }
}

fn heading(page: &mut Page, result: &CacheResult) {
    let totals = &result.totals;
    let name = format!("cache {}", result.action.as_str());
    let facts = vec![counted(totals.files, "file"), size(totals.size_bytes)];
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
    let of_all = |cached: &Cached| {
        let (resident, all) = (cached.resident_bytes, totals.known_bytes);
        let percent = percent_of(resident, all);
        let (resident, all) = (size(resident), size(all));
        format!("{resident} of {all}{percent}{}", unwritten(cached))
    };
    let mut lines = Vec::new();
    match (action, totals.before, totals.after) {
        (Action::Show, Some(now), _) => lines.push(format!("resident {}", of_all(&now))),
        (_, Some(before), Some(after)) => {
            let (before, after) = (size(before.resident_bytes), of_all(&after));
            lines.push(format!("resident before {before}, after {after}"));
        }
        _ => {}
    }
    if totals.unknown_files > 0 {
        let files = counted(totals.unknown_files, "file");
        lines.push(format!(
            "residency unknown for {files}; totals do not include them"
        ));
    }
    if totals.failed_files > 0 {
        let files = counted(totals.failed_files, "file");
        lines.push(format!("not as requested: {files}"));
    }
    lines
}

/// ` (67 %)`.
fn percent_of(part: u64, whole: u64) -> String {
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

/// Entries found besides regular files.
fn skipped(page: &mut Page, result: &CacheResult) {
    let skipped = &result.skipped;
    let links = "## symbolic link[|s], not followed";
    let hard_links = "## additional hard link[ to a listed file|s to listed files]";
    let special = "## [FIFO, socket or device|FIFOs, sockets and devices], not opened";
    let elsewhere = "## [directory or file on another file system (--cross enters it)|\
                     directories and files on other file systems (--cross enters them)]";
    let parts = [
        (skipped.symbolic_links, links),
        (skipped.hard_links, hard_links),
        (skipped.special_files, special),
        (skipped.other_file_systems, elsewhere),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts = parts.map(|(count, text)| counted_as(text, count));
    let parts = join(parts, SEPARATOR);
    if !parts.is_empty() {
        page.blank();
        page.paragraph(0, &format!("skipped: {parts}"));
    }
}

fn files(page: &mut Page, result: &CacheResult, most: usize) {
    page.blank();
    page.part(SectionId::Files, "files");
    if result.files.is_empty() {
        page.paragraph(0, "files: none");
        return;
    }
    let shown: Vec<&CacheFile> = result.files.iter().take(most).collect();
    let resident =
        |cached: Option<Cached>| Cell::seen(cached, |cached| size(cached.resident_bytes));
    let now = |file: &CacheFile, bytes: fn(Cached) -> Option<u64>| {
        Cell::seen(file.now().and_then(bytes), size)
    };
    let paths = shown.iter().map(|file| file.path.as_str());
    let mut rows = Rows::of(&shown)
        .and([Column::paths("file", page.width() / SHARE, paths)])
        .number("size", |file| size(file.size_bytes))
        .number("stored", |file| size(file.allocated_bytes))
        .rank(4);
    let is_show = result.action == Action::Show;
    rows = if is_show {
        rows.number("resident", |file| resident(file.now()))
    } else {
        rows.number("before", |file| resident(file.before))
            .number("after", |file| resident(file.after))
    };
    rows = rows
        .number("%", |file| cached_percent(file, result.page_bytes))
        .number("dirty", |file| now(file, |cached| cached.dirty_bytes))
        .number("being written", |file| {
            now(file, |cached| cached.writeback_bytes)
        })
        .rank(2)
        .number("evicted", |file| now(file, |cached| cached.evicted_bytes))
        .rank(3);
    if !is_show {
        rows = rows.text("outcome", |file| outcome(result.action, file));
    }
    let left_out = rows.table(0).draw(page);
    let hidden = result.files.len() - shown.len();
    page.and_more(0, hidden, "", "--all-rows shows all");
    page.no_room(&left_out.no_room);
}

fn cached_percent(file: &CacheFile, page_bytes: u64) -> Cell {
    let Some(now) = file.now() else {
        return Cell::NotSeen;
    };
    match file.whole_bytes(page_bytes) {
        0 => Cell::NotApplicable,
        whole => number(now.resident_bytes as f64 / whole as f64 * 100.0).into(),
    }
}

fn outcome(action: Action, file: &CacheFile) -> &'static str {
    match (file.outcome, action) {
        (Outcome::Shown, _) => "left alone",
        (Outcome::Done, Action::Evict) => "gone",
        (Outcome::Done, _) => "in",
        (Outcome::Partly, _) => "partly",
        (Outcome::NotDone, Action::Evict) => "stayed",
        (Outcome::NotDone, _) => "not in",
        (Outcome::Unknown, _) => "not known",
    }
}

/// Why files are not in the requested state, or unknown.
fn reasons(page: &mut Page, result: &CacheResult, most: usize) {
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
            page.entry(format!("  {path}"), Tone::Bad, column, "");
            continue;
        }
        for (position, hold) in file.reasons.iter().enumerate() {
            let (lead, style) = match position {
                0 => (format!("  {path}"), Tone::Bad),
                _ => (String::new(), Tone::Plain),
            };
            page.entry(&lead, style, column, reason(hold));
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

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
