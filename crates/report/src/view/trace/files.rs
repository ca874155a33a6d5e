//! Files: those that took most time, or all of them.

use iostrata_core::bytes::grouped;
use iostrata_core::trace::{FileRow, NotFound, TraceResult};

use super::View;
use crate::fields::Group;
use crate::fields::trace::{PAGES, file};
use crate::format::ending;
use crate::view::page::{Page, Tone};
use crate::view::table::{Column, LeftOut, Table};

/// Paths get this share of the width where many figures stand beside them.
const SHARE: usize = 4;

/// The share where there is room for all figures.
const WIDE_SHARE: usize = 3;

/// What the column of pages has.
const LEGEND: &str = "cache r/p/m: pages that reads asked for, resident / prefetched / missed";

/// The first `most`, each on one line.
pub(super) fn top(page: &mut Page, view: &View<'_>, most: usize) {
    let result = view.result;
    page.blank();
    if result.files.is_empty() {
        page.paragraph(0, "files: none");
    } else {
        let shown = stored_first(&result.files, most);
        let room = page.width() / SHARE;
        let paths = shown.iter().map(|file| ending(view.path(&file.path), room));
        let mut columns = vec![Column::label("files", paths)];
        columns.extend(file().columns(&[Group::Above, Group::Below], &shown));
        let left_out = Table::new(0, columns).draw(page);
        let hidden = result.files.len() - shown.len();
        page.and_more(0, hidden, "", "--files shows all");
        legend(page, &[left_out]);
    }
    others(page, result);
}

/// The first `most`: pipes, sockets and terminals, which only wait for others, where room is
/// left.
fn stored_first(files: &[FileRow], most: usize) -> Vec<&FileRow> {
    let (stored, others): (Vec<&FileRow>, Vec<&FileRow>) =
        files.iter().partition(|file| file.kind.is_stored());
    stored.into_iter().chain(others).take(most).collect()
}

/// Calls that no file can be named for.
fn others(page: &mut Page, result: &TraceResult) {
    let calls = grouped(result.other_calls);
    let text = match (result.other_calls, result.summed_files) {
        (0, _) => return,
        (_, 0) => format!("other: {calls} calls on files that found no room in the tables"),
        (_, files) => format!("{} more files, summed: {calls} calls", grouped(files)),
    };
    page.paragraph(0, &text);
}

/// What the column of pages has, where it was drawn.
fn legend(page: &mut Page, tables: &[LeftOut]) {
    let left_out = |table: &LeftOut| {
        let heads = [&table.unseen, &table.no_room];
        heads.into_iter().flatten().any(|head| head == PAGES)
    };
    if !tables.iter().any(left_out) {
        page.styled(0, LEGEND, Tone::Quiet);
    }
}

/// Every file: in one table where there is room, otherwise calls and what is below them in
/// two.
pub(super) fn all(page: &mut Page, view: &View<'_>) -> Vec<LeftOut> {
    let files: Vec<&FileRow> = view.result.files.iter().collect();
    let text = format!("all files: {}", grouped(files.len() as u64));
    page.heading("files", &text);
    let mut columns = vec![paths(view, &files, page.width() / WIDE_SHARE)];
    columns.extend(file().columns(
        &[
            Group::Above,
            Group::AboveInFull,
            Group::Below,
            Group::BelowInFull,
        ],
        &files,
    ));
    let whole = Table::new(0, columns).named("every file");
    let mut left_out = if whole.fits(page.width()) {
        vec![whole.draw(page)]
    } else {
        in_two(page, view, files)
    };
    if !view.result.files.is_empty() {
        legend(page, &left_out);
    }
    others(page, view.result);
    left_out.extend(not_found(page, view, &view.result.not_found));
    left_out
}

/// The second table has the files for which anything happened below the calls.
fn in_two(page: &mut Page, view: &View<'_>, files: Vec<&FileRow>) -> Vec<LeftOut> {
    let room = page.width() / SHARE;
    let mut columns = vec![paths(view, &files, room)];
    columns.extend(file().columns(&[Group::Above, Group::AboveInFull], &files));
    let mut left_out = vec![Table::new(0, columns).draw(page)];
    let files: Vec<&FileRow> = files.into_iter().filter(|file| moved(file)).collect();
    if !files.is_empty() {
        page.heading(
            "below",
            "below the calls: pages of the cache, bytes of the device",
        );
        let mut columns = vec![paths(view, &files, room)];
        columns.extend(file().columns(&[Group::Below, Group::BelowInFull], &files));
        left_out.push(Table::new(0, columns).draw(page));
    }
    left_out
}

fn paths(view: &View<'_>, files: &[&FileRow], room: usize) -> Column {
    let paths = files.iter().map(|file| {
        let path = view.path(&file.path);
        match &file.renamed_to {
            Some(new) => format!("{path} → {}", view.path(new)),
            None => path.to_owned(),
        }
    });
    Column::paths("file", room, paths)
}

/// Whether anything happened below its calls.
fn moved(file: &FileRow) -> bool {
    let cache = &file.evidence.cache;
    let device = file.evidence.device.as_ref();
    let counts = [
        cache.lookups_pages,
        cache.prefetched_pages,
        cache.dirtied_bytes,
        file.dirty_at_exit_bytes,
        device.map(|device| device.reads.count),
        device.map(|device| device.writes().count),
    ];
    counts.iter().flatten().any(|count| *count > 0)
}

fn not_found(page: &mut Page, view: &View<'_>, missed: &[NotFound]) -> Option<LeftOut> {
    if missed.is_empty() {
        return None;
    }
    page.part("not-found", "paths that were not found");
    page.blank();
    let paths = missed.iter().map(|path| view.path(&path.path).to_owned());
    let columns = vec![
        Column::number("times", missed.iter().map(|path| grouped(path.count))),
        Column::paths("looked for and not found", usize::MAX, paths),
    ];
    let table = Table::new(0, columns).named("paths that were looked for and not found");
    Some(table.draw(page))
}
