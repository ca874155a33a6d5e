//! The table of files.

use iostrata_core::cache::{Action, CacheFile, CacheResult, Cached, Outcome};

use crate::format::{number, size};
use crate::view::cell::Cell;
use crate::view::page::Page;
use crate::view::section::SectionId;
use crate::view::table::{Column, Table};

/// Paths get this share of the width.
const SHARE: usize = 3;

pub(super) fn draw(page: &mut Page, result: &CacheResult, most: usize) {
    page.blank();
    page.part(SectionId::Files, "files");
    if result.files.is_empty() {
        page.paragraph(0, "files: none");
        return;
    }
    let shown: Vec<&CacheFile> = result.files.iter().take(most).collect();
    let paths = shown.iter().map(|file| file.path.clone());
    let mut columns = vec![
        Column::paths("file", page.width() / SHARE, paths),
        Column::number("size", shown.iter().map(|file| size(file.size_bytes))),
        Column::number(
            "stored",
            shown.iter().map(|file| size(file.allocated_bytes)),
        )
        .rank(4),
    ];
    let resident = |cached: Cached| Some(cached.resident_bytes);
    let is_show = result.action == Action::Show;
    if is_show {
        columns.push(counts("resident", &shown, CacheFile::now, resident));
    } else {
        columns.push(counts("before", &shown, |file| file.before, resident));
        columns.push(counts("after", &shown, |file| file.after, resident));
    }
    columns.push(Column::number(
        "%",
        shown.iter().map(|file| share(file, result.page_bytes)),
    ));
    let dirty = |cached: Cached| cached.dirty_bytes;
    columns.push(counts("dirty", &shown, CacheFile::now, dirty));
    let writeback = |cached: Cached| cached.writeback_bytes;
    columns.push(counts("being written", &shown, CacheFile::now, writeback).rank(2));
    let evicted = |cached: Cached| cached.evicted_bytes;
    columns.push(counts("evicted", &shown, CacheFile::now, evicted).rank(3));
    if !is_show {
        let outcomes = shown.iter().map(|file| outcome(result.action, file));
        columns.push(Column::text("outcome", outcomes));
    }
    let left_out = Table::new(0, columns).draw(page);
    let hidden = result.files.len() - shown.len();
    page.and_more(0, hidden, "", "--all-rows shows all");
    page.no_room(&left_out.no_room);
}

fn counts(
    head: &str,
    files: &[&CacheFile],
    when: impl Fn(&CacheFile) -> Option<Cached>,
    what: impl Fn(Cached) -> Option<u64>,
) -> Column {
    let cells = files
        .iter()
        .map(|file| Cell::seen(when(file).and_then(&what), size));
    Column::number(head, cells)
}

fn share(file: &CacheFile, page_bytes: u64) -> Cell {
    let Some(now) = file.now() else {
        return Cell::NotSeen;
    };
    match file.whole_bytes(page_bytes) {
        0 => Cell::NotApplicable,
        whole => number(now.resident_bytes as f64 / whole as f64 * 100.0).into(),
    }
}

fn outcome(action: Action, file: &CacheFile) -> String {
    match (file.outcome, action) {
        (Outcome::Shown, _) => "left alone",
        (Outcome::Done, Action::Evict) => "gone",
        (Outcome::Done, _) => "in",
        (Outcome::Partly, _) => "partly",
        (Outcome::NotDone, Action::Evict) => "stayed",
        (Outcome::NotDone, _) => "not in",
        (Outcome::Unknown, _) => "not known",
    }
    .to_owned()
}
